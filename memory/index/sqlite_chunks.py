"""Indexes of passages in SQLite: words in ``memory_chunk_fts``, vectors in one ``vec0`` table an embedding model. See ``chunks``."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from django.db import connection, transaction

from memory.index.base import Vector
from memory.index.chunks import SHIFT, Vectors
from memory.index.terms import match_expression

TABLE = "memory_chunk_fts"
VIEW = "memory_chunk_terms"
VECTORS = "memory_chunk_vectors_"
VECTORS_A_CHUNK = 256
"""Rows that vec0 keeps together."""
MOST_NEIGHBOURS = 4096
_BATCH = 500


def add_words(keys: Sequence[int]) -> None:
    """Indexes passages that are in the table and not in the index."""
    _words(
        keys,
        f"INSERT INTO {TABLE}(rowid, title, heading, body) SELECT key, title, heading, body FROM {VIEW}",
        indexed=False,
    )


def remove_words(keys: Sequence[int]) -> None:
    """Takes passages out; call it before their rows, or those of their version, are changed or deleted."""
    _words(
        keys,
        f"INSERT INTO {TABLE}({TABLE}, rowid, title, heading, body) "
        f"SELECT 'delete', key, title, heading, body FROM {VIEW}",
        indexed=True,
    )


def _words(keys: Sequence[int], statement: str, *, indexed: bool) -> None:
    # An entry added twice, or removed without being there, would spoil the index: FTS5 does not check.
    there = f"key {'IN' if indexed else 'NOT IN'} (SELECT id FROM {TABLE}_docsize)"
    with transaction.atomic(), connection.cursor() as cursor:
        for start in range(0, len(keys), _BATCH):
            batch = json.dumps([int(key) for key in keys[start : start + _BATCH]])
            cursor.execute(
                f"{statement} WHERE key IN (SELECT value FROM json_each(%s)) AND {there}", (batch,)
            )


def search_words(words: Sequence[str], versions: Collection[int], k: int) -> list[tuple[int, float]]:
    """(key, BM25) of the ``k`` best passages of these versions for any of the words (``terms.tokens``); higher is better."""
    expression = match_expression(words)
    if not expression or not versions or k <= 0:
        return []
    query = (
        f"SELECT rowid, -bm25({TABLE}) AS score FROM {TABLE} "
        f"WHERE {TABLE} MATCH %s AND (rowid >> {SHIFT}) IN (SELECT value FROM json_each(%s)) "
        "ORDER BY score DESC, rowid LIMIT %s"
    )
    with connection.cursor() as cursor:
        cursor.execute(query, [expression, json.dumps(sorted(versions)), k])
        return [(int(key), float(score)) for key, score in cursor.fetchall()]


def search_bodies(words: Sequence[str], versions: Collection[int], k: int) -> list[int]:
    """Keys by the passages' own words alone, best first."""
    expression = match_expression(words)
    if not expression or not versions or k <= 0:
        return []
    query = (
        f"SELECT rowid FROM {TABLE} WHERE {TABLE} MATCH %s AND (rowid >> {SHIFT}) IN "
        f"(SELECT value FROM json_each(%s)) ORDER BY bm25({TABLE}, 0.0, 0.0, 1.0), rowid LIMIT %s"
    )
    with connection.cursor() as cursor:
        cursor.execute(query, [f"body : ({expression})", json.dumps(sorted(versions)), k])
        return [int(row[0]) for row in cursor.fetchall()]


def count_with(word: str) -> int:
    """In how many passages a word (or its stem) stands."""
    expression = match_expression([word])
    if not expression:
        return 0
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {TABLE} WHERE {TABLE} MATCH %s", [expression])
        return int(cursor.fetchone()[0])


def optimize() -> None:
    """Merges the segments of the words, after which nothing of removed passages is left in them."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO {TABLE}({TABLE}) VALUES ('optimize')")


def word_keys_without_rows(limit: int = 1000) -> list[int]:
    """Entries of the words whose passage is gone."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT id FROM {TABLE}_docsize WHERE id NOT IN (SELECT key FROM memory_chunk) LIMIT %s", [limit]
        )
        return [int(row[0]) for row in cursor.fetchall()]


def rows_without_words(limit: int = 1000) -> list[int]:
    """Passages that the words do not know."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT key FROM memory_chunk WHERE key NOT IN (SELECT id FROM {TABLE}_docsize) LIMIT %s",
            [limit],
        )
        return [int(row[0]) for row in cursor.fetchall()]


def rebuild_words() -> None:
    """Makes the index of words anew from the rows: where entries are left whose rows are gone, their words are not known."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO {TABLE}({TABLE}) VALUES ('rebuild')")


def sound_words() -> bool:
    """FTS5's own check of the index against the rows."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"INSERT INTO {TABLE}({TABLE}, rank) VALUES ('integrity-check', 1)")
    except Exception:  # the driver's own error; what matters is that it is not sound
        return False
    return True


def vector_tables() -> list[str]:
    """The tables of all models whose vectors are stored."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT name FROM sqlite_master WHERE name LIKE %s AND sql LIKE 'CREATE VIRTUAL%%'",
            [f"{VECTORS}%"],
        )
        return [str(row[0]) for row in cursor.fetchall()]


