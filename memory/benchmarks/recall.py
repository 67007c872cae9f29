"""Recall over many memories in 100 servers of very different sizes, against one table that is filtered after the search."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db import connection

from memory import backends, retrieval
from memory.benchmarks.recall_rows import (
    DIMENSION,
    IDENTITY,
    ORIGINAL,
    Place,
    Progress,
    fill,
    key_of,
    text,
    unit,
)
from memory.benchmarks.scratch import scratch_database
from memory.index.base import GUILD_SHIFT, Vector, VectorIndex
from memory.index.terms import tokens
from memory.llm.base import EmbedderIdentity, Vectors
from memory.retrieval.candidates import DEPTH
from memory.types import RecallQuery

ROWS = 20_000
NEAREST = 5
QUESTIONS = 60
"""Of each kind: in servers drawn by their size, and in the biggest."""


@dataclass(frozen=True, slots=True)
class Question:
    place: Place
    vector: Vector
    text: str
    answers: frozenset[int]
    """Keys of the nearest of the server, found by comparing with all."""


class _Given:
    """Hands out the vector of the question that is being measured: its embedding is no part of the comparison."""

    vector: Vector

    def identity(self) -> EmbedderIdentity:
        return IDENTITY

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self.vector for _ in texts])

    def embed_query(self, text: str) -> Vectors:
        return self.vector

    def check(self) -> Mapping[str, Any]:
        return {}


def run(*, rows: int = ROWS, progress: Progress = lambda message: None) -> dict[str, Any]:
    """Milliseconds (p50, p95) and the share of right answers, by kind of question and method."""
    generator = np.random.default_rng(1)
    with scratch_database() as path:
        vectors = np.memmap(path.with_name("vectors"), np.float32, "w+", shape=(rows, DIMENSION))
        places, index = fill(rows, vectors, generator, progress)
        sizes = np.array([place.size for place in places], float)
        drawn = generator.choice(len(places), QUESTIONS, p=sizes / sizes.sum())
        kinds = {
            "mix": [places[int(number)] for number in drawn],
            "biggest": [places[0]] * QUESTIONS,
        }
        result: dict[str, Any] = {"rows": rows, "guilds": len(places), "biggest_guild": places[0].size}
        for kind, chosen in kinds.items():
            progress(f"asking {len(chosen)} questions ({kind})")
            result[kind] = _measure([_question(place, vectors, generator) for place in chosen], index)
        del vectors
    return result


def lines(result: Mapping[str, Any]) -> Iterator[str]:
    yield f"{result['rows']} memories in {result['guilds']} servers, {result['biggest_guild']} in the biggest"
    yield f"{'':44}{'p50 ms':>9}{'p95 ms':>9}{'right':>8}"
    names = {
        "original": "one table, nearest of all, filtered after",
        "vectors": "nearest of the server",
        "words": "full text of the server",
        "method": "both (the queries of a recall)",
        "turn": "a whole recall, without embedding",
    }
    for kind, title in (("mix", "servers drawn by size"), ("biggest", "the biggest server")):
        yield f"{title}: {result[kind]['ratio']} times as fast"
        for name, label in names.items():
            one = result[kind][name]
            right = f"{one['right']:>8.0%}" if "right" in one else ""
            yield f"  {label:42}{one['p50']:>9.2f}{one['p95']:>9.2f}{right}"


def _question(place: Place, vectors: Vectors, generator: np.random.Generator) -> Question:
    own = np.asarray(vectors[place.start : place.start + place.size])
    near = own[int(generator.integers(place.size))]
    vector = unit(near + generator.normal(size=DIMENSION) * 0.04)
    best = np.argsort(-(own @ vector), kind="stable")[:NEAREST]
    return Question(place, vector, text(generator), frozenset(key_of(place, int(number)) for number in best))


def _measure(questions: Sequence[Question], index: VectorIndex) -> dict[str, Any]:
    text_index = backends.text_index()

    def original(question: Question) -> list[int]:
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT rowid FROM {ORIGINAL} WHERE embedding MATCH %s AND k = %s ORDER BY distance",
                (question.vector.tobytes(), NEAREST),
            )
            found = [row[0] for row in cursor.fetchall()]
        return [key for key in found if key >> GUILD_SHIFT == question.place.guild.ordinal]

    def near(question: Question) -> list[int]:
        return [hit.key for hit in index.nearest(question.place.guild.ordinal, question.vector, DEPTH)]

    def words(question: Question) -> list[int]:
        return [
            hit.key for hit in text_index.search(question.place.guild.ordinal, tokens(question.text), DEPTH)
        ]

    def both(question: Question) -> list[int]:
        words(question)
        return near(question)

    given = _Given()

    def turn(question: Question) -> list[int]:
        given.vector = question.vector
        query = RecallQuery(question.text, question.place.guild.discord_id, top_k=NEAREST)
        return [memory.key for memory in retrieval.recall(query).memories]

    result: dict[str, Any] = {
        "original": _time(questions, original, right=True),
        "vectors": _time(questions, near, right=True),
        "words": _time(questions, words),
        "method": _time(questions, both, right=True),
    }
    with backends.override(embedder=given):
        result["turn"] = _time(questions, turn)
    result["ratio"] = round(result["original"]["p50"] / max(result["method"]["p50"], 1e-6), 1)
    return result


def _time(
    questions: Sequence[Question], ask: Callable[[Question], list[int]], *, right: bool = False
) -> dict[str, float]:
    ask(questions[0])  # what is loaded on first use is not measured
    took, shares = [], []
    for question in questions:
        start = time.perf_counter()
        found = ask(question)
        took.append((time.perf_counter() - start) * 1000)
        shares.append(len(question.answers & set(found[:NEAREST])) / len(question.answers))
    result = {
        "p50": round(float(np.percentile(took, 50)), 3),
        "p95": round(float(np.percentile(took, 95)), 3),
    }
    return result | ({"right": round(sum(shares) / len(shares), 4)} if right else {})
