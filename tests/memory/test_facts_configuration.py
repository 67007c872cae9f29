"""The key ``memory`` of config.jsonc: its defaults, its options, and what cannot work."""

import json
from datetime import timedelta

import pytest
from pydantic import ValidationError

from memory.conf import FactSettings, parse_duration
from memory.errors import ConfigurationError
from musebot_site.config import load_config


def load(tmp_path, memory, **bot):
    path = tmp_path / "config.jsonc"
    block = {} if memory is ... else {"memory": memory}
    path.write_text(json.dumps({"bots": [{"botId": "b", **block, **bot}]}))
    return load_config({"MUSEBOT_CONFIG": str(path), "MUSEBOT_HOME": str(tmp_path)}).facts


@pytest.mark.parametrize("value", [..., None, False])
def test_without_the_key_nothing_is_injected_or_extracted(tmp_path, value):
    assert load(tmp_path, value) == FactSettings()
    assert not load(tmp_path, value).enabled


def test_true_takes_the_defaults(tmp_path):
    found = load(tmp_path, True)
    assert found.enabled and found.inject and not found.inject_in_groups and found.auto_extract is None
    assert (found.max_facts, found.max_fact_length, found.ttl, found.namespace) == (
        50,
        300,
        None,
        "ai.memory",
    )


def test_every_option_is_read(tmp_path):
    found = load(
        tmp_path,
        {
            "type": "per-user",
            "maxFacts": 7,
            "ttl": "90d",
            "maxFactLength": 120,
            "inject": False,
            "injectInGroups": True,
            "namespace": "mine",
            "autoExtract": {
                "model": "openai:small",
                "maxTokens": 64,
                "maxFactsPerTurn": 2,
                "instructions": "Be brief.",
                "filter": "a.b:c",
            },
        },
    )
    assert (found.max_facts, found.ttl, found.max_fact_length) == (7, timedelta(days=90), 120)
    assert (found.inject, found.inject_in_groups, found.namespace) == (False, True, "mine")
    extract = found.auto_extract
    assert (
        str(extract.model) == "openai:small" and extract.max_tokens == 64 and extract.max_facts_per_turn == 2
    )
    assert extract.instructions == "Be brief." and extract.filter == "a.b:c"


def test_extraction_can_be_true_and_has_defaults(tmp_path):
    extract = load(tmp_path, {"autoExtract": True}).auto_extract
    assert (extract.model, extract.max_tokens, extract.max_facts_per_turn, extract.filter) == (
        None,
        None,
        5,
        "",
    )


def test_a_bare_model_is_of_the_chat_models_provider(tmp_path):
    found = load(
        tmp_path, {"autoExtract": {"model": "tiny:1b"}}, ollama={"models": ["big"], "hosts": ["http://h"]}
    )
    assert str(found.auto_extract.model) == "ollama:tiny:1b"


@pytest.mark.parametrize(
    "value, named",
    [
        ("yes", "memory"),
        ([], "memory"),
        ({"maxFacts": 0}, "maxFacts"),
        ({"maxFacts": -1}, "maxFacts"),
        ({"maxFacts": 1.5}, "maxFacts"),
        ({"maxFacts": True}, "maxFacts"),
        ({"maxFacts": "50"}, "maxFacts"),
        ({"maxFactLength": 0}, "maxFactLength"),
        ({"maxFactLength": "long"}, "maxFactLength"),
        ({"ttl": "soon"}, "ttl"),
        ({"ttl": 0}, "ttl"),
        ({"ttl": -5}, "ttl"),
        ({"ttl": "0d"}, "ttl"),
        ({"ttl": True}, "ttl"),
        ({"ttl": 1e18}, "ttl"),
        ({"type": "per-group"}, "type"),
        ({"namespace": ""}, "namespace"),
        ({"maxFact": 1}, "maxFact"),
        ({"autoExtract": "yes"}, "autoExtract"),
        ({"autoExtract": {"maxTokens": 0}}, "maxTokens"),
        ({"autoExtract": {"maxFactsPerTurn": 0}}, "maxFactsPerTurn"),
        ({"autoExtract": {"filter": "nowhere"}}, "filter"),
        ({"autoExtract": {"speed": 1}}, "speed"),
    ],
)
def test_what_cannot_work_is_refused_by_name(tmp_path, value, named):
    with pytest.raises(ConfigurationError) as raised:
        load(tmp_path, value)
    assert named in raised.value.message


@pytest.mark.parametrize(
    "text, expected",
    [
        ("90d", timedelta(days=90)),
        ("12h", timedelta(hours=12)),
        ("30m", timedelta(minutes=30)),
        (" 45 S ", timedelta(seconds=45)),
        ("2w", timedelta(weeks=2)),
        ("500ms", timedelta(milliseconds=500)),
        ("1.5h", timedelta(minutes=90)),
        (86_400_000, timedelta(days=1)),
        (1500.0, timedelta(seconds=1.5)),
    ],
)
def test_durations(text, expected):
    assert parse_duration(text) == expected


@pytest.mark.parametrize(
    "value", ["", "d", "90", "-1d", "1d2h", None, False, float("nan"), float("inf"), 0, [], "200000d"]
)
def test_no_durations(value):
    with pytest.raises(ValueError):
        parse_duration(value)


@pytest.mark.parametrize(
    "values", [{"max_facts": 0}, {"max_fact_length": -1}, {"ttl": 0}, {"ttl": "x"}, {"max_facts": 2.0}]
)
def test_the_same_ranges_hold_in_python(values):
    with pytest.raises(ValidationError):
        FactSettings(**values)
