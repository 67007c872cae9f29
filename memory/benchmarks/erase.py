"""Erasing one member with a tenth of all memories, compared with one big transaction and a VACUUM on a copy of the same data."""

from __future__ import annotations

import shutil
import sqlite3
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from django.db import connection, transaction

from memory import backends, capture, erasure
from memory.benchmarks.people import conversation, member
from memory.benchmarks.scratch import scratch_database
from memory.erasure import checkpoint
from memory.index.base import VectorRow
from memory.index.connection import prepare_connection
from memory.models import EmbeddingSpace, Message
from memory.types import Person

DIMENSION = 512


def run(*, rows: int = 20_000) -> dict[str, Any]:
    """Seconds, and milliseconds that other writers waited at most."""
    with scratch_database() as path:
        someone = _fill(rows)
        copy = path.with_name("copy.db")
        checkpoint.empty_log()
        shutil.copy(path, copy)
        plain = _plainly(copy, someone.id)
        copy.unlink()
        preview = erasure.preview(someone.id)
        with _Waiting(path) as waiting:
            begin = time.perf_counter()
            request = erasure.run(erasure.request(user_id=someone.id, origin="command").id)
            seconds = time.perf_counter() - begin
        begin = time.perf_counter()
        left = erasure.verify(someone.id)
        return {
            "rows": rows,
            "erased": request.counts.get("memories", 0),
            "exactly_as_previewed": request.counts.get("memories", 0)
            == preview["memories"] + preview["answers"],
            "state": request.state,
            "seconds": round(seconds, 2),
            "others_waited_ms": waiting.result(),
            "verify_seconds": round(time.perf_counter() - begin, 2),
            "left": left,
            "database_mb": round(path.stat().st_size / 1e6, 1),
            "one_transaction_and_vacuum": plain,
        }


def _fill(rows: int) -> Person:
    """Messages of eleven people, of which the first has a tenth; vectors are random, which costs the index the same."""
    people = [member(number) for number in range(11)]
    for start in range(0, rows, 5_000):
        count = min(5_000, rows - start)
        some = conversation([people[0], *people[2:]], count, seed=10 + start // 5_000)
        capture.record_messages(list(some), source="import")
    space = EmbeddingSpace.objects.create(
        provider="benchmark", dimension=DIMENSION, state=EmbeddingSpace.State.ACTIVE
    )
    index = backends.vector_index(space)
    index.create()
    chance = np.random.default_rng(1)
    pairs = list(Message.objects.order_by("key").values_list("key", "channel_id"))
    for start in range(0, len(pairs), 2_000):
        some_pairs = pairs[start : start + 2_000]
        vectors = chance.standard_normal((len(some_pairs), DIMENSION), dtype=np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        with transaction.atomic():
            index.add([VectorRow(*pair, vector) for pair, vector in zip(some_pairs, vectors, strict=True)])
    Message.objects.update(embedding=Message.Embedding.DONE, space=space)
    return people[0]


class _Waiting:
    """Another writer, who wants the lock all the time for nothing: how long does it wait?"""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.waits: list[float] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._knock, daemon=True)

    def __enter__(self) -> _Waiting:
        self._thread.start()
        return self

    def __exit__(self, *args: object) -> None:
        self._stop.set()
        self._thread.join()

    def _knock(self) -> None:
        other = sqlite3.connect(self.path, isolation_level=None, timeout=0)
        while not self._stop.is_set():
            begin = time.perf_counter()
            while not self._stop.is_set():
                try:
                    other.execute("BEGIN IMMEDIATE")
                    other.execute("ROLLBACK")
                    break
                except sqlite3.OperationalError:
                    time.sleep(0.002)
            self.waits.append((time.perf_counter() - begin) * 1000)
            time.sleep(0.005)
        other.close()

    def result(self) -> dict[str, float]:
        ordered = sorted(self.waits)
        return {"p95": round(ordered[int(len(ordered) * 0.95)], 1), "most": round(ordered[-1], 1)}


def _plainly(path: Path, user_id: int) -> dict[str, Any]:
    """Everything in one transaction without ``secure_delete``, then the VACUUM that takes the words out of the file."""
    raw = sqlite3.connect(path, isolation_level=None)
    holder = type("Holder", (), {"vendor": connection.vendor, "connection": raw})
    prepare_connection(None, holder)
    space = EmbeddingSpace.objects.get().pk
    keys = "SELECT key FROM memory_message WHERE member_id = ?"
    begin = time.perf_counter()
    raw.execute("BEGIN IMMEDIATE")
    raw.execute(
        "INSERT INTO memory_message_fts(memory_message_fts, rowid, body, who) "
        f"SELECT 'delete', key, body, who FROM memory_message_terms WHERE key IN ({keys})",
        (user_id,),
    )
    found = raw.execute(keys, (user_id,)).fetchall()
    raw.executemany(f"DELETE FROM memory_vectors_{space} WHERE rowid = ?", found)
    raw.execute("DELETE FROM memory_message WHERE member_id = ?", (user_id,))
    raw.execute("COMMIT")
    held = time.perf_counter() - begin
    raw.execute("VACUUM")
    raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    seconds = time.perf_counter() - begin
    raw.close()
    return {"seconds": round(seconds, 2), "others_waited_ms": {"most": round(held * 1000, 1)}}
