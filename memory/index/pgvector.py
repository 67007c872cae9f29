"""Nearest neighbours with pgvector: one table a space, exact within a guild until the guild is large.

A large guild gets an HNSW graph of its own, a partial index over half-precision copies; what it finds is ranked anew by the vectors
themselves. Where the channels that may be read are a small part of a guild, or the graph gives too few, every row is compared.
Vectors have unit length: the inner product is the cosine.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np
from django.db import connection, transaction

from memory.index.base import Vector, VectorHit, VectorRow, key_range

MOST_NEIGHBOURS = 4096
GRAPH_ROWS = 20_000
"""A guild of so many has a graph; below, comparing with all takes about as long as recall may take for everything."""
GRAPH_DIMENSION = 4_000
"""pgvector makes graphs of no longer vectors in half precision."""
SELECTIVE = 0.1
"""Channels with a smaller part of a guild's rows are compared one by one: a graph would have to be walked through for them."""
RESCORED = 2
"""So many times the rows that are wanted are taken out of the graph and ranked by the vectors themselves."""
LOOK_SECONDS = 60.0
_HEADER = 4
_graphs: dict[tuple[str, str], tuple[float, frozenset[int]]] = {}


def written(vector: Vector, dimension: int) -> str:
    """A vector as pgvector reads it. Raises ``ValueError`` for one of another form."""
    array = np.asarray(vector, dtype="<f4")
    if array.shape != (dimension,):
        raise ValueError(f"a vector of {dimension} numbers is needed, this one has the shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError("the vector holds numbers that are not finite")
    return f"[{','.join(map(str, array.tolist()))}]"


def read(sent: Any) -> Vector:
    """A vector out of ``vector_send``: two short numbers, then the elements, big-endian."""
    return np.frombuffer(bytes(sent), dtype=">f4", offset=_HEADER).astype("<f4")


def tables(prefix: str) -> list[str]:
    """Names of the tables that begin with this."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_class WHERE relkind = 'r' AND pg_table_is_visible(oid) "
            "AND starts_with(relname, %s) ORDER BY relname",
            [prefix],
        )
        return [str(row[0]) for row in cursor.fetchall()]


def create(table: str, columns: str) -> None:
    """A table for vectors: they stay in their rows, of which reading them all is made."""
    with transaction.atomic(), connection.cursor() as cursor:
        # Two processes may make the same one at once; "if not exists" alone would fail for the second.
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [table])
        cursor.execute(
            f"CREATE TABLE IF NOT EXISTS {table} (key bigint PRIMARY KEY, {columns}) WITH (toast_tuple_target = 8160)"
        )


class PgVectorIndex:
    """``VectorIndex`` over the table ``memory_vectors_<space_id>`` of the default database."""

    def __init__(self, space_id: int, dimension: int) -> None:
        self.dimension = int(dimension)
        self.table = f"memory_vectors_{int(space_id)}"

    def create(self) -> None:
        if self.table in tables(self.table):
            return
        create(self.table, f"channel bigint NOT NULL, embedding vector({self.dimension}) NOT NULL")
        with connection.cursor() as cursor:
            cursor.execute(f"CREATE INDEX IF NOT EXISTS {self.table}_channel ON {self.table} (channel, key)")

    def drop(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"DROP TABLE IF EXISTS {self.table}")

    def add(self, rows: Sequence[VectorRow]) -> None:
        latest = {row.key: row for row in rows}
        vectors = [written(row.vector, self.dimension) for row in latest.values()]
        if not vectors:
            return
        with connection.cursor() as cursor:
            cursor.execute(
                f"INSERT INTO {self.table} (key, channel, embedding) SELECT key, channel, written::vector "
                "FROM unnest(%s::bigint[], %s::bigint[], %s::text[]) AS given(key, channel, written) "
                "ORDER BY key ON CONFLICT (key) DO UPDATE SET channel = excluded.channel, embedding = excluded.embedding",
                [list(latest), [row.channel for row in latest.values()], vectors],
            )

    def remove(self, keys: Iterable[int]) -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                f"DELETE FROM {self.table} WHERE key = ANY(%s::bigint[])", [sorted(int(key) for key in keys)]
            )

    def nearest(
        self,
        guild: int | None,
        vector: Vector,
        k: int,
        *,
        channels: Collection[int] | None = None,
        exclude: Collection[int] = (),
    ) -> list[VectorHit]:
        if k <= 0 or (channels is not None and not channels):
            return []
        question, k = written(vector, self.dimension), min(k, MOST_NEIGHBOURS)
        conditions = ["true"]
        values: list[Any] = []
        if channels is not None:
            conditions.append("channel = ANY(%s::bigint[])")
            values.append(sorted(channels))
        if exclude:
            conditions.append("key <> ALL(%s::bigint[])")
            values.append(sorted(exclude))
        if guild is not None:
            conditions.append("key BETWEEN %s AND %s")
            values += key_range(guild)
            if guild in self.graphs() and not self._is_small(guild, channels):
                hits = self._walk(question, k, " AND ".join(conditions), values)
                if len(hits) == k:
                    return hits
        return self._compare(question, k, " AND ".join(conditions), values)

    def _compare(self, question: str, k: int, conditions: str, values: list[Any]) -> list[VectorHit]:
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT key, -(embedding <#> %s::vector) AS cosine FROM {self.table} WHERE {conditions} "
                "ORDER BY cosine DESC, key LIMIT %s",
                [question, *values, k],
            )
            return [VectorHit(int(key), float(cosine)) for key, cosine in cursor.fetchall()]

    def _walk(self, question: str, k: int, conditions: str, values: list[Any]) -> list[VectorHit]:
        depth = k * RESCORED
        half = f"halfvec({self.dimension})"
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(
                f"SET LOCAL hnsw.ef_search = {min(max(depth, 100), 1000)}; "
                f"SET LOCAL hnsw.iterative_scan = 'strict_order'; SET LOCAL hnsw.max_scan_tuples = {max(depth * 20, 20_000)}"
            )
            cursor.execute(
                f"SELECT key, -(embedding <#> %s::vector) AS cosine FROM (SELECT key, embedding FROM {self.table} "
                f"WHERE {conditions} ORDER BY embedding::{half} <#> %s::{half} LIMIT %s) AS walked "
                "ORDER BY cosine DESC, key LIMIT %s",
                [question, *values, question, depth, k],
            )
            return [VectorHit(int(key), float(cosine)) for key, cosine in cursor.fetchall()]

    def vectors(self, keys: Sequence[int]) -> dict[int, Vector]:
        if not keys:
            return {}
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT key, vector_send(embedding) FROM {self.table} WHERE key = ANY(%s::bigint[])",
                [[int(key) for key in keys]],
            )
            return {int(key): read(sent) for key, sent in cursor.fetchall()}

    def count(self, guild: int | None = None) -> int:
        condition, values = ("", []) if guild is None else ("WHERE key BETWEEN %s AND %s", key_range(guild))
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT count(*) FROM {self.table} {condition}", values)
            return int(cursor.fetchone()[0])

    def keys(self, after: int = -1, limit: int = 1000) -> list[int]:
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT key FROM {self.table} WHERE key > %s ORDER BY key LIMIT %s", [after, limit]
            )
            return [int(row[0]) for row in cursor.fetchall()]

    # -- graphs
    def graphs(self, *, fresh: bool = False) -> frozenset[int]:
        """Guilds that have a graph, as this process knew a minute ago at most."""
        place = str(connection.settings_dict["NAME"]), self.table
        kept = _graphs.get(place)
        if fresh or kept is None or time.monotonic() - kept[0] > LOOK_SECONDS:
            with connection.cursor() as cursor:
                cursor.execute(
                    "SELECT relname FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid "
                    "WHERE indrelid = to_regclass(%s) AND indisvalid AND starts_with(relname, %s)",
                    [self.table, f"{self.table}_graph_"],
                )
                found = frozenset(int(row[0].rpartition("_")[2]) for row in cursor.fetchall())
            kept = _graphs[place] = time.monotonic(), found
        return kept[1]

    def large_guilds(self) -> list[int]:
        """Guilds that are large enough for a graph and have none."""
        if self.dimension > GRAPH_DIMENSION:
            return []
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT ordinal FROM memory_guild WHERE message_count >= %s ORDER BY ordinal", [GRAPH_ROWS]
            )
            large = [int(row[0]) for row in cursor.fetchall()]
        have = self.graphs(fresh=True) if large else frozenset()
        return [guild for guild in large if guild not in have]

    def prepare(self, seconds: float) -> bool:
        """Builds the graph of one guild that has become large, which may take minutes; True once none is left to build."""
        if connection.in_atomic_block or not self.large_guilds():
            return True
        with connection.cursor() as cursor:
            # For the session: the work's lease may be over before the graph is done, and a second worker must not begin again.
            cursor.execute("SELECT pg_try_advisory_lock(hashtext(%s))", [self.table])
            if not cursor.fetchone()[0]:
                return False
            try:
                for guild in self.large_guilds()[:1]:
                    self.build_graph(guild)
            finally:
                cursor.execute("SELECT pg_advisory_unlock(hashtext(%s))", [self.table])
        return not self.large_guilds()

    def build_graph(self, guild: int) -> None:
        """Makes the graph of a guild while others read and write. Not inside a transaction."""
        name, (first, last) = f"{self.table}_graph_{int(guild)}", key_range(int(guild))
        with connection.cursor() as cursor:
            cursor.execute(f"DROP INDEX IF EXISTS {name}")  # one that was begun and not finished
            cursor.execute("SET maintenance_work_mem = '512MB'")
            try:
                cursor.execute(
                    f"CREATE INDEX CONCURRENTLY {name} ON {self.table} USING hnsw "
                    f"((embedding::halfvec({self.dimension})) halfvec_ip_ops) WHERE key BETWEEN {first} AND {last}"
                )
            finally:
                cursor.execute("RESET maintenance_work_mem")
        self.graphs(fresh=True)

    def _is_small(self, guild: int, channels: Collection[int] | None) -> bool:
        """Whether these channels hold a small part of a guild, by the counts in their rows."""
        if channels is None:
            return False
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT coalesce(sum(message_count), 0) <= %s * (SELECT message_count FROM memory_guild WHERE ordinal = %s) "
                "FROM memory_channel WHERE discord_id = ANY(%s::bigint[])",
                [SELECTIVE, guild, sorted(channels)],
            )
            return bool(cursor.fetchone()[0])
