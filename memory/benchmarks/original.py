"""The original's way to find memories: one table of all vectors, the nearest of all, filtered after."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import sqlite_vec

from memory.index.base import Vector
from memory.index.sqlite_vec import SqliteVecIndex

BATCH = 2_000

Progress = Callable[[str], None]


class OriginalTable:
    """A copy of an index's vectors in a file of its own, made unless it is there."""

    def __init__(self, path: Path, index: SqliteVecIndex, progress: Progress) -> None:
        self._path, self._index, self._progress = path, index, progress

    def __enter__(self) -> OriginalTable:
        self._connection = sqlite3.connect(self._path, isolation_level=None)
        self._connection.enable_load_extension(True)
        sqlite_vec.load(self._connection)
        self._connection.execute("PRAGMA page_size = 4096")
        self._connection.execute("PRAGMA mmap_size = 4294967296")
        self._fill()
        return self

    def __exit__(self, *args: object) -> None:
        self._connection.close()

    def nearest(self, vector: Vector, k: int) -> list[int]:
        found = self._connection.execute(
            "SELECT rowid FROM original WHERE embedding MATCH ? AND k = ? ORDER BY distance",
            (vector.tobytes(), k),
        )
        return [int(row[0]) for row in found.fetchall()]

    def _fill(self) -> None:
        execute = self._connection.execute
        wanted = self._index.count()
        execute("CREATE TABLE IF NOT EXISTS done (rows integer)")
        if execute("SELECT 1 FROM done WHERE rows = ?", (wanted,)).fetchone():
            return
        self._progress(f"copying {wanted:,} vectors into one table")
        execute("PRAGMA synchronous = OFF")
        execute("DROP TABLE IF EXISTS original")
        execute(f"CREATE VIRTUAL TABLE original USING vec0(embedding float[{self._index.dimension}])")
        after = -1
        while keys := self._index.keys(after, BATCH):
            execute("BEGIN")
            self._connection.executemany(
                "INSERT INTO original(rowid, embedding) VALUES (?, ?)",
                [(key, vector.tobytes()) for key, vector in self._index.vectors(keys).items()],
            )
            execute("COMMIT")
            after = keys[-1]
        execute("INSERT INTO done VALUES (?)", (wanted,))
