"""What speaks for a candidate, in numbers: one row a message, one column a weight of ``weights.Weights``.

All of it is computed from what was already fetched. Reading a message costs more than the rest together, so only the messages of a
short list are read (and those that they answer).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from operator import itemgetter

import numpy as np
import numpy.typing as npt

from memory.retrieval.candidates import Candidates, Row
from memory.retrieval.dates import tells_time
from memory.retrieval.query import Understood
from memory.retrieval.reading import Coverage, Reader, Reading, is_question
from memory.retrieval.talk import Talk
from memory.retrieval.weights import NAMES

Matrix = npt.NDArray[np.float64]

SHORT_LIST = 80
"""Candidates that are read."""
# How the short list is made: wide enough that its exact numbers do not matter.
_NAMED, _EPISODE, _NEAR, _DATED = 0.3, 0.6, 0.3, 1.0


@dataclass(frozen=True, slots=True)
class Features:
    """``values`` has one row for each of ``rows``, in the order of ``weights.NAMES``."""

    rows: Sequence[Row]
    values: Matrix


@dataclass(frozen=True, slots=True)
class _Found:
    """Scores of the query as they were measured, divided by the best, and what follows from the order of talk."""

    fielded: Mapping[int, float]
    body: Mapping[int, float]
    cosine: Mapping[int, float]
    base: Mapping[int, float]
    """Mean of fielded BM25 and cosine."""
    one: Mapping[int, float]
    two: Mapping[int, float]
    episodes: Mapping[int, float]


def features(candidates: Candidates, question: Understood) -> Features:
    """The features of the candidates of the short list, which may be all of them."""
    talk = Talk(candidates.rows)
    found = _found(candidates, talk)
    rows = _short_list(candidates.rows, question, found)
    reader = Reader(question.words)
    readings = {row.key: reader.read(row.text, row.captions) for row in rows}
    readings |= {
        row.key: reader.read(row.text, row.captions, closely=False) for row in _said_before(rows, talk)
    }
    coverage = Coverage(reader.count, readings)
    values = [
        _of_scores(row, found)
        | _of_row(row, question)
        | _of_words(row, question, talk, found, readings, coverage)
        for row in rows
    ]
    in_order = itemgetter(*NAMES)
    matrix = np.array([in_order(one) for one in values], dtype=np.float64)
    return Features(rows, matrix.reshape(len(rows), len(NAMES)))


def _found(candidates: Candidates, talk: Talk) -> _Found:
    fielded, body, cosine = (
        _scaled(scores) for scores in (candidates.fielded, candidates.body, candidates.cosine)
    )
    base = {row.key: (fielded.get(row.key, 0.0) + cosine.get(row.key, 0.0)) / 2 for row in candidates.rows}
    one, two = talk.best_near(base)
    return _Found(fielded, body, cosine, base, one, two, talk.episodes(base))


def _scaled(scores: Mapping[int, float]) -> dict[int, float]:
    """Divided by the best of the query; nothing where even the best is not positive."""
    best = max(scores.values(), default=0.0)
    return {key: value / best for key, value in scores.items()} if best > 0 else {}


def _short_list(rows: Sequence[Row], question: Understood, found: _Found) -> list[Row]:
    if len(rows) <= SHORT_LIST:
        return list(rows)
    authors, dates = set(question.authors), question.dates
    dated = bool(dates.days or dates.months)

    def rough(row: Row) -> float:
        key = row.key
        value = found.base[key] + _EPISODE * found.episodes[key] + _NEAR * found.one.get(key, 0.0)
        if row.author_id in authors:
            value += _NAMED
        if dated and (dates.near_day(day := row.sent_at.date()) or dates.in_month(day)):
            value += _DATED
        return value

    return nsmallest(SHORT_LIST, rows, key=lambda row: (-rough(row), row.key))


def _said_before(rows: Sequence[Row], talk: Talk) -> list[Row]:
    """What the rows answer, and what that answers, where it is not among them."""
    keys = {row.key for row in rows}
    around = {key for row in rows for key in (talk.before(row.key), talk.two_before(row.key)) if key}
    return [talk.rows[key] for key in sorted(around - keys)]


def _of_scores(row: Row, found: _Found) -> dict[str, float]:
    fielded = found.fielded.get(row.key, 0.0)
    return {
        "fielded": fielded,
        "fielded_squared": fielded**2,
        "body": found.body.get(row.key, 0.0),
        "cosine": found.cosine.get(row.key, 0.0),
        "one_away": found.one.get(row.key, 0.0),
        "two_away": found.two.get(row.key, 0.0),
        "episode": found.episodes[row.key],
    }


def _of_row(row: Row, question: Understood) -> dict[str, float]:
    day = row.sent_at.date()
    return {
        "first_named": float(bool(question.authors) and row.author_id == question.authors[0]),
        "named": float(row.author_id in question.authors and not question.everyone),
        "exact_date": float(question.dates.on_day(day)),
        "near_date": float(question.dates.near_day(day)),
        "month": float(question.dates.in_month(day)),
        "when": float(question.asks_when and tells_time(row.text)),
        "length": math.log1p(len(f"{row.text} {row.captions}".split())),
    }


def _of_words(
    row: Row,
    question: Understood,
    talk: Talk,
    found: _Found,
    readings: Mapping[int, Reading],
    coverage: Coverage,
) -> dict[str, float]:
    own = readings[row.key]
    before, two_before = talk.before(row.key), talk.two_before(row.key)
    covered = coverage.of(own.found)
    with_context = coverage.of(own.found | _bits(before, readings) | _bits(two_before, readings))
    asked_by_other = 0.0
    if before is not None and talk.rows[before].author_id != row.author_id:
        asked_by_other = coverage.of(readings[before].asked)
    named = float(row.author_id in question.authors)
    other = float(bool(question.authors)) - named
    return {
        "question": own.asks,
        "coverage": covered,
        "context": with_context - covered,
        "before": found.base.get(before, 0.0) if before else 0.0,
        "answers": found.base[before] if before and is_question(talk.rows[before].text) else 0.0,
        "asked": asked_by_other,
        "asked_named": asked_by_other * named,
        "own_named": own.own * named,
        "own_other": own.own * other,
        "yours_other": own.yours * other,
        "names": float(own.names),
    }


def _bits(key: int | None, readings: Mapping[int, Reading]) -> int:
    return readings[key].found if key is not None else 0
