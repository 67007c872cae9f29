"""The archive's indexes in SQLite: words in ``memory_archival_fts``, vectors in one ``vec0`` table an embedding space. See ``archival``."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from django.db import connection, transaction

from memory.index.base import Vector
from memory.index.terms import match_expression

TABLE = "memory_archival_fts"
VIEW = "memory_archival_terms"
VECTORS = "memory_archival_vectors_"
CHUNK_SIZE = 8
"""Rows a chunk; most scopes are small, and each takes whole chunks."""
_MARK = "mergemark"


def add_words(ids: Sequence[int]) -> None:
    """Indexes the words of entries that are in the table and not in the index."""
    _words(ids, f"INSERT INTO {TABLE}(rowid, body) SELECT id, body FROM {VIEW}", indexed=False)


def remove(ids: Sequence[int]) -> None:
    """Takes entries out of all indexes; call it before their rows are changed or deleted. Others are no error."""
    _words(
        ids, f"INSERT INTO {TABLE}({TABLE}, rowid, body) SELECT 'delete', id, body FROM {VIEW}", indexed=True
    )
    with transaction.atomic(), connection.cursor() as cursor:
        for table in vector_tables():
            cursor.executemany(f"DELETE FROM {table} WHERE rowid = %s", [(int(one),) for one in ids])


def rebuild_words() -> None:
    """Makes the index of words anew from the rows, where it holds what belongs to none of them."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO {TABLE}({TABLE}) VALUES ('rebuild')")


def search_words(words: Sequence[str], allowed: Collection[int], k: int) -> list[tuple[int, float]]:
    """(id, BM25) of the allowed entries that hold any of the words, best first; higher is better."""
    expression = match_expression(words)
    if not expression or not allowed or k <= 0:
        return []
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT rowid, -bm25({TABLE}) AS score FROM {TABLE} WHERE {TABLE} MATCH %s "
            "AND rowid IN (SELECT value FROM json_each(%s)) ORDER BY score DESC, rowid DESC LIMIT %s",
            [expression, json.dumps(sorted(allowed)), k],
        )
        return [(int(row[0]), float(row[1])) for row in cursor.fetchall()]


def optimize() -> None:
    """Merges the segments of the words, after which nothing of removed entries is left in them.

    FTS5 does nothing where there is one segment only, so an entry that is added and taken out again makes it a second one.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO {TABLE}(rowid, body) VALUES (0, %s)", (_MARK,))
        cursor.execute(f"INSERT INTO {TABLE}({TABLE}) VALUES ('optimize')")
        cursor.execute(f"INSERT INTO {TABLE}({TABLE}, rowid, body) VALUES ('delete', 0, %s)", (_MARK,))
        cursor.execute(f"INSERT INTO {TABLE}({TABLE}) VALUES ('optimize')")


def holding(word: str) -> int:
    """How many entries hold a word, whosever they are; for the re-scan of an erasure."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {TABLE} WHERE {TABLE} MATCH %s", [match_expression([word])])
        return int(cursor.fetchone()[0])


