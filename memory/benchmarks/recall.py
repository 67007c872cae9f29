"""Recall over many memories in 100 servers of very different sizes, against one table that is filtered after the search."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

from memory import backends, retrieval
from memory.benchmarks.installation import Installation, Progress, installation
from memory.benchmarks.invented import DIMENSION, Talk
from memory.benchmarks.original import OriginalTable
from memory.benchmarks.questions import Given, Question, ask, by_size, space
from memory.benchmarks.timing import Stopwatch, load, medians
from memory.index import sqlite_vec
from memory.index.base import GUILD_SHIFT
from memory.index.sqlite_vec import SqliteVecIndex
from memory.index.terms import tokens
from memory.retrieval.candidates import DEPTH
from memory.types import Recall, RecallQuery

ROWS = 20_000
NEAREST = 5
QUESTIONS = 60
"""Of each kind: in servers drawn by their size, and in the biggest."""
SLOW_QUESTIONS = 12
"""Of them so many for what takes a second each."""
NEVER = 1 << 60


def run(
    *, rows: int = ROWS, keep: Path | None = None, progress: Progress = lambda message: None
) -> dict[str, Any]:
    """Milliseconds (p50, p95, processor time) and shares of right answers, by kind of question and method."""
    with installation(rows, keep=keep, progress=progress) as found:
        index = SqliteVecIndex(space().pk, DIMENSION)
        with OriginalTable(found.home / "original.db", index, progress) as original:
            guilds = found.guilds()
            talk = Talk(seed=3)
            result = _about(found)
            for kind, chosen in {
                "mix": by_size(guilds, QUESTIONS, talk),
                "biggest": [guilds[0]] * QUESTIONS,
            }.items():
                progress(f"asking {len(chosen)} questions ({kind})")
                result[kind] = _measure(ask(chosen, talk), index, original)
        return result | {"load_after": load()}


def _about(found: Installation) -> dict[str, Any]:
    guilds = found.guilds()
    return {
        "rows": found.size.rows,
        "guilds": len(guilds),
        "biggest_guild": guilds[0].message_count,
        "dimension": DIMENSION,
        "disk_bytes_a_memory": round(found.file_bytes() / found.size.rows),
        "load_before": load(),
    }


def _measure(questions: Sequence[Question], index: SqliteVecIndex, original: OriginalTable) -> dict[str, Any]:
    every = SqliteVecIndex(space().pk, DIMENSION, small=NEVER)
    few = questions[:SLOW_QUESTIONS]
    right = {
        id(one): [hit.key for hit in every.nearest(one.guild.ordinal, one.vector, DEPTH)] for one in questions
    }
    result: dict[str, Any] = {}

    watch, shares = Stopwatch(), []
    for one in _warmed(few):
        keys = watch.time(lambda one=one: original.nearest(one.vector, NEAREST))  # type: ignore[misc]
        own = [key for key in keys if key >> GUILD_SHIFT == one.guild.ordinal]
        shares.append(_share(right[id(one)][:NEAREST], own))
    result["original"] = watch.result() | {"right": _mean(shares[1:])}

    for name, table in (("every_vector", every), ("vectors", index)):
        watch, shares, deep = Stopwatch(), [], []
        for one in _warmed(few if table is every else questions):
            hits = watch.time(
                lambda one=one, table=table: table.nearest(one.guild.ordinal, one.vector, DEPTH)  # type: ignore[misc]
            )
            shares.append(_share(right[id(one)][:NEAREST], [hit.key for hit in hits[:NEAREST]]))
            deep.append(_share(right[id(one)], [hit.key for hit in hits]))
        result[name] = watch.result() | {"right": _mean(shares[1:]), f"right_of_{DEPTH}": _mean(deep[1:])}

    texts, watch = backends.text_index(), Stopwatch()
    for one in _warmed(questions):
        watch.time(lambda one=one: texts.search(one.guild.ordinal, tokens(one.text), DEPTH))  # type: ignore[misc]
    result["words"] = watch.result()

    result["recall"], recalled = _recalls(questions)
    with mock.patch.object(sqlite_vec, "SMALL", NEVER):
        _, exactly = _recalls(questions)
    hits = [one.target in _keys(recall) for one, recall in zip(questions, recalled, strict=True)]
    exact = [one.target in _keys(recall) for one, recall in zip(questions, exactly, strict=True)]
    result["recall"] |= {
        "recall_at_5": _mean(hits),
        "recall_at_5_with_every_vector": _mean(exact),
        "same_memories": _mean(_share(_keys(b), _keys(a)) for a, b in zip(recalled, exactly, strict=True)),
        "stages": medians([dict(recall.timings) for recall in recalled]),
        "degraded": sum(bool(recall.degraded) for recall in recalled),
    }
    result["ratio"] = round(result["original"]["p50"] / max(result["recall"]["p50"], 1e-6), 1)
    return result


def _warmed(questions: Sequence[Question]) -> Iterator[Question]:
    """The first one twice: what is loaded on first use is one question of many."""
    yield questions[0]
    yield from questions


def _recalls(questions: Sequence[Question]) -> tuple[dict[str, Any], list[Recall]]:
    """A whole recall in a channel, as a turn has it, embedding aside."""
    given, watch, found = Given(), Stopwatch(), []
    with backends.override(embedder=given):
        for one in _warmed(questions):
            given.vector = one.vector
            query = RecallQuery(
                one.text,
                one.guild.discord_id,
                channel_id=one.channel_id,
                asker_id=one.asker_id,
                top_k=NEAREST,
            )
            found.append(watch.time(lambda query=query: retrieval.recall(query, patience=retrieval.PATIENCE)))  # type: ignore[misc]
    return watch.result(), found[1:]


def _keys(recall: Recall) -> list[int]:
    return [memory.key for memory in recall.memories]


def _share(wanted: Sequence[int], found: Sequence[int]) -> float:
    return len(set(wanted) & set(found)) / len(wanted) if wanted else 1.0


def _mean(values: Any) -> float:
    listed = [float(value) for value in values]
    return round(sum(listed) / len(listed), 4) if listed else 1.0


def lines(result: Mapping[str, Any]) -> Iterator[str]:
    yield f"{result['rows']:,} memories in {result['guilds']} servers, {result['biggest_guild']:,} in the biggest"
    yield f"{result['disk_bytes_a_memory']:,} bytes a memory on the disk, with words and vectors"
    yield f"{'':44}{'p50 ms':>9}{'p95 ms':>9}{'right':>8}"
    names = {
        "original": "one table, nearest of all, filtered after",
        "every_vector": "every vector of the server compared",
        "vectors": "nearest of the server, as it is done",
        "words": "full text of the server",
        "recall": "a whole recall, without embedding",
    }
    for kind, title in (("mix", "servers drawn by size"), ("biggest", "the biggest server")):
        yield f"{title}: a recall is {result[kind]['ratio']} times as fast as the original's query"
        for name, label in names.items():
            one = result[kind][name]
            right = f"{one['right']:>8.0%}" if "right" in one else ""
            yield f"  {label:42}{one['p50']:>9.2f}{one['p95']:>9.2f}{right}"
        one = result[kind]["recall"]
        yield (
            f"  the memory asked for is among five: {one['recall_at_5']:.1%}; "
            f"with every vector compared: {one['recall_at_5_with_every_vector']:.1%}"
        )
