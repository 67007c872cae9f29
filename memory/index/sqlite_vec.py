"""Nearest neighbours with sqlite-vec: one ``vec0`` table a space, partitioned by guild, with the channel as a filter.

Vectors have unit length, so Euclidean distance orders them as cosine does and is faster: ``cosine = 1 - distance² / 2``.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np
from django.db import connection, transaction

from memory.index.base import Vector, VectorHit, VectorRow, guild_of, key_range

MOST_NEIGHBOURS = 4096
"""vec0 refuses a larger ``k``."""
CHUNK_SIZE = 128
"""Rows a chunk. A guild takes whole chunks, so that a small one wastes space in large chunks; writes like small ones too."""


class SqliteVecIndex:
    """``VectorIndex`` over the table ``memory_vectors_<space_id>`` of the default database."""

    def __init__(self, space_id: int, dimension: int) -> None:
        self.dimension = int(dimension)
        self.table = f"memory_vectors_{int(space_id)}"

    def create(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                f"CREATE VIRTUAL TABLE IF NOT EXISTS {self.table} USING vec0("
                f"guild integer partition key, channel integer, embedding float[{self.dimension}], "
                f"chunk_size={CHUNK_SIZE})"
            )

    def drop(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"DROP TABLE IF EXISTS {self.table}")

    def add(self, rows: Sequence[VectorRow]) -> None:
        latest = {row.key: row for row in rows}
        values = [
            (row.key, guild_of(row.key), row.channel, self._bytes(row.vector)) for row in latest.values()
        ]
        if not values:
            return
        with transaction.atomic(), connection.cursor() as cursor:
            # vec0 knows no "replace"; deleting a row that is not there costs one look-up.
            cursor.executemany(f"DELETE FROM {self.table} WHERE rowid = %s", [(row[0],) for row in values])
            cursor.executemany(
                f"INSERT INTO {self.table}(rowid, guild, channel, embedding) VALUES (%s, %s, %s, %s)", values
            )

    def remove(self, keys: Iterable[int]) -> None:
        # One by one: for "rowid IN (…)" vec0 scans the whole table.
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.executemany(f"DELETE FROM {self.table} WHERE rowid = %s", [(int(key),) for key in keys])

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
        left_out = set(exclude)
        query = f"SELECT rowid, distance FROM {self.table} WHERE embedding MATCH %s AND k = %s"
        values: list[Any] = [self._bytes(vector), min(k + len(left_out), MOST_NEIGHBOURS)]
        if guild is not None:
            query += " AND guild = %s"
            values.append(guild)
        if channels is not None:
            # A filter on a metadata column is applied before the neighbours are chosen.
            query += " AND channel IN (SELECT value FROM json_each(%s))"
            values.append(json.dumps(sorted(channels)))
        with connection.cursor() as cursor:
            cursor.execute(query, values)
            found = cursor.fetchall()
        hits = [
            VectorHit(key, 1.0 - distance * distance / 2.0) for key, distance in found if key not in left_out
        ]
        return sorted(hits, key=lambda hit: (-hit.cosine, hit.key))[:k]

    def vectors(self, keys: Sequence[int]) -> dict[int, Vector]:
        with connection.cursor() as cursor:
            # The order of a CROSS JOIN is kept: one look-up a key, where "rowid IN (…)" would scan the whole table.
            cursor.execute(
                "SELECT stored.rowid, stored.embedding FROM json_each(%s) AS wanted "
                f"CROSS JOIN {self.table} AS stored ON stored.rowid = wanted.value",
                (json.dumps([int(key) for key in keys]),),
            )
            return {key: np.frombuffer(blob, dtype="<f4") for key, blob in cursor.fetchall()}

    def count(self, guild: int | None = None) -> int:
        # The shadow table is an ordinary one with the rowid as its key; vec0 itself would read its chunks.
        query, values = f"SELECT count(*) FROM {self.table}_rowids", []
        if guild is not None:
            query, values = f"{query} WHERE rowid BETWEEN %s AND %s", list(key_range(guild))
        with connection.cursor() as cursor:
            cursor.execute(query, values)
            return int(cursor.fetchone()[0])

    def keys(self, after: int = -1, limit: int = 1000) -> list[int]:
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT rowid FROM {self.table}_rowids WHERE rowid > %s ORDER BY rowid LIMIT %s",
                (after, limit),
            )
            return [int(row[0]) for row in cursor.fetchall()]

    def _bytes(self, vector: Vector) -> bytes:
        array = np.ascontiguousarray(vector, dtype="<f4")
        if array.shape != (self.dimension,):
            raise ValueError(
                f"a vector of {self.dimension} numbers is needed, this one has the shape {array.shape}"
            )
        if not np.isfinite(array).all():
            raise ValueError("the vector holds numbers that are not finite")
        return array.tobytes()
