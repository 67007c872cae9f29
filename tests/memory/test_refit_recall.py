"""``refit_recall``: weights fitted on an installation's own questions, kept only where they are better on others."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from django.test import override_settings

from memory import backends
from memory.conf import get_config
from memory.llm.base import EmbedderIdentity
from memory.management.commands import refit_recall
from memory.retrieval import weights
from memory.retrieval.fitting import Case, fit
from tests.memory.test_evaluate_recall import CONVERSATION, of_those_who_opted_in

HASH = EmbedderIdentity("hash", "hash", "1", 256)


@pytest.fixture
def home(tmp_path: Path) -> Any:
    with override_settings(MUSEBOT=get_config().model_copy(update={"home": tmp_path / "home"})):
        yield tmp_path / "home"


def case(rng: np.random.Generator, true: np.ndarray, *, size: int = 20) -> Case:
    """A question whose answer is drawn as the true weights have it."""
    values = rng.normal(size=(size, len(true)))
    scores = values @ true
    chances = np.exp(scores - scores.max())
    answers = np.zeros(size, dtype=bool)
    answers[rng.choice(size, p=chances / chances.sum())] = True
    return Case(values, answers, 1.0)


def test_fitting_finds_what_decided() -> None:
    rng = np.random.default_rng(7)
    true = np.array([2.0, 0.0, -1.0])
    found = fit([case(rng, true) for _ in range(1500)], np.zeros(3), penalty=1.0)
    assert np.allclose(found, true, atol=0.2)


def test_few_questions_change_little_and_none_change_nothing() -> None:
    rng = np.random.default_rng(7)
    start = np.array([1.0, 1.0, 1.0])
    few = fit([case(rng, np.array([5.0, -5.0, 0.0])) for _ in range(3)], start)
    assert np.abs(few - start).max() < 0.6
    assert (fit([], start) == start).all()


def test_a_feature_that_never_differs_keeps_its_weight() -> None:
    values = np.array([[1.0, 5.0], [0.0, 5.0]])
    found = fit([Case(values, np.array([True, False]), 1.0)] * 50, np.array([0.0, 3.0]))
    assert found[1] == 3.0 and found[0] > 0


def data_set(path: Path, count: int) -> Path:
    """The conversation of the tests, as many times as its questions are needed."""
    one = of_those_who_opted_in(CONVERSATION)
    conversations = [{**one, "name": f"part {n}"} for n in range(count)]
    path.write_text(json.dumps({"conversations": conversations}), encoding="utf-8")
    return path


def refit(path: Path, *options: str) -> dict[str, Any]:
    out = io.StringIO()
    call_command("refit_recall", str(path), "--json", *options, stdout=out, stderr=io.StringIO())
    found: dict[str, Any] = json.loads(out.getvalue())
    return found


@pytest.mark.django_db(transaction=True)
def test_it_shows_before_and_after_and_writes_nothing_unless_told(tmp_path: Path, home: Path) -> None:
    found = refit(data_set(tmp_path / "data.json", 1))
    assert found["questions"] == 30
    assert set(found["weights"]) == set(weights.NAMES)
    for side in ("before", "after"):
        assert 0 < found[side]["recall@5"] <= 1 and found[side]["by_kind"]
    assert found["written"] == "" and not (home / weights.FILE).exists()


@pytest.mark.django_db(transaction=True)
def test_too_small_a_set_is_not_kept(tmp_path: Path, home: Path) -> None:
    with pytest.raises(CommandError, match="30 questions with an answer are too few"):
        refit(data_set(tmp_path / "data.json", 1), "--write")
    assert not (home / weights.FILE).exists()


@pytest.mark.django_db(transaction=True)
def test_a_better_set_is_kept_and_used_and_no_better_one_is_refused(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = data_set(tmp_path / "data.json", 3)
    backwards = weights.Weights(dict.fromkeys(weights.NAMES, -1.0), -1.0)
    monkeypatch.setitem(weights._SETS, "hash", backwards)
    monkeypatch.setattr(refit_recall, "FEWEST_QUESTIONS", 90)
    found = refit(path, "--write")
    assert found["after"]["mrr"] > found["before"]["mrr"]
    stored = json.loads((home / weights.FILE).read_text())
    identity = backends.embedder().identity()
    assert stored[weights.name_of(identity)]["questions"] == 90
    used = weights.weights_for(identity)
    assert used.of == {name: pytest.approx(value) for name, value in found["weights"].items()}
    assert used.least_cosine == -1.0
    monkeypatch.setattr(refit_recall, "LEAST_GAIN", 1.0)
    with pytest.raises(CommandError, match="The weights in use stay"):
        refit(path, "--write")
    assert json.loads((home / weights.FILE).read_text()) == stored


def test_a_set_belongs_to_its_embedder_and_others_keep_the_shipped_one(home: Path) -> None:
    mine = weights.Weights({"cosine": 7.0}, 0.2)
    weights.write(HASH, mine, {})
    weights.write(EmbedderIdentity("ollama", "nomic", "2", 768), weights.Weights({"cosine": 8.0}), {})
    assert weights.weights_for(HASH) == mine
    assert weights.weights_for(EmbedderIdentity("ollama", "nomic", "3", 768)).of == {"cosine": 8.0}
    assert weights.weights_for(EmbedderIdentity("ollama", "other", "1", 768)) is weights.DEFAULT
    assert weights.weights_for(None) is weights.LOCAL
    weights.write(HASH, weights.Weights({"cosine": 9.0}), {})
    assert weights.weights_for(HASH).of == {"cosine": 9.0}


@pytest.mark.parametrize(
    "content", ["{", "[]", '{"hash:hash": {"weights": {"cosine": "much"}}}', '{"hash:hash": 3}']
)
def test_a_file_that_cannot_be_used_leaves_the_shipped_weights(home: Path, content: str) -> None:
    home.mkdir()
    (home / weights.FILE).write_text(content)
    assert weights.weights_for(HASH) is weights.HASH


def test_every_shipped_set_has_every_feature_and_no_other() -> None:
    for shipped in (weights.LOCAL, weights.DEFAULT, weights.HASH):
        assert set(shipped.of) == set(weights.FEATURES)