def vector_tables() -> list[str]:
    """The tables of all spaces, those of models that are not in use any more included: their vectors are no less personal."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT name FROM sqlite_master WHERE name LIKE %s AND sql LIKE 'CREATE VIRTUAL%%'",
            [f"{VECTORS}%"],
        )
        return [str(row[0]) for row in cursor.fetchall()]


def strays() -> tuple[int, int]:
    """Entries of the words and of the vectors that belong to no live entry. There should be none."""
    live = "SELECT id FROM memory_archivalentry WHERE deleted_at IS NULL"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {TABLE}_docsize WHERE id > 0 AND id NOT IN ({live})")
        words = int(cursor.fetchone()[0])
        vectors = 0
        for table in vector_tables():
            cursor.execute(f"SELECT count(*) FROM {table}_rowids WHERE rowid NOT IN ({live})")
            vectors += int(cursor.fetchone()[0])
    return words, vectors


def remove_strays() -> int:
    """Removes vectors that belong to no live entry; returns how many."""
    count = 0
    with transaction.atomic(), connection.cursor() as cursor:
        for table in vector_tables():
            cursor.execute(
                f"SELECT rowid FROM {table}_rowids WHERE rowid NOT IN "
                "(SELECT id FROM memory_archivalentry WHERE deleted_at IS NULL)"
            )
            ids = [row[0] for row in cursor.fetchall()]
            cursor.executemany(f"DELETE FROM {table} WHERE rowid = %s", [(one,) for one in ids])
            count += len(ids)
    return count


def _words(ids: Sequence[int], statement: str, *, indexed: bool) -> None:
    # An entry added twice, or removed without being there, would spoil the index: FTS5 does not check.
    there = f"id {'IN' if indexed else 'NOT IN'} (SELECT id FROM {TABLE}_docsize)"
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            f"{statement} WHERE id IN (SELECT value FROM json_each(%s)) AND {there}",
            [json.dumps([int(one) for one in ids])],
        )


class ArchivalVectors:
    """The vectors of one embedding space."""

    def __init__(self, space_id: int, dimension: int) -> None:
        self.dimension = int(dimension)
        self.table = f"{VECTORS}{int(space_id)}"

    def create(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                f"CREATE VIRTUAL TABLE IF NOT EXISTS {self.table} USING vec0("
                f"scope integer partition key, embedding float[{self.dimension}], chunk_size={CHUNK_SIZE})"
            )

    def drop(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"DROP TABLE IF EXISTS {self.table}")

    def exists(self) -> bool:
        return self.table in vector_tables()

    def add(self, rows: Sequence[tuple[int, int, Vector]]) -> None:
        """Adds or replaces (id, number of the scope, unit vector). Raises ``ValueError`` for a vector of another form."""
        values = [(entry, scope, self._bytes(vector)) for entry, scope, vector in rows]
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.executemany(f"DELETE FROM {self.table} WHERE rowid = %s", [(row[0],) for row in values])
            cursor.executemany(
                f"INSERT INTO {self.table}(rowid, scope, embedding) VALUES (%s, %s, %s)", values
            )

    def nearest(
        self, scopes: Collection[int], vector: Vector, allowed: Collection[int], k: int
    ) -> list[tuple[int, float]]:
        """(id, cosine) of the nearest allowed entries of these scopes, best first."""
        if not allowed or k <= 0:
            return []
        found: list[tuple[int, float]] = []
        ids = json.dumps(sorted(allowed))
        with connection.cursor() as cursor:
            for scope in scopes:
                values: list[Any] = [self._bytes(vector), k, scope, ids]
                cursor.execute(
                    f"SELECT rowid, distance FROM {self.table} WHERE embedding MATCH %s AND k = %s "
                    "AND scope = %s AND rowid IN (SELECT value FROM json_each(%s))",
                    values,
                )
                # Unit vectors: Euclidean distance orders them as the cosine does.
                found += [(int(one), 1.0 - distance * distance / 2.0) for one, distance in cursor.fetchall()]
        return sorted(found, key=lambda hit: (-hit[1], -hit[0]))[:k]

    def vectors(self, ids: Sequence[int]) -> dict[int, Vector]:
        if not ids:
            return {}
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT stored.rowid, stored.embedding FROM json_each(%s) AS wanted "
                f"CROSS JOIN {self.table} AS stored ON stored.rowid = wanted.value",
                [json.dumps([int(one) for one in ids])],
            )
            return {int(key): np.frombuffer(blob, dtype="<f4") for key, blob in cursor.fetchall()}

    def count(self) -> int:
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT count(*) FROM {self.table}_rowids")
            return int(cursor.fetchone()[0])

    def _bytes(self, vector: Vector) -> bytes:
        array = np.ascontiguousarray(vector, dtype="<f4")
        if array.shape != (self.dimension,) or not np.isfinite(array).all():
            raise ValueError(f"a vector of {self.dimension} finite numbers is needed")
        return array.tobytes()


def vector_table(space_id: int, dimension: int) -> ArchivalVectors:
    return ArchivalVectors(space_id, dimension)
