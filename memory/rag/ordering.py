"""From keys that words and vectors brought up to ranked passages: the candidates with their neighbours, then ``ranking``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial

from memory.index.base import Vector
from memory.llm.base import Vectors
from memory.models import Chunk, DocumentVersion
from memory.rag import answering, frequencies, ranking, words
from memory.rag.context import context
from memory.rag.nearness import Nearness
from memory.rag.passages import Piece
from memory.rag.ranking import BUILT_IN, Candidate, RankedPassage, Weights
from memory.rag.spaces import Space

HEADS = 25
"""Chunks that are looked at closely, with their neighbours: the best of what words and vectors know by all but coverage.

Measured on real documents, more of them find no more (hit@5 .81 with 20, 30 and 350) and take four times as long.
"""
OTHERS = replace(BUILT_IN, context_cosine=17.0, text_cosine=0.0, answering=answering.OTHERS)
"""For embedders that give a passage one vector: it stands for both."""
WORDS_ONLY = replace(
    BUILT_IN,
    context_cosine=0.0,
    text_cosine=0.0,
    bm25=7.0,
    coverage=11.0,
    answering=answering.WORDS_ONLY,
)
"""While there are no vectors."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with what the embedder made of it; no nearness where there are no vectors to compare with."""

    text: str
    space: Space | None = None
    near: Nearness | None = None
    words: Mapping[str, Vector] | None = None
    """Vectors of its single words, where single words are embedded."""


def order(
    asked: Asked, by_words: Mapping[int, float], near: Mapping[int, float], *, top_k: int, characters: int
) -> tuple[list[RankedPassage], dict[int, Chunk]]:
    """Passages, best first, and the rows of their heads."""
    cosines = _cosines(asked, list(dict.fromkeys([*near, *by_words])))
    heads = _heads(by_words, cosines, _weights(asked))
    rows = _rows({key + step for key in heads for step in (-1, 0, 1)})
    cosines |= _cosines(asked, [key for key in rows if key not in cosines])
    candidates = [_candidate(row, by_words, cosines) for row in rows.values()]
    ranked = ranking.rank(
        asked.text,
        candidates,
        frequencies=frequencies.current(),
        vectors=_word_vectors(asked),
        weights=_weights(asked),
        top_k=top_k,
        min_score=-1.0,
        characters=characters,
    )
    return ranked, rows


def _weights(asked: Asked) -> Weights:
    if asked.near is None or asked.space is None:
        return WORDS_ONLY
    return BUILT_IN if words.serves(asked.space) else OTHERS


def _heads(
    by_words: Mapping[int, float], cosines: Mapping[int, tuple[float, float]], weights: Weights
) -> list[int]:
    """The most promising by the features that cost nothing more."""
    best = max(by_words.values(), default=1.0) or 1.0

    def score(key: int) -> float:
        in_context, alone = cosines.get(key, (0.0, 0.0))
        words_share = by_words.get(key, 0.0) / best
        return weights.context_cosine * in_context + weights.text_cosine * alone + weights.bm25 * words_share

    keys = dict.fromkeys([*cosines, *by_words])
    return sorted(keys, key=lambda key: (-score(key), key))[:HEADS]


def _rows(keys: set[int]) -> dict[int, Chunk]:
    """Rows with their versions, of which there are few: they are read once and shared."""
    found = {row.key: row for row in Chunk.objects.filter(key__in=keys).order_by("key")}
    some = DocumentVersion.objects.only("name", "title", "source", "document_id")
    versions = some.in_bulk({row.version_id for row in found.values()})
    for row in found.values():
        row.version = versions[row.version_id]
    return found


def _cosines(asked: Asked, keys: Sequence[int]) -> dict[int, tuple[float, float]]:
    """Of the question with a passage in its context, and with its text alone."""
    return asked.near.both(keys) if asked.near is not None else {}


def _candidate(
    row: Chunk, by_words: Mapping[int, float], cosines: Mapping[int, tuple[float, float]]
) -> Candidate:
    in_context, alone = cosines.get(row.key, (0.0, 0.0))
    piece = Piece(
        key=row.key,
        document=row.version_id,
        index=row.index,
        section=row.section,
        start=row.start,
        end=row.end,
        text=row.text,
    )
    under = _context(row.version.name, row.version.title, row.heading)
    return Candidate(piece, under, in_context, alone, max(by_words.get(row.key, 0.0), 0.0))


@lru_cache(maxsize=8192)
def _context(name: str, title: str, heading: str) -> str:
    return context(name, title, heading.split("\n") if heading else ())


def _word_vectors(asked: Asked) -> partial[Vectors] | None:
    if asked.space is None or not asked.words or not words.serves(asked.space):
        return None
    return partial(words.vectors, space=asked.space, fresh=dict(asked.words))
