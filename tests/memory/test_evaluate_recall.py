"""``evaluate_recall``: the shape of its report, its measures, and what the recall reaches on a conversation."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import override_settings

from memory import backends, retrieval
from memory.conf import ModelRef, get_config
from memory.management import recall_data
from memory.management.measures import Report, measures
from memory.models import Guild, Message
from memory.types import RecallQuery

CONVERSATION = Path(__file__).parents[1] / "data" / "conversation.json"
MEASURES = {"recall@5", "recall@10", "hit@5", "mrr", "ndcg@10"}


@pytest.fixture
def built_in_embedder() -> Iterator[None]:
    config = get_config()
    settings = config.memory.model_copy(update={"embedding_model": ModelRef(provider="local")})
    with override_settings(MUSEBOT=config.model_copy(update={"memory": settings})):
        backends.reset()
        yield
    backends.reset()


def of_those_who_opted_in(path: Path) -> dict[str, Any]:
    """The conversation of the tests in the form of a data set, without what must not be stored."""
    data = json.loads(path.read_text(encoding="utf-8"))
    memories = [message for message in data["messages"] if message["user"] != "ilse"]
    return {"name": "harbour", "memories": memories, "questions": data["questions"]}


@pytest.mark.django_db
def test_most_questions_about_a_conversation_have_an_answer_in_the_prompt(built_in_embedder: None) -> None:
    [stored] = recall_data.store([of_those_who_opted_in(CONVERSATION)], lambda message: None)
    answered = []
    for question in stored.questions:
        recall = retrieval.recall(
            RecallQuery(question["text"], stored.guild.discord_id, asker_id=stored.users[question["asker"]])
        )
        assert recall.degraded == ""
        assert sum(memory.tokens for memory in recall.memories) <= get_config().memory.token_budget
        if {stored.ids[memory.key] for memory in recall.memories} & set(question["relevant"]):
            answered.append(question["text"])
    assert len(stored.questions) == 30
    assert len(answered) >= 24


@pytest.fixture
def data_set(tmp_path: Path) -> Path:
    memories = [
        {
            "id": "a",
            "user": "Ada",
            "text": "I moved to Lisbon",
            "timestamp": "2026-01-01T10:00:00Z",
            "session": 1,
        },
        {
            "id": "b",
            "user": "Ben",
            "text": "Ada, how is Lisbon?",
            "timestamp": "2026-01-02T10:00:00Z",
            "session": 1,
        },
        {
            "id": "c",
            "user": "Ben",
            "text": "",
            "image": "a red tram",
            "timestamp": "2026-01-02T10:01:00",
            "session": 1,
        },
    ]
    questions = [
        {"text": "Where did Ada move?", "relevant": ["a"], "kind": "single"},
        {"text": "What tram did I show?", "relevant": ["c"], "kind": "image", "asker": "Ben"},
    ]
    path = tmp_path / "data.json"
    conversation = {"name": "one", "memories": memories, "questions": questions}
    path.write_text(json.dumps({"conversations": [conversation, {**conversation, "name": "two"}]}))
    return path


@pytest.mark.django_db(transaction=True)
def test_json_has_the_shape_of_the_contract_and_leaves_the_database_alone(
    data_set: Path, settings: Any
) -> None:
    # A machine that is busy must not change what is measured.
    config = get_config()
    settings.MUSEBOT = config.model_copy(
        update={"memory": config.memory.model_copy(update={"recall_timeout": 0.0})}
    )
    name = connection.settings_dict["NAME"]
    out, progress = io.StringIO(), io.StringIO()
    call_command("evaluate_recall", str(data_set), "--json", stdout=out, stderr=progress)
    found = json.loads(out.getvalue())
    assert list(found) == ["method", "plain", "keyword"]
    for report in found.values():
        assert set(report) == MEASURES | {"by_kind"}
        assert set(report["by_kind"]) == {"single", "image"}
        assert all(set(part) == MEASURES for part in report["by_kind"].values())
    assert found["method"]["recall@5"] == 1.0
    assert "storing 1 of 2" in progress.getvalue()
    assert connection.settings_dict["NAME"] == name
    assert not Message.objects.exists() and not Guild.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_the_table_has_a_line_for_each_method_and_kind(data_set: Path) -> None:
    out = io.StringIO()
    call_command("evaluate_recall", str(data_set), stdout=out, stderr=io.StringIO())
    words = [line.split()[0] for line in out.getvalue().splitlines()]
    assert words == [
        "recall@5",
        *["method", "image", "single", "plain", "image", "single", "keyword", "image", "single"],
    ]


@pytest.mark.django_db(transaction=True)
def test_first_person_and_cross_validation_are_sections_of_their_own(data_set: Path) -> None:
    out = io.StringIO()
    call_command(
        "evaluate_recall",
        str(data_set),
        "--first-person",
        "--cross-validate",
        "--json",
        stdout=out,
        stderr=io.StringIO(),
    )
    found = json.loads(out.getvalue())
    assert list(found) == [
        "method",
        "plain",
        "keyword",
        "first_person",
        "cross_validated",
        "cross_validated_first_person",
    ]
    assert list(found["first_person"]) == ["method", "plain", "keyword"]
    assert set(found["first_person"]["method"]["by_kind"]) == {"single"}  # the other question names nobody
    assert found["first_person"]["method"]["recall@5"] == 1.0
    assert found["first_person"]["plain"]["recall@5"] > 0
    assert list(found["cross_validated_first_person"]) == ["all", "one", "two"]
    assert list(found["cross_validated"]) == ["all", "one", "two"]
    assert all(set(report) == MEASURES | {"by_kind"} for report in found["cross_validated"].values())


@pytest.mark.parametrize(
    ("text", "expected", "asker"),
    [
        ("When did Ada move?", "When did I move?", "Ada"),
        ("What is Ada's cat called?", "What is my cat called?", "Ada"),
        ("Does Ada know Ben?", "Do I know Ben?", "Ada"),
        ("What has Ben told Ada?", "What have I told Ada?", "Ben"),
        ("Who lives with Ada?", "Who lives with me?", "Ada"),
        ("Ada likes what?", "I likes what?", "Ada"),
    ],
)
def test_a_question_in_the_first_person(text: str, expected: str, asker: str) -> None:
    found = recall_data.first_person({"text": text, "relevant": []}, ["Ada", "Ben"])
    assert found is not None and (found["text"], found["asker"]) == (expected, asker)


def test_a_question_that_names_nobody_has_no_first_person() -> None:
    assert recall_data.first_person({"text": "What is new in Adana?"}, ["Ada"]) is None
    assert recall_data.first_person({"text": "When did Ada move?", "asker": "Ben"}, ["Ada", "Ben"]) is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not JSON"),
        ("[]", "conversations"),
        (
            '{"conversations": [{"name": "x", "memories": [{"id": 1}], "questions": []}]}',
            "lacks text, timestamp, user",
        ),
        ('{"conversations": [1]}', "object"),
    ],
)
def test_a_file_of_another_form_is_refused_with_the_reason(
    tmp_path: Path, content: str, message: str
) -> None:
    path = tmp_path / "data.json"
    path.write_text(content)
    with pytest.raises(CommandError, match=message):
        call_command("evaluate_recall", str(path))
    with pytest.raises(CommandError, match="cannot be read"):
        call_command("evaluate_recall", str(tmp_path / "none.json"))


def test_measures() -> None:
    found = measures(["x", "a", "y", "z", "w", "b"], {"a", "b"})
    assert found["recall@5"] == 0.5 and found["recall@10"] == 1.0
    assert found["hit@5"] == 1.0 and found["mrr"] == 0.5
    assert 0 < found["ndcg@10"] < 1
    assert set(measures([], {"a"}).values()) == {0.0}
    assert set(measures(["a", "b"], {"a", "b"}).values()) == {1.0}


def test_questions_that_nothing_answers_are_not_counted() -> None:
    report = Report()
    report.add("none", ["a"], [])
    report.add("some", ["a"], ["a"])
    assert report.questions() == {"some": 1}
    assert report.summary()["mrr"] == 1.0
