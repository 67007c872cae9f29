"""Candidates to passages: a linear score of five features, then whole passages around the best chunks.

Pure: it knows neither the database nor a model. The features of a chunk are the cosine of its text in context (file, title,
headings), the cosine of its text alone, BM25 over three columns, how far it covers the question's words, and whether it is a
table of contents. A passage is a chunk with its neighbours; it takes the best of each feature among its chunks, and the
coverage of all of them together.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import exp
from typing import Literal

from memory.rag import answering
from memory.rag.answering import LOOKED_AT, Answering, are_names, signs_of
from memory.rag.coverage import Coverage, Frequencies, WordVectors, cover
from memory.rag.passages import Grown, Piece, grow

PASSAGE_CHARACTERS = 1500
POOL = 20
"""Passages that are made and scored before the best are returned."""
_LEADER = re.compile(r"\.{4,}|\]\(#")


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights of the features; they belong to an embedder, see ``BUILT_IN``."""

    context_cosine: float
    text_cosine: float
    bm25: float
    coverage: float
    contents: float
    answering: Answering
    """Whether the question is answered at all, from what comes of these weights."""


BUILT_IN = Weights(8.1, 7.3, 2.3, 7.2, -2.7, answering.BUILT_IN)
"""For the built-in embedder. Fitted by a softmax over passages on 140 questions in nine languages about 62 real documents: hit@3 .74,
hit@5 .82, and cross-validated by document the same within .01. Sentences, windows of sentences, the document's other passages and
the exact words, as further features, found no more.
"""
_LOSS = 0.01
"""What a point of score below the best passage takes of the estimate: little, since one question's passages stay or go together."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk that may be returned, or that stands beside one. Cosines are of the question with the chunk's vectors."""

    piece: Piece
    context: str
    context_cosine: float
    text_cosine: float
    bm25: float = 0.0
    """Raw, higher is better; 0 where full text did not find it."""


@dataclass(frozen=True, slots=True)
class RankedPassage:
    """What is returned: at most ``PASSAGE_CHARACTERS`` of one document.

    ``score``, 0 to 1, estimates that the passage helps to answer; ``scores`` holds what it is made of, ``fused`` among it,
    which is the linear score of the features and orders the passages.
    """

    head: Piece
    """The chunk that it was found by; citations point there."""
    pieces: tuple[Piece, ...]
    text: str
    score: float
    scores: Mapping[str, float] = field(default_factory=dict)
    left_out: Literal["", "min_score", "top_k"] = ""


@dataclass(frozen=True, slots=True)
class _Features:
    context_cosine: float
    text_cosine: float
    bm25: float
    coverage: float
    contents: float

    def score(self, weights: Weights) -> float:
        return (
            weights.context_cosine * self.context_cosine
            + weights.text_cosine * self.text_cosine
            + weights.bm25 * self.bm25
            + weights.coverage * self.coverage
            + weights.contents * self.contents
        )


def rank(
    question: str,
    candidates: Sequence[Candidate],
    *,
    frequencies: Frequencies,
    vectors: WordVectors | None = None,
    weights: Weights = BUILT_IN,
    top_k: int = 5,
    min_score: float = 0.0,
    characters: int = PASSAGE_CHARACTERS,
) -> list[RankedPassage]:
    """Passages, best first: those to return, then those left out with the reason."""
    if not candidates:
        return []
    coverage = cover(
        question, [f"{item.context}\n{item.piece.text}" for item in candidates], frequencies, vectors
    )
    best = max(item.bm25 for item in candidates) or 1.0
    each = coverage.each()
    alone = [
        _Features(
            item.context_cosine,
            item.text_cosine,
            item.bm25 / best,
            float(each[i]),
            _contents(item.piece.text),
        )
        for i, item in enumerate(candidates)
    ]
    chunk_scores = [features.score(weights) for features in alone]
    grown = grow(
        [item.piece for item in candidates], chunk_scores, characters=characters, limit=max(POOL, top_k)
    )
    made = [(_passage(one, candidates, alone, coverage, weights), list(one.members)) for one in grown]
    made.sort(key=lambda one: -one[0].scores["fused"])
    passages = [passage for passage, _ in made]
    signs = signs_of(
        [passage.scores["fused"] for passage in passages],
        [coverage.best(members) for _, members in made[:LOOKED_AT]],
        rarity=coverage.weights,
        names=are_names(question, coverage.words),
        passages=frequencies.total,
    )
    return _marked(_scored(passages, weights.answering.estimate(signs)), top_k, min_score)


def _scored(passages: Sequence[RankedPassage], answered: float) -> list[RankedPassage]:
    """With the score that ``min_score`` is about: similarity alone cannot tell a question that nothing answers."""
    best = passages[0].scores["fused"]
    return [replace(one, score=answered * exp(_LOSS * (one.scores["fused"] - best))) for one in passages]


def _passage(
    grown: Grown,
    candidates: Sequence[Candidate],
    alone: Sequence[_Features],
    coverage: Coverage,
    weights: Weights,
) -> RankedPassage:
    own = [alone[i] for i in grown.members]
    features = _Features(
        max(item.context_cosine for item in own),
        max(item.text_cosine for item in own),
        max(item.bm25 for item in own),
        coverage.share(list(grown.members)),
        alone[grown.head].contents,
    )
    score = features.score(weights)
    named = {
        "fused": score,
        "cosine": features.context_cosine,
        "text_cosine": features.text_cosine,
        "bm25": max(candidates[i].bm25 for i in grown.members),
        "coverage": features.coverage,
    }
    pieces = tuple(candidates[i].piece for i in grown.members)
    return RankedPassage(candidates[grown.head].piece, pieces, grown.text, 0.0, named)


def _marked(passages: Sequence[RankedPassage], top_k: int, min_score: float) -> list[RankedPassage]:
    kept: list[RankedPassage] = []
    left: list[RankedPassage] = []
    for item in passages:
        reason: Literal["", "min_score", "top_k"] = (
            "min_score" if item.score < min_score else "top_k" if len(kept) >= top_k else ""
        )
        if reason:
            left.append(replace(item, left_out=reason))
        else:
            kept.append(item)
    return kept + left


def _contents(text: str) -> float:
    """1 for a table of contents: lines of dots, or links into the same page."""
    return float(len(_LEADER.findall(text)) > 2)
