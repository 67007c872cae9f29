"""Whether a question is answered at all: what counts for it and against it."""

from __future__ import annotations

import numpy as np
import pytest

from memory.rag.answering import (
    BUILT_IN,
    LOOKED_AT,
    MEASURED,
    MOST_EVIDENCE,
    OTHERS,
    RECOMMENDED,
    WORDS_ONLY,
    Signs,
    are_names,
    signs_of,
)
from memory.rag.coverage import Frequencies, cover

OUTSTANDING = [20.0, 12.0, 11.0]
ALIKE = [12.0, 12.0, 12.0]


def signs(fused=OUTSTANDING, *, has=(1.0, 1.0), names=(False, False), rarity=(4.0, 2.0), others=()) -> Signs:
    matches = [np.array(row, dtype=np.float32) for row in (has, *others)]
    return signs_of(fused, matches, rarity=np.array(rarity, dtype=np.float32), names=names, passages=1000)


@pytest.mark.parametrize("way", [BUILT_IN, OTHERS, WORDS_ONLY])
def test_each_sign_counts_in_its_direction(way):
    plain = way.estimate(signs())
    assert 0 < plain < 1
    assert way.estimate(signs(ALIKE)) < plain
    assert way.estimate(signs(has=(0.0, 1.0))) < plain
    missing = signs(has=(0.0, 1.0), names=(True, False))
    assert way.estimate(missing) < way.estimate(signs(has=(0.0, 1.0)))


def test_a_question_that_its_passages_know_nothing_of_stays_below_what_is_recommended():
    strange = signs(ALIKE, has=(0.0, 0.0), names=(True, False))
    for way in (BUILT_IN, OTHERS, WORDS_ONLY):
        assert way.estimate(strange) < RECOMMENDED < way.estimate(signs())


def test_a_name_may_stand_in_any_of_the_first_passages():
    names = (True, False)
    assert signs(has=(0.0, 1.0), names=names).names_missing == 1
    assert signs(has=(0.0, 1.0), names=names, others=[(1.0, 0.0)]).names_missing == 0
    late = [(0.0, 0.0)] * (LOOKED_AT - 1) + [(1.0, 0.0)]
    assert signs(has=(0.0, 1.0), names=names, others=late).names_missing == 1


def test_few_passages_are_as_undecided_as_many():
    few = signs_of([5.0] * 3, [], rarity=np.zeros(0, np.float32), names=[], passages=3)
    many = signs_of([5.0] * 20, [], rarity=np.zeros(0, np.float32), names=[], passages=3)
    alone = signs_of([5.0], [], rarity=np.zeros(0, np.float32), names=[], passages=1)
    assert few.undecided == pytest.approx(many.undecided, abs=1e-6)
    assert 0 < alone.undecided < many.undecided


def test_evidence_does_not_depend_on_how_many_passages_there_are():
    """A word that one passage alone has says about as much in a small collection as in a large one."""
    found = []
    for total in (50, 5000):
        frequencies = Frequencies(lambda word: 1, total)
        coverage = cover("deposit", ["The deposit is forty coins."], frequencies)
        found.append(
            signs_of(
                OUTSTANDING, [coverage.best([0])], rarity=coverage.weights, names=[False], passages=total
            ).evidence
        )
    assert found[0] == pytest.approx(found[1], rel=0.15) and 0.7 < found[0] < MOST_EVIDENCE


def test_names_and_numbers_are_told_from_other_words():
    assert are_names("Does Geyser work with Hytale 2?", ["geyser", "work", "hytale", "2"]) == [
        True,
        False,
        True,
        True,
    ]
    # The first word of a sentence, and nouns in German, have a capital without being names.
    assert are_names("Refunds for the key?", ["refunds", "key"]) == [False, False]
    assert are_names("Wann ist der beste Zeitpunkt?", ["beste", "zeitpunkt"]) == [False, False]


def test_what_is_measured_falls_and_rises_together():
    """Each value that is offered loses answers and gains silence over the one before it, and the recommended one is among them."""
    assert RECOMMENDED in [one.min_score for one in MEASURED]
    for before, after in zip(MEASURED, MEASURED[1:], strict=False):
        assert before.min_score < after.min_score
        assert before.found > after.found and before.silent < after.silent
