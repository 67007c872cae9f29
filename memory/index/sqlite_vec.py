"""Nearest neighbours with sqlite-vec: one ``vec0`` table a space, partitioned by guild, with the channel as a filter.

Vectors have unit length, so Euclidean distance orders them as cosine does and is faster: ``cosine = 1 - distance² / 2``.

In a small guild every vector is compared. In a large one the signs of all (``memory.index.signs``) give a shortlist, and the vectors
of the shortlist are compared: a fraction of the bytes to read.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np
from django.db import connection, transaction

from memory.index.base import Vector, VectorHit, VectorRow, guild_of, key_range
from memory.index.signs import ALL, BLOCK, BLOCK_BITS, SignTable

MOST_NEIGHBOURS = 4096
"""vec0 refuses a larger ``k``."""
CHUNK_SIZE = 128
"""Rows a chunk. A guild takes whole chunks, so that a small one wastes space in large chunks; writes like small ones too."""
SMALL = 8_000
"""Rows up to which comparing all vectors of a guild takes no longer than a shortlist does."""
SHORTLIST = 800
"""Vectors that are compared in a larger guild, or twice as many as are asked for."""
PREPARED_AT_ONCE = 8
"""Blocks whose signs are built in one transaction."""


class SqliteVecIndex:
    """``VectorIndex`` over the table ``memory_vectors_<space_id>`` of the default database."""

    def __init__(self, space_id: int, dimension: int, *, small: int | None = None) -> None:
        self.dimension = int(dimension)
        self.table = f"memory_vectors_{int(space_id)}"
        self.signs = SignTable(space_id, dimension)
        self.small = SMALL if small is None else small

    def create(self) -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT 1 FROM sqlite_master WHERE name = %s", (self.table,))
            is_new = cursor.fetchone() is None
            cursor.execute(
                f"CREATE VIRTUAL TABLE IF NOT EXISTS {self.table} USING vec0("
                f"guild integer partition key, channel integer, embedding float[{self.dimension}], "
                f"chunk_size={CHUNK_SIZE})"
            )
            self.signs.create(complete=is_new)

    def drop(self) -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"DROP TABLE IF EXISTS {self.table}")
            self.signs.drop()

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
            self.signs.put(latest.values())

    def remove(self, keys: Iterable[int]) -> None:
        gone = [int(key) for key in keys]
        # One by one: for "rowid IN (…)" vec0 scans the whole table.
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.executemany(f"DELETE FROM {self.table} WHERE rowid = %s", [(key,) for key in gone])
            self.signs.clear(gone)

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
        wanted = self._bytes(vector)
        left_out = set(exclude)
        if self._is_large(guild):
            size = max(SHORTLIST, 2 * k) + len(left_out)
            keys = self.signs.shortlist(guild, vector, size, channels)
            return self._compared([key for key in keys if key not in left_out], vector, k)
        found = self._all_compared(guild, wanted, k + len(left_out), channels)
        hits = [hit for hit in found if hit.key not in left_out]
        return sorted(hits, key=lambda hit: (-hit.cosine, hit.key))[:k]

    def _is_large(self, guild: int | None) -> bool:
        if self.signs.size(guild) <= self.small:
            return False
        last = ALL if guild is None else key_range(guild)[1] >> BLOCK_BITS
        built_to = self.signs.built_to()
        return built_to > last or built_to == ALL

    def _all_compared(
        self, guild: int | None, wanted: bytes, k: int, channels: Collection[int] | None
    ) -> list[VectorHit]:
        query = f"SELECT rowid, distance FROM {self.table} WHERE embedding MATCH %s AND k = %s"
        values: list[Any] = [wanted, min(k, MOST_NEIGHBOURS)]
        if guild is not None:
            query += " AND guild = %s"
            values.append(guild)
        if channels is not None:
            # A filter on a metadata column is applied before the neighbours are chosen.
            query += " AND channel IN (SELECT value FROM json_each(%s))"
            values.append(json.dumps(sorted(channels)))
        with connection.cursor() as cursor:
            cursor.execute(query, values)
            return [VectorHit(key, 1.0 - distance * distance / 2.0) for key, distance in cursor.fetchall()]

    def _compared(self, keys: Sequence[int], vector: Vector, k: int) -> list[VectorHit]:
        """The ``k`` nearest of these."""
        stored = self._stored(keys)
        if not stored:
            return []
        matrix = np.frombuffer(b"".join([blob for _, blob in stored]), "<f4").reshape(len(stored), -1)
        # Row by row: a product of matrices rounds equal rows differently, by where they stand.
        cosines = np.einsum("ij,j->i", matrix, vector)
        places = np.lexsort((np.array([key for key, _ in stored]), -cosines))[:k].tolist()
        return [VectorHit(stored[place][0], float(cosines[place])) for place in places]

    def vectors(self, keys: Sequence[int]) -> dict[int, Vector]:
        return {key: np.frombuffer(blob, dtype="<f4") for key, blob in self._stored(keys)}

    def _stored(self, keys: Sequence[int]) -> list[tuple[int, bytes]]:
        if not keys:
            return []
        with connection.cursor() as cursor:
            # The order of a CROSS JOIN is kept: one look-up a key, where "rowid IN (…)" would scan the whole table.
            cursor.execute(
                "SELECT stored.rowid, stored.embedding FROM json_each(%s) AS wanted "
                f"CROSS JOIN {self.table} AS stored ON stored.rowid = wanted.value",
                (json.dumps([int(key) for key in keys]),),
            )
            found: list[tuple[int, bytes]] = cursor.fetchall()
            return found

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
            stored = {int(row[0]) for row in cursor.fetchall()}
        # Signs without a vector: there should be none, and whoever compares must see them.
        return sorted(stored.union(self.signs.keys(after, limit)))[:limit]

    def prepare(self, seconds: float) -> bool:
        """Builds the signs of vectors that are older than the table of signs."""
        until = time.monotonic() + seconds
        while (first := self.signs.built_to()) != ALL:
            if time.monotonic() >= until:
                return False
            with transaction.atomic():
                self._build_signs(first)
        return True

    def _build_signs(self, first: int) -> None:
        """Those of some blocks from ``first`` on, in the caller's transaction; what stands there already is made anew."""
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT rowid FROM {self.table}_rowids WHERE rowid >= %s ORDER BY rowid LIMIT %s",
                (first << BLOCK_BITS, PREPARED_AT_ONCE * BLOCK),
            )
            keys = [int(row[0]) for row in cursor.fetchall()]
            if not keys:
                self.signs.set_built_to(int(ALL))
                return
            last = keys[-1] >> BLOCK_BITS
            if len(keys) == PREPARED_AT_ONCE * BLOCK and last > keys[0] >> BLOCK_BITS:
                # The last block may go on behind what was read.
                last -= 1
                keys = [key for key in keys if key >> BLOCK_BITS <= last]
            cursor.execute(
                "SELECT stored.rowid, stored.channel, stored.embedding FROM json_each(%s) AS wanted "
                f"CROSS JOIN {self.table} AS stored ON stored.rowid = wanted.value",
                (json.dumps(keys),),
            )
            by_block: dict[int, list[VectorRow]] = {}
            for key, channel, blob in cursor.fetchall():
                row = VectorRow(key, channel, np.frombuffer(blob, "<f4"))
                by_block.setdefault(key >> BLOCK_BITS, []).append(row)
        for block, rows in by_block.items():
            self.signs.replace(block, rows)
        self.signs.set_built_to(last + 1)

    def _bytes(self, vector: Vector) -> bytes:
        array = np.ascontiguousarray(vector, dtype="<f4")
        if array.shape != (self.dimension,):
            raise ValueError(
                f"a vector of {self.dimension} numbers is needed, this one has the shape {array.shape}"
            )
        if not np.isfinite(array).all():
            raise ValueError("the vector holds numbers that are not finite")
        return array.tobytes()
