"""What it costs to store a message, compared with storing and embedding it in one go, as the original does."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from statistics import median, quantiles
from typing import Any

from memory import capture, tasks
from memory.benchmarks.people import conversation, member
from memory.benchmarks.scratch import scratch_database
from memory.types import IncomingMessage

SINGLE = 200


def run(*, rows: int = 5_000) -> dict[str, Any]:
    """Milliseconds a message for one at a time, alone and with embedding in line; messages a second in bulk and embedded."""
    with scratch_database():
        people = [member(number) for number in range(20)]
        stranger = conversation([person_without_consent(people)], SINGLE, seed=4)
        begin = time.perf_counter()
        result = capture.record_messages(list(conversation(people, rows)), source="backfill")
        bulk = time.perf_counter() - begin
        begin = time.perf_counter()
        tasks.work_through("embed")
        embedding = time.perf_counter() - begin
        return {
            "rows": rows,
            "stored": result.stored,
            "bulk_messages_per_second": round(rows / bulk),
            "embedded_messages_per_second": round(rows / embedding),
            "stranger_ms": _each(stranger, capture.record_message),
            "one_ms": _each(conversation(people, SINGLE, seed=2), capture.record_message),
            "one_with_embedding_in_line_ms": _each(conversation(people, SINGLE, seed=3), _in_line),
        }


def person_without_consent(people: list[Any]) -> Any:
    return type(people[0])(id=people[0].id - 1, username="stranger")


def _in_line(message: IncomingMessage) -> None:
    capture.record_message(message)
    tasks.work_through("embed")


def _each(
    messages: Iterable[IncomingMessage], store: Callable[[IncomingMessage], object]
) -> dict[str, float]:
    taken = []
    for message in messages:
        begin = time.perf_counter()
        store(message)
        taken.append((time.perf_counter() - begin) * 1000)
    return {"p50": round(median(taken), 2), "p95": round(quantiles(taken, n=20)[-1], 2)}
