"""Measures of a ranking, averaged over questions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

DEPTH = 10
"""Places of a ranking that are looked at."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one question got."""

    kind: str
    values: Mapping[str, float]


@dataclass(slots=True)
class Report:
    outcomes: list[Outcome] = field(default_factory=list)

    def add(self, kind: str, ranked: Sequence[str], relevant: Iterable[str]) -> None:
        wanted = set(relevant)
        if wanted:
            self.outcomes.append(Outcome(kind, measures(ranked, wanted)))

    def summary(self) -> dict[str, Any]:
        kinds = sorted({outcome.kind for outcome in self.outcomes})
        by_kind = {kind: _mean([one for one in self.outcomes if one.kind == kind]) for kind in kinds}
        return {**_mean(self.outcomes), "by_kind": by_kind}

    def questions(self) -> dict[str, int]:
        """How many there are of each kind."""
        return dict(Counter(outcome.kind for outcome in self.outcomes))


def measures(ranked: Sequence[str], relevant: set[str]) -> dict[str, float]:
    """recall@5, recall@10, hit@5, mrr and ndcg@10 of one ranking (best first, at most ten places count)."""
    ranked = list(dict.fromkeys(ranked))[:DEPTH]
    places = [place for place, item in enumerate(ranked, 1) if item in relevant]
    ideal = sum(1 / math.log2(place + 1) for place in range(1, min(len(relevant), DEPTH) + 1))
    return {
        "recall@5": sum(place <= 5 for place in places) / len(relevant),
        "recall@10": len(places) / len(relevant),
        "hit@5": float(any(place <= 5 for place in places)),
        "mrr": 1 / places[0] if places else 0.0,
        "ndcg@10": sum(1 / math.log2(place + 1) for place in places) / ideal,
    }


def _mean(outcomes: Sequence[Outcome]) -> dict[str, float]:
    count = len(outcomes)
    names = outcomes[0].values if outcomes else ()
    return {name: round(sum(outcome.values[name] for outcome in outcomes) / count, 4) for name in names}
