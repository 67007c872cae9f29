"""Vectors of single words, as they are kept in memory."""

from __future__ import annotations

import numpy as np
import pytest

from memory.models import DocumentWord
from memory.rag import words
from memory.rag.spaces import Space

pytestmark = pytest.mark.django_db

SPACE = Space("local", "of a test", "1", 4)


def learnt(word: str, *numbers: float) -> None:
    vector = np.array(numbers, dtype="<f2").tobytes()
    DocumentWord.objects.create(word=word, space=SPACE.id, vector=vector)


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch):
    monkeypatch.setattr(words, "_kept", None)


def test_vectors_come_in_order_with_those_of_the_question_first():
    learnt("anchor", 1, 0, 0, 0)
    learnt("rope", 0, 1, 0, 0)
    own = {"rope": np.array([0, 0, 0, 1], dtype=np.float32), "not asked for": np.ones(4, np.float32)}
    found = words.vectors(["rope", "unknown", "anchor"], SPACE, own)
    assert found.tolist() == [[0, 0, 0, 1], [0, 0, 0, 0], [1, 0, 0, 0]]


def test_a_word_that_is_learnt_later_is_known_after_a_while(monkeypatch):
    """A passage is found by its words while its vectors are made; what was asked then must not stay unknown."""
    now = 1000.0
    monkeypatch.setattr(words.time, "monotonic", lambda: now)
    assert not words.vectors(["anchor"], SPACE, {}).any()
    learnt("anchor", 1, 0, 0, 0)
    now += words.LOOK_AGAIN / 2
    assert not words.vectors(["anchor"], SPACE, {}).any()
    now += words.LOOK_AGAIN
    assert words.vectors(["anchor"], SPACE, {}).tolist() == [[1, 0, 0, 0]]
