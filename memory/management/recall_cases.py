"""Questions of a data set as cases to fit recall's weights on, and figures of weights that were fitted on other conversations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from memory import backends
from memory.management.measures import Report
from memory.management.recall_data import Progress, Stored, first_person
from memory.retrieval.features import features
from memory.retrieval.fitting import Array, Case, fit
from memory.retrieval.service import considered
from memory.retrieval.weights import NAMES, weights_for
from memory.types import RecallQuery

FOLDS = 5
"""Parts that the questions of a single conversation are divided into."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with its short list."""

    fold: str
    """The conversation; questions of one fold are never fitted on when they are measured."""
    kind: str
    ids: Sequence[str]
    """Of the messages of the short list, in the order of the case."""
    relevant: Sequence[str]
    case: Case
    named: bool
    """False for the same question in the first person."""

    def ranked(self, weights: Array) -> list[str]:
        scores = self.case.values @ weights
        return [self.ids[int(at)] for at in np.argsort(-scores, kind="stable")]


def collect(stored: Sequence[Stored], progress: Progress) -> list[Asked]:
    """Every question that has an answer, as it stands and, where it names somebody, in that person's own words."""
    found: list[Asked] = []
    for number, one in enumerate(stored, 1):
        progress(f"reading the candidates of {number} of {len(stored)}: {len(one.questions)} questions")
        answered = [question for question in one.questions if question["relevant"]]
        for at, question in enumerate(answered):
            part = str(at * FOLDS // len(answered)) if len(stored) == 1 else ""
            for variant, named in _variants(question, one):
                found.append(
                    _asked(one, variant, fold=f"{one.guild.name}{part and ' part '}{part}", named=named)
                )
    return found


def _variants(question: Mapping[str, Any], one: Stored) -> Iterator[tuple[Mapping[str, Any], bool]]:
    yield question, True
    if own := first_person(question, one.users):
        yield own, False


def _asked(one: Stored, question: Mapping[str, Any], *, fold: str, named: bool) -> Asked:
    query = RecallQuery(
        text=str(question["text"]),
        guild_id=one.guild.discord_id,
        asker_id=one.users.get(str(question.get("asker"))),
    )
    found = features(*considered(query))
    ids = [one.ids[row.key] for row in found.rows]
    relevant = [str(each) for each in question["relevant"]]
    answers = np.array([each in set(relevant) for each in ids], dtype=bool)
    case = Case(found.values, answers, float(answers.sum()) / len(set(relevant)))
    return Asked(fold, str(question.get("kind", "")), ids, relevant, case, named)


def cross_validated(asked: Sequence[Asked], start: Array) -> tuple[dict[str, Report], dict[str, Report]]:
    """For each fold the figures of weights that were fitted on all others: of the questions as they stand, and in the first person."""
    named: dict[str, Report] = {}
    own: dict[str, Report] = {}
    for fold in dict.fromkeys(one.fold for one in asked):
        weights = fit([one.case for one in asked if one.fold != fold], start)
        left = [one for one in asked if one.fold == fold]
        named[fold] = measured([one for one in left if one.named], weights)
        own[fold] = measured([one for one in left if not one.named], weights)
    return named, own


def measured(asked: Sequence[Asked], weights: Array) -> Report:
    report = Report()
    for one in asked:
        report.add(one.kind, one.ranked(weights), one.relevant)
    return report


def together(reports: Mapping[str, Report]) -> Report:
    return Report([outcome for report in reports.values() for outcome in report.outcomes])


def current_weights() -> Array:
    return weights_for(backends.embedder().identity()).array()


def no_weights() -> Array:
    """To fit from nothing, so that what the current weights have seen is not in the figures."""
    return np.zeros(len(NAMES))
