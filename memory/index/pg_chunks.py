"""Indexes of passages in PostgreSQL: words in ``memory_chunk_postings``, vectors in one table an embedding model. See ``chunks``."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from django.db import connection

from memory.index import pgvector
from memory.index.base import Vector
from memory.index.chunks import SHIFT, Vectors, terms_of
from memory.index.postings import Entry, Postings, Where

POSTINGS = Postings("chunk", ("title", "heading", "body"))
ALL, BODY = (1.0, 1.0, 1.0), (0.0, 0.0, 1.0)
VECTORS = "memory_chunk_vectors_"
MOST_NEIGHBOURS = 4096
_BATCH = 500
_ROWS = "SELECT key FROM memory_chunk"


def add_words(keys: Sequence[int]) -> None:
    for start in range(0, len(keys), _BATCH):
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT chunk.key, version.name, version.title, chunk.heading, chunk.text FROM memory_chunk AS chunk "
                "JOIN memory_documentversion AS version ON version.id = chunk.version_id "
                "WHERE chunk.key = ANY(%s::bigint[])",
                [[int(key) for key in keys[start : start + _BATCH]]],
            )
            rows = cursor.fetchall()
        POSTINGS.add(
            Entry(key, key >> SHIFT, terms_of(name, title, heading, text))
            for key, name, title, heading, text in rows
        )


def remove_words(keys: Sequence[int]) -> None:
    POSTINGS.remove(keys)


def search_words(words: Sequence[str], versions: Collection[int], k: int) -> list[tuple[int, float]]:
    if not versions:
        return []
    found = POSTINGS.search(words, k, weights=(ALL,), where=Where(scopes=versions))
    return [(int(key), float(score)) for key, score in found]


def search_bodies(words: Sequence[str], versions: Collection[int], k: int) -> list[int]:
    if not versions:
        return []
    found = POSTINGS.search(words, k, weights=(BODY,), where=Where(scopes=versions), needs="body")
    return [int(row[0]) for row in found]


def count_with(word: str) -> int:
    return POSTINGS.count_with(word)


def optimize() -> None:
    """Nothing to merge."""


def word_keys_without_rows(limit: int = 1000) -> list[int]:
    return POSTINGS.strays(_ROWS, limit)


def rows_without_words(limit: int = 1000) -> list[int]:
    return POSTINGS.missing(_ROWS, limit)


def rebuild_words() -> None:
    POSTINGS.clear()
    while keys := rows_without_words(_BATCH):
        add_words(keys)


def sound_words() -> bool:
    return POSTINGS.is_sound() and not word_keys_without_rows(1)


def vector_tables() -> list[str]:
    return pgvector.tables(VECTORS)


def vector_table(space: str, dimension: int) -> ChunkVectors:
    return ChunkVectors(space, dimension)


class ChunkVectors:
    def __init__(self, space: str, dimension: int) -> None:
        self.dimension = int(dimension)
        self.table = f"{VECTORS}{int(space, 16):x}"

    def create(self) -> None:
        if self.exists():
            return
        vector = f"vector({self.dimension}) NOT NULL"
        pgvector.create(self.table, f"version bigint NOT NULL, embedding {vector}, plain {vector}")
        with connection.cursor() as cursor:
            cursor.execute(f"CREATE INDEX IF NOT EXISTS {self.table}_version ON {self.table} (version)")

    def drop(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"DROP TABLE IF EXISTS {self.table}")

    def exists(self) -> bool:
        return self.table in vector_tables()

    def add(self, rows: Sequence[tuple[int, Vector, Vector]]) -> None:
        latest = {int(row[0]): row for row in rows}
        columns: list[Any] = [
            list(latest),
            [key >> SHIFT for key in latest],
            [pgvector.written(row[1], self.dimension) for row in latest.values()],
            [pgvector.written(row[2], self.dimension) for row in latest.values()],
        ]
        with connection.cursor() as cursor:
            cursor.execute(
                f"INSERT INTO {self.table} (key, version, embedding, plain) "
                "SELECT key, version, embedding::vector, plain::vector "
                "FROM unnest(%s::bigint[], %s::bigint[], %s::text[], %s::text[]) AS given(key, version, embedding, plain) "
                "ON CONFLICT (key) DO UPDATE SET embedding = excluded.embedding, plain = excluded.plain",
                columns,
            )

    def remove(self, keys: Iterable[int]) -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                f"DELETE FROM {self.table} WHERE key = ANY(%s::bigint[])", [sorted(int(key) for key in keys)]
            )

    def nearest(self, vector: Vector, versions: Collection[int], k: int) -> list[tuple[int, float]]:
        if not versions or k <= 0:
            return []
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT key, -(embedding <#> %s::vector) AS cosine FROM {self.table} "
                "WHERE version = ANY(%s::bigint[]) ORDER BY cosine DESC, key LIMIT %s",
                [pgvector.written(vector, self.dimension), sorted(versions), min(k, MOST_NEIGHBOURS)],
            )
            return [(int(key), float(cosine)) for key, cosine in cursor.fetchall()]

    def vectors(self, keys: Sequence[int]) -> dict[int, tuple[Vector, Vector]]:
        if not keys:
            return {}
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT key, vector_send(embedding), vector_send(plain) FROM {self.table} "
                "WHERE key = ANY(%s::bigint[])",
                [[int(key) for key in keys]],
            )
            return {
                int(key): (pgvector.read(one), pgvector.read(plain)) for key, one, plain in cursor.fetchall()
            }

    def everything(self) -> tuple[npt.NDArray[np.int64], Vectors, Vectors]:
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT key, vector_send(embedding), vector_send(plain) FROM {self.table}")
            rows = cursor.fetchall()

        def matrix(column: int) -> Vectors:
            if not rows:
                return np.zeros((0, self.dimension), dtype=np.float32)
            return np.stack([pgvector.read(row[column]) for row in rows])

        return np.array([row[0] for row in rows], dtype=np.int64), matrix(1), matrix(2)

    def count(self) -> int:
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT count(*) FROM {self.table}")
            return int(cursor.fetchone()[0])

    def keys_without_rows(self, limit: int = 1000) -> list[int]:
        return self._keys(f"SELECT key FROM {self.table} EXCEPT SELECT key FROM memory_chunk LIMIT %s", limit)

    def rows_without_vectors(self, space: str, limit: int = 1000) -> list[int]:
        return self._keys(
            "SELECT key FROM memory_chunk AS chunk WHERE embedding = 'done' AND space = %s AND NOT EXISTS "
            f"(SELECT 1 FROM {self.table} AS stored WHERE stored.key = chunk.key) LIMIT %s",
            space,
            limit,
        )

    def _keys(self, statement: str, *values: Any) -> list[int]:
        with connection.cursor() as cursor:
            cursor.execute(statement, values)
            return [int(row[0]) for row in cursor.fetchall()]
