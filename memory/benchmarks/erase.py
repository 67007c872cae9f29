"""Erasing one member with a tenth of all memories, compared with one big transaction and a VACUUM on a copy of the same data."""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from django.db import connection

from memory import erasure
from memory.benchmarks.beside import Beside
from memory.benchmarks.erase_rows import MARK, SOMEONE, fill
from memory.benchmarks.scratch import scratch_database
from memory.benchmarks.timing import load
from memory.erasure import checkpoint
from memory.errors import InvalidInput
from memory.index.connection import prepare_connection
from memory.index.pages import files_that_hold
from memory.models import EmbeddingSpace, ErasureRequest

Progress = Callable[[str], None]


def run(
    *, rows: int = 20_000, progress: Progress = lambda message: None, keep: Path | None = None
) -> dict[str, Any]:
    """Seconds, and milliseconds that others waited. In ``keep`` the database stays as it was before, for the next run to copy."""
    if connection.vendor != "sqlite":
        raise InvalidInput("This measures what erasing takes in a file of SQLite; unset DATABASE_URL for it.")
    kept = keep / f"erase-{rows}.db" if keep is not None else None
    there = kept is not None and kept.exists()
    with scratch_database(kept if there else None) as path:
        if not there:
            fill(rows, progress)
        checkpoint.empty_log()
        if kept is not None and not there:
            _keep(path, kept)
        copy = path.with_name("copy.db")
        shutil.copy(path, copy)
        progress("previewing")
        begin = time.perf_counter()
        preview = erasure.preview(SOMEONE)
        previewed = time.perf_counter() - begin
        progress("erasing")
        request, taken, waits = _erase(path)
        begin = time.perf_counter()
        left = erasure.verify(SOMEONE)
        verified = time.perf_counter() - begin
        found = files_that_hold([path, path.with_name(path.name + "-wal")], [MARK.encode()])
        result = {
            "rows": rows,
            "erased": request.counts.get("memories", 0),
            "exactly_as_previewed": request.counts.get("memories", 0)
            == preview["memories"] + preview["answers"] + preview["answers_to_others"],
            "state": request.state,
            "seconds": taken["seconds"],
            "processor_seconds": taken["processor"],
            "load": load(),
            "stages": taken["stages"],
            "others_waited_ms": waits,
            "preview_seconds": round(previewed, 2),
            "verify_seconds": round(verified, 2),
            "left": left,
            "files_with_their_words": len(found),
            "database_mb": round(path.stat().st_size / 1e6, 1),
        }
        connection.close()
        progress("the same in one transaction, with a VACUUM")
        result["one_transaction_and_vacuum"] = _plainly(copy, SOMEONE)
        return result


def lines(result: Mapping[str, Any]) -> Iterator[str]:
    plain, waits = result["one_transaction_and_vacuum"], result["others_waited_ms"]
    yield f"{result['erased']:,} of {result['rows']:,} memories, database of {result['database_mb']:,.0f} MB"
    yield f"erased and proven in {result['seconds']} s ({result['processor_seconds']} s of processor time): {result['state']}"
    for stage, seconds in result["stages"].items():
        yield f"  {stage:32}{seconds:>8.2f} s"
    yield f"the write lock was held for at most {waits['lock']['most']:.0f} ms, p95 {waits['lock']['p95']:.0f} ms"
    for role, what in (("writer", "storing a message"), ("reader", "searching the words")):
        one = waits[role]
        yield f"  {what} meanwhile, {one['times']:,} times: p50 {one['p50']} ms, p95 {one['p95']} ms, at most {one['most']} ms"
    yield f"left in any store: {result['left'] or 'nothing'}; files with their words: {result['files_with_their_words']}"
    yield f"in one transaction, with a VACUUM: {plain['seconds']} s, the write lock held for {plain['held_ms']:,.0f} ms"
    yield f"the longest wait of others is {plain['held_ms'] / max(waits['lock']['most'], 0.1):.0f} times as short"


def _erase(path: Path) -> tuple[ErasureRequest, dict[str, Any], dict[str, dict[str, float]]]:
    """The request when it is done, how long it and its stages took, and how long others waited."""
    stages = _Stages()
    with Beside(path) as beside:
        begin, processor = time.perf_counter(), _processor()
        asked = erasure.request(user_id=SOMEONE, origin="command")
        with stages:
            request = erasure.run(asked.id)
            for _ in range(60):
                # Sealed only once no reader holds on to an old snapshot; a worker would look again.
                if request.state == ErasureRequest.State.DONE and not request.stage:
                    break
                time.sleep(0.5)
                request = erasure.run(asked.id)
        taken = {
            "seconds": round(time.perf_counter() - begin, 2),
            "processor": round(_processor() - processor, 2),
            "stages": stages.seconds,
        }
    return request, taken, beside.result()


def _processor() -> float:
    """Seconds of processor time of this process and of those that it has waited for: the files are searched by one of its own."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def _keep(path: Path, kept: Path) -> None:
    kept.parent.mkdir(parents=True, exist_ok=True)
    unfinished = kept.with_name(kept.name + ".part")
    shutil.copy(path, unfinished)
    unfinished.replace(kept)


class _Stages:
    """Seconds by stage, as the request itself tells them."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def __enter__(self) -> _Stages:
        self._last = ("begin", time.perf_counter())
        connection.execute_wrappers.append(self._watch)
        return self

    def __exit__(self, *args: object) -> None:
        connection.execute_wrappers.remove(self._watch)
        self._enter("end")

    def _enter(self, stage: str) -> None:
        name, since = self._last
        now = time.perf_counter()
        if stage != name:
            self.seconds[name] = round(self.seconds.get(name, 0.0) + now - since, 2)
            self._last = (stage, now)

    def _watch(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith('UPDATE "memory_erasurerequest"') and '"stage"' in sql and not many:
            # What is set to NULL stands in the statement and is no parameter.
            parts = sql.partition(" SET ")[2].split(" WHERE ")[0].split(", ")
            names = [part.split('"')[1] for part in parts if part.endswith("%s")]
            stage = params[names.index("stage")] if "stage" in names else ""
            self._enter(str(stage) or "end")
        return execute(sql, params, many, context)


def _plainly(path: Path, user_id: int) -> dict[str, Any]:
    """Everything in one transaction without ``secure_delete``, then the VACUUM that takes the words out of the file."""
    raw = sqlite3.connect(path, isolation_level=None)
    holder = type("Holder", (), {"vendor": connection.vendor, "connection": raw})
    prepare_connection(None, holder)
    space = _space(raw)
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
    raw.execute("VACUUM")
    raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    seconds = time.perf_counter() - begin
    raw.close()
    return {"seconds": round(seconds, 2), "held_ms": round(seconds * 1000, 1)}


def _space(raw: sqlite3.Connection) -> int:
    row = raw.execute(f"SELECT id FROM {EmbeddingSpace._meta.db_table}").fetchone()
    return int(row[0])
