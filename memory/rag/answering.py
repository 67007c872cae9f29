"""Whether a question is answered at all: an estimate from how its passages stand to each other and what of its words they have.

Pure. Similarity alone cannot tell it: questions that nothing answers are mostly close to the subject of some document ("Does
Geyser work with Hytale?"), and often closer than those that members ask in their own words and that are answered.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from memory.rag.loaders.clean import folded

Numbers = npt.NDArray[np.float32]

LOOKED_AT = 5
"""Passages whose words count."""
RIVALS = 20
"""Passages that the best one stands out of."""
MOST_EVIDENCE = 2.2
"""In words that stand in no other passage."""
MOST_NAMES = 2
THERE = 0.5
"""A name is there from this match on."""
HINTED = 0.2
"""Another word is, from this one on: a slip, an inflection, or a word of like meaning."""
_WORD = re.compile(r"[^\W_]+")
_GERMAN_WORDS = (
    "aber auf bei das dem den der ein eine einen für ich ist kann muss nicht oder und wann wer wie wo zu"
)
_GERMAN = frozenset(_GERMAN_WORDS.split())
"""Where one of these stands, capital letters say nothing of a word: German nouns begin with one."""


@dataclass(frozen=True, slots=True)
class Signs:
    """What the estimate is made of."""

    undecided: float = 0.0
    """Entropy of the passages' scores: 0 where one stands out, 3 where all are alike."""
    evidence: float = 0.0
    """How rare the question's words are that the best passage has, summed up; a word of one passage alone counts as about one."""
    names_missing: float = 0.0
    """Names and numbers of the question that none of the first passages has, up to ``MOST_NAMES``."""
    hinted: float = 0.0
    """Share of the words, by rarity, that the best passage has or comes near to."""


@dataclass(frozen=True, slots=True)
class Answering:
    """Weights of the signs in a logistic; they belong to the scores of one way to rank."""

    intercept: float
    undecided: float
    evidence: float
    names_missing: float
    hinted: float

    def estimate(self, signs: Signs) -> float:
        """0 to 1."""
        return 1 / (
            1
            + exp(
                -(
                    self.intercept
                    + self.undecided * signs.undecided
                    + self.evidence * signs.evidence
                    + self.names_missing * signs.names_missing
                    + self.hinted * signs.hinted
                )
            )
        )


BUILT_IN = Answering(0.12, -1.01, 0.45, -0.38, 0.71)
OTHERS = Answering(0.54, -0.92, 0.31, -0.49, 0.48)
"""For embedders that give a passage one vector."""
WORDS_ONLY = Answering(-1.25, -0.59, 0.62, -0.51, 1.36)
"""While there are no vectors. All three were fitted in the same way: a logistic with an L2 penalty (C = .05 on standardised signs),

- on the 115 of 140 real questions whose answer is among the first five passages (weight 2; 110 and 88 for the other two),
- against the same questions with all documents away that answer them (.5), with only the answering passages and their neighbours
  away (1), and with one telling word replaced by one of another question (.6).

Twenty real questions that nothing answers were kept out of it; ``MEASURED`` has them. Further signs were tried and left out, since
they told no more of these twenty: cosines, their distance from those of all passages, of single words and of the question without
the words that are missing; sentences; agreement of words and vectors; the second document; boosted trees over fifty signs.
"""

RECOMMENDED = 0.16
"""The ``min_score`` that costs one right passage in fifty or sixty. Every question more that stays silent costs several right ones."""


class Measured(NamedTuple):
    """What one ``min_score`` does with the built-in embedder."""

    min_score: float
    found: float
    """Share of answered questions whose answer is among five passages."""
    silent: float
    """Share of the questions that nothing answers, and that get nothing."""


MEASURED = (
    Measured(0.0, 0.82, 0.0),
    Measured(RECOMMENDED, 0.81, 0.2),
    Measured(0.2, 0.79, 0.3),
    Measured(0.3, 0.7, 0.55),
    Measured(0.4, 0.54, 0.65),
    Measured(0.5, 0.37, 0.7),
    Measured(0.7, 0.16, 0.95),
)
"""Cross-validated by document on 140 questions, and on the twenty. ``evaluate_documents`` tells the same of other documents."""


def signs_of(
    fused: Sequence[float],
    matches: Sequence[Numbers],
    *,
    rarity: Numbers,
    names: Sequence[bool],
    passages: int,
) -> Signs:
    """From the passages found, best first: their scores, and how well the first of them have each word; of the words, how rare each
    is and whether it is a name; and how many passages there are in all.
    """
    undecided = _entropy(np.asarray(fused[:RIVALS], dtype=np.float64))
    if not rarity.size or not matches:
        return Signs(undecided=undecided)
    first, any_of_them = matches[0], np.max(matches[:LOOKED_AT], axis=0)
    missing = sum(bool(name) and best < THERE for name, best in zip(names, any_of_them, strict=True))
    return Signs(
        undecided=undecided,
        evidence=min(float(rarity @ first) / log(2 * passages + 2), MOST_EVIDENCE),
        names_missing=float(min(missing, MOST_NAMES)),
        hinted=float(rarity[first >= HINTED].sum() / rarity.sum()),
    )


def are_names(question: str, words: Sequence[str]) -> list[bool]:
    """Which words of a question are names or numbers: those with digits, and those with a capital inside a sentence."""
    found = _WORD.findall(question)
    capital: set[str] = set()
    if not any(word.lower() in _GERMAN for word in found):
        capital = {folded(word).lower() for word in found[1:] if word[0].isupper()}
    return [word in capital or any(letter.isdigit() for letter in word) for word in words]


def _entropy(scores: npt.NDArray[np.float64]) -> float:
    """As if there were ``RIVALS`` of them; of one alone nothing can be said, and it is between the ends."""
    if scores.size < 2:
        return log(RIVALS) / 2
    shares = np.exp(scores - scores.max())
    shares /= shares.sum()
    return float(-(shares * np.log(shares + 1e-12)).sum()) * log(RIVALS) / log(scores.size)