class ChunkVectors:
    """The vectors of one model, named by ``space``: hexadecimal digits. A passage has one in its context, and one of its own."""

    def __init__(self, space: str, dimension: int) -> None:
        self.dimension = int(dimension)
        self.table = f"{VECTORS}{int(space, 16):x}"

    def create(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                f"CREATE VIRTUAL TABLE IF NOT EXISTS {self.table} USING vec0("
                f"version integer, embedding float[{self.dimension}], plain float[{self.dimension}], "
                f"chunk_size={VECTORS_A_CHUNK})"
            )

    def drop(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"DROP TABLE IF EXISTS {self.table}")

    def exists(self) -> bool:
        return self.table in vector_tables()

    def add(self, rows: Sequence[tuple[int, Vector, Vector]]) -> None:
        """Adds or replaces (key, vector in context, vector alone). Raises ``ValueError`` for a vector of another form."""
        values = [(key, key >> SHIFT, self._bytes(vector), self._bytes(plain)) for key, vector, plain in rows]
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.executemany(f"DELETE FROM {self.table} WHERE rowid = %s", [(row[0],) for row in values])
            cursor.executemany(
                f"INSERT INTO {self.table}(rowid, version, embedding, plain) VALUES (%s, %s, %s, %s)", values
            )

    def remove(self, keys: Iterable[int]) -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.executemany(f"DELETE FROM {self.table} WHERE rowid = %s", [(int(key),) for key in keys])

    def nearest(self, vector: Vector, versions: Collection[int], k: int) -> list[tuple[int, float]]:
        """(key, cosine) of the nearest passages of these versions, best first."""
        if not versions or k <= 0:
            return []
        values: list[Any] = [self._bytes(vector), min(k, MOST_NEIGHBOURS), json.dumps(sorted(versions))]
        with connection.cursor() as cursor:
            # A filter on a metadata column is applied before the neighbours are chosen.
            cursor.execute(
                f"SELECT rowid, distance FROM {self.table} WHERE embedding MATCH %s AND k = %s "
                "AND version IN (SELECT value FROM json_each(%s))",
                values,
            )
            # Unit vectors: Euclidean distance orders them as the cosine does.
            found = [(int(key), 1.0 - distance * distance / 2.0) for key, distance in cursor.fetchall()]
        return sorted(found, key=lambda hit: (-hit[1], hit[0]))

    def vectors(self, keys: Sequence[int]) -> dict[int, tuple[Vector, Vector]]:
        """Both vectors of those passages that have them."""
        if not keys:
            return {}
        with connection.cursor() as cursor:
            # The order of a CROSS JOIN is kept: one look-up a key, where "rowid IN (…)" would scan the whole table.
            cursor.execute(
                "SELECT stored.rowid, stored.embedding, stored.plain FROM json_each(%s) AS wanted "
                f"CROSS JOIN {self.table} AS stored ON stored.rowid = wanted.value",
                (json.dumps([int(key) for key in keys]),),
            )
            return {
                int(key): (np.frombuffer(blob, dtype="<f4"), np.frombuffer(plain, dtype="<f4"))
                for key, blob, plain in cursor.fetchall()
            }

    def everything(self) -> tuple[npt.NDArray[np.int64], Vectors, Vectors]:
        """Keys, and both vectors of each as rows of a matrix."""
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT rowid, embedding, plain FROM {self.table}")
            rows = cursor.fetchall()

        def matrix(column: int) -> Vectors:
            whole = np.frombuffer(b"".join(row[column] for row in rows), dtype="<f4")
            return whole.reshape(len(rows), self.dimension)

        return np.array([row[0] for row in rows], dtype=np.int64), matrix(1), matrix(2)

    def count(self) -> int:
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT count(*) FROM {self.table}_rowids")
            return int(cursor.fetchone()[0])

    def keys_without_rows(self, limit: int = 1000) -> list[int]:
        """Vectors whose passage is gone."""
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT rowid FROM {self.table}_rowids WHERE rowid NOT IN (SELECT key FROM memory_chunk) LIMIT %s",
                [limit],
            )
            return [int(row[0]) for row in cursor.fetchall()]

    def rows_without_vectors(self, space: str, limit: int = 1000) -> list[int]:
        """Passages that are said to have a vector here and have none."""
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT key FROM memory_chunk WHERE embedding = 'done' AND space = %s "
                f"AND key NOT IN (SELECT rowid FROM {self.table}_rowids) LIMIT %s",
                [space, limit],
            )
            return [int(row[0]) for row in cursor.fetchall()]

    def _bytes(self, vector: Vector) -> bytes:
        array = np.ascontiguousarray(vector, dtype="<f4")
        if array.shape != (self.dimension,) or not np.isfinite(array).all():
            raise ValueError(f"a vector of {self.dimension} finite numbers is needed")
        return array.tobytes()


def vector_table(space: str, dimension: int) -> ChunkVectors:
    return ChunkVectors(space, dimension)
