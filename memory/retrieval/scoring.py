"""The linear score over the features of the candidates, all of it computed from what was already fetched."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta

from memory.retrieval.candidates import Candidates, Row
from memory.retrieval.dates import tells_time
from memory.retrieval.query import Understood
from memory.retrieval.weights import Weights

EPISODE_GAP = timedelta(hours=3)
_MEASURED = {"cosine", "fielded", "body"}
_QUESTION_MARKS = ("?", "？", "؟")


@dataclass(frozen=True, slots=True)
class Scored:
    row: Row
    score: float
    features: Mapping[str, float]
    cosine: float
    bm25: float
    relevant: bool
    """False where neither a word nor the vector speaks for it."""

    def parts(self, weights: Weights) -> dict[str, float]:
        """``cosine`` and ``bm25`` as measured; every other feature as what it adds to the score."""
        added = {name: getattr(weights, name) * value for name, value in self.features.items()}
        rest = {name: round(value, 4) for name, value in added.items() if value and name not in _MEASURED}
        return {"cosine": round(self.cosine, 4), "bm25": round(self.bm25, 4), **rest}


def score(candidates: Candidates, question: Understood, weights: Weights) -> list[Scored]:
    """All candidates, best first."""
    weight = asdict(weights)
    found = features(candidates, question)
    scored = []
    for row in candidates.rows:
        own = found[row.key]
        total = sum([weight[name] * value for name, value in own.items()])
        cosine = candidates.cosine.get(row.key, 0.0)
        bm25 = candidates.fielded.get(row.key, 0.0)
        relevant = bm25 > 0 or cosine >= weights.least_cosine
        scored.append(Scored(row, total, own, cosine, bm25, relevant))
    return sorted(scored, key=lambda each: (-each.score, each.row.key))


def features(candidates: Candidates, question: Understood) -> dict[int, dict[str, float]]:
    """The features of each candidate by key, under the names of ``Weights``."""
    rows = candidates.rows
    fielded = _scaled(candidates.fielded)
    body = _scaled(candidates.body)
    cosine = _scaled(candidates.cosine)
    base = {row.key: (fielded.get(row.key, 0.0) + cosine.get(row.key, 0.0)) / 2 for row in rows}
    one, two = _neighbours(rows, base)
    episodes = _episodes(rows, base)
    answered = {row.following[0]: base[row.key] for row in rows if row.following[0] and _is_question(row)}
    return {
        row.key: _own_features(row, question)
        | {
            "fielded": fielded.get(row.key, 0.0),
            "body": body.get(row.key, 0.0),
            "cosine": cosine.get(row.key, 0.0),
            "one_away": one.get(row.key, 0.0),
            "two_away": two.get(row.key, 0.0),
            "episode": episodes[row.key],
            "answers": answered.get(row.key, 0.0),
        }
        for row in rows
    }


def _scaled(scores: Mapping[int, float]) -> dict[int, float]:
    """Divided by the best of the query; nothing where even the best is not positive."""
    best = max(scores.values(), default=0.0)
    return {key: value / best for key, value in scores.items()} if best > 0 else {}


def _own_features(row: Row, question: Understood) -> dict[str, float]:
    day = row.sent_at.date()
    text = f"{row.text} {row.captions}".strip()
    return {
        "first_named": float(bool(question.authors) and row.author_id == question.authors[0]),
        "named": float(row.author_id in question.authors and not question.everyone),
        "exact_date": float(question.dates.on_day(day)),
        "near_date": float(question.dates.near_day(day)),
        "month": float(question.dates.in_month(day)),
        "when": float(question.asks_when and tells_time(row.text)),
        "question": float(_is_question(row)),
        "length": math.log1p(len(text.split())),
    }


def _is_question(row: Row) -> bool:
    return row.text.rstrip().endswith(_QUESTION_MARKS)


def _neighbours(rows: Sequence[Row], base: Mapping[int, float]) -> tuple[dict[int, float], dict[int, float]]:
    """The best base score one and two messages away in the channel; a message that is no candidate counts as none."""
    one: dict[int, float] = defaultdict(float)
    two: dict[int, float] = defaultdict(float)
    for row in rows:
        for best, following in zip((one, two), row.following, strict=True):
            if following is not None and following in base:
                best[row.key] = max(best[row.key], base[following])
                best[following] = max(best[following], base[row.key])
    return one, two


def _episodes(rows: Sequence[Row], base: Mapping[int, float]) -> dict[int, float]:
    """For each message a third of the three best base scores of its episode: candidates of a channel without a long pause."""
    found: dict[int, float] = {}
    episode: list[Row] = []

    def close() -> None:
        best = sorted((base[row.key] for row in episode), reverse=True)[:3]
        found.update({row.key: sum(best) / 3 for row in episode})

    for row in sorted(rows, key=lambda each: (each.channel_id, each.sent_at, each.key)):
        if episode and (
            row.channel_id != episode[-1].channel_id or row.sent_at - episode[-1].sent_at > EPISODE_GAP
        ):
            close()
            episode = []
        episode.append(row)
    close()
    return found
