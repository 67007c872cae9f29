"""The archive's indexes in PostgreSQL: words in ``memory_archival_postings``, vectors in one table an embedding space. See ``archival``."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from django.db import connection, transaction

from memory.index import pgvector
from memory.index.base import Vector
from memory.index.postings import Entry, Postings, Where
from memory.index.terms import body_terms

POSTINGS = Postings("archival", ("body",))
VECTORS = "memory_archival_vectors_"
LIVE = "SELECT id AS key FROM memory_archivalentry WHERE deleted_at IS NULL"
_BATCH = 500
_ALL = 1_000_000


def add_words(ids: Sequence[int]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, text FROM memory_archivalentry WHERE deleted_at IS NULL AND id = ANY(%s::bigint[])",
            [[int(one) for one in ids]],
        )
        rows = cursor.fetchall()
    POSTINGS.add(Entry(id, 0, (body_terms(text, ""),)) for id, text in rows)


def remove(ids: Sequence[int]) -> None:
    POSTINGS.remove(ids)
    with transaction.atomic(), connection.cursor() as cursor:
        for table in vector_tables():
            cursor.execute(f"DELETE FROM {table} WHERE key = ANY(%s::bigint[])", [[int(one) for one in ids]])


def rebuild_words() -> None:
    POSTINGS.clear()
    while ids := POSTINGS.missing(LIVE, _BATCH):
        add_words(ids)


def search_words(words: Sequence[str], allowed: Collection[int], k: int) -> list[tuple[int, float]]:
    if not allowed:
        return []
    found = POSTINGS.search(words, k, weights=((1.0,),), where=Where(only=allowed), newest_first=True)
    return [(int(key), float(score)) for key, score in found]


def optimize() -> None:
    """Nothing to merge."""


def holding(word: str) -> int:
    return POSTINGS.count_with(word)


def vector_tables() -> list[str]:
    return pgvector.tables(VECTORS)


def strays() -> tuple[int, int]:
    return len(POSTINGS.strays(LIVE, _ALL)), sum(len(_stray(table)) for table in vector_tables())


def remove_strays() -> int:
    count = 0
    with transaction.atomic(), connection.cursor() as cursor:
        for table in vector_tables():
            ids = _stray(table)
            cursor.execute(f"DELETE FROM {table} WHERE key = ANY(%s::bigint[])", [ids])
            count += len(ids)
    return count


def _stray(table: str) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT key FROM {table} EXCEPT {LIVE}")
        return [int(row[0]) for row in cursor.fetchall()]


def vector_table(space_id: int, dimension: int) -> ArchivalVectors:
    return ArchivalVectors(space_id, dimension)


class ArchivalVectors:
    def __init__(self, space_id: int, dimension: int) -> None:
        self.dimension = int(dimension)
        self.table = f"{VECTORS}{int(space_id)}"

    def create(self) -> None:
        if not self.exists():
            pgvector.create(self.table, f"scope bigint NOT NULL, embedding vector({self.dimension}) NOT NULL")
            with connection.cursor() as cursor:
                cursor.execute(f"CREATE INDEX IF NOT EXISTS {self.table}_scope ON {self.table} (scope)")

    def drop(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"DROP TABLE IF EXISTS {self.table}")

    def exists(self) -> bool:
        return self.table in vector_tables()

    def add(self, rows: Sequence[tuple[int, int, Vector]]) -> None:
        latest = {int(row[0]): row for row in rows}
        vectors = [pgvector.written(row[2], self.dimension) for row in latest.values()]
        with connection.cursor() as cursor:
            cursor.execute(
                f"INSERT INTO {self.table} (key, scope, embedding) SELECT key, scope, embedding::vector "
                "FROM unnest(%s::bigint[], %s::bigint[], %s::text[]) AS given(key, scope, embedding) "
                "ON CONFLICT (key) DO UPDATE SET scope = excluded.scope, embedding = excluded.embedding",
                [list(latest), [row[1] for row in latest.values()], vectors],
            )

    def nearest(
        self, scopes: Collection[int], vector: Vector, allowed: Collection[int], k: int
    ) -> list[tuple[int, float]]:
        if not allowed or k <= 0:
            return []
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT key, -(embedding <#> %s::vector) AS cosine FROM {self.table} "
                "WHERE scope = ANY(%s::bigint[]) AND key = ANY(%s::bigint[]) ORDER BY cosine DESC, key DESC LIMIT %s",
                [pgvector.written(vector, self.dimension), sorted(scopes), sorted(allowed), k],
            )
            return [(int(key), float(cosine)) for key, cosine in cursor.fetchall()]

    def vectors(self, ids: Sequence[int]) -> dict[int, Vector]:
        if not ids:
            return {}
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT key, vector_send(embedding) FROM {self.table} WHERE key = ANY(%s::bigint[])",
                [[int(one) for one in ids]],
            )
            return {int(key): pgvector.read(sent) for key, sent in cursor.fetchall()}

    def count(self) -> int:
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT count(*) FROM {self.table}")
            return int(cursor.fetchone()[0])
