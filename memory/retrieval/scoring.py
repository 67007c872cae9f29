"""The linear score over the features of the candidates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from memory.retrieval.candidates import Candidates, Row
from memory.retrieval.features import features
from memory.retrieval.query import Understood
from memory.retrieval.weights import NAMES, Weights

_MEASURED = {"cosine", "fielded", "body"}


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
        added = {name: weights.of[name] * value for name, value in self.features.items()}
        rest = {name: round(value, 4) for name, value in added.items() if value and name not in _MEASURED}
        return {"cosine": round(self.cosine, 4), "bm25": round(self.bm25, 4), **rest}


def score(candidates: Candidates, question: Understood, weights: Weights) -> list[Scored]:
    """The candidates of the short list, best first."""
    found = features(candidates, question)
    totals = found.values @ weights.array()
    order = sorted(range(len(found.rows)), key=lambda at: (-totals[at], found.rows[at].key))
    scored = []
    for at in order:
        row = found.rows[at]
        cosine = candidates.cosine.get(row.key, 0.0)
        bm25 = candidates.fielded.get(row.key, 0.0)
        own = dict(zip(NAMES, found.values[at].tolist(), strict=True))
        relevant = bm25 > 0 or cosine >= weights.least_cosine
        scored.append(Scored(row, float(totals[at]), own, cosine, bm25, relevant))
    return scored
