"""One bit a dimension for every vector: what a large guild is looked through with, before the floats of the likeliest are compared.

A block holds the signs of 256 neighbouring keys as columns of 64-bit words, so that a scan is a few operations over long arrays.
A question keeps three bits a dimension: it is written as a sum of sign vectors with the weights 1, 2 and 4, and the distance of a row is
the weighted number of signs that differ. Measured on a million vectors of 512 numbers with 700 rows in the shortlist and more, the five
nearest of all are in it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from django.db import connection

from memory.index.base import Vector, VectorRow, key_range

BLOCK_BITS = 8
BLOCK = 1 << BLOCK_BITS
WEIGHTS = (1, 2, 4)
LEVELS = sum(WEIGHTS)
WIDEST = 2.2
"""Times the mean size (root of the mean square) of a question's numbers that the levels reach to."""
AT_ONCE = 32
"""Blocks that are scanned together: few enough for a processor's cache, enough to make numpy worth it."""
NOBODY = np.iinfo(np.int64).min
"""Stands in the place of a channel where there is no row."""
MARK = -1
"""Block whose ``channels`` hold the first block that was not built yet, of an index that is older than this table."""
ALL = np.iinfo(np.int64).max

Words = npt.NDArray[np.uint64]
Keys = npt.NDArray[np.int64]
Distances = npt.NDArray[np.uint16]


class SignTable:
    """The table ``memory_signs_<space_id>``. Whoever writes vectors writes here in the same transaction."""

    def __init__(self, space_id: int, dimension: int) -> None:
        self.table = f"memory_signs_{int(space_id)}"
        self.words = -(-int(dimension) // 64)

    def create(self, *, complete: bool) -> None:
        """``complete``: there is no vector yet, so nothing is left to build."""
        with connection.cursor() as cursor:
            cursor.execute(
                f"CREATE TABLE IF NOT EXISTS {self.table} "
                "(block integer PRIMARY KEY, channels blob NOT NULL, bits blob NOT NULL)"
            )
            cursor.execute(
                f"INSERT OR IGNORE INTO {self.table}(block, channels, bits) VALUES (%s, %s, x'')",
                (MARK, _mark(int(ALL) if complete else 0)),
            )

    def drop(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"DROP TABLE IF EXISTS {self.table}")

    # Writing

    def put(self, rows: Iterable[VectorRow]) -> None:
        """Sets the signs of these rows, in the caller's transaction."""
        by_block: defaultdict[int, list[VectorRow]] = defaultdict(list)
        for row in rows:
            by_block[row.key >> BLOCK_BITS].append(row)
        for block, some in by_block.items():
            channels, bits = self._load(block) or self._empty()
            slots = [row.key & (BLOCK - 1) for row in some]
            channels[slots] = [row.channel for row in some]
            bits[:, slots] = signs(np.array([row.vector for row in some]), self.words).T
            self._store(block, channels, bits)

    def clear(self, keys: Iterable[int]) -> None:
        """Overwrites the signs of these keys, in the caller's transaction; an empty block goes."""
        by_block: defaultdict[int, list[int]] = defaultdict(list)
        for key in keys:
            by_block[int(key) >> BLOCK_BITS].append(int(key) & (BLOCK - 1))
        for block, slots in by_block.items():
            found = self._load(block)
            if found is None:
                continue
            channels, bits = found
            if (channels[slots] == NOBODY).all():
                continue
            channels[slots] = NOBODY
            bits[:, slots] = 0
            self._store(block, channels, bits)

    def replace(self, block: int, rows: Sequence[VectorRow]) -> None:
        """Makes a block anew from all vectors of its keys."""
        channels, bits = self._empty()
        if rows:
            slots = [row.key & (BLOCK - 1) for row in rows]
            channels[slots] = [row.channel for row in rows]
            bits[:, slots] = signs(np.array([row.vector for row in rows]), self.words).T
        self._store(block, channels, bits)

    def _empty(self) -> tuple[Keys, Words]:
        return np.full(BLOCK, NOBODY, "<i8"), np.zeros((self.words, BLOCK), "<u8")

    def _load(self, block: int) -> tuple[Keys, Words] | None:
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT channels, bits FROM {self.table} WHERE block = %s", (block,))
            found = cursor.fetchone()
        if found is None:
            return None
        bits = np.frombuffer(found[1], "<u8").reshape(self.words, BLOCK)
        return np.frombuffer(found[0], "<i8").copy(), bits.copy()

    def _store(self, block: int, channels: Keys, bits: Words) -> None:
        with connection.cursor() as cursor:
            if (channels == NOBODY).all():
                cursor.execute(f"DELETE FROM {self.table} WHERE block = %s", (block,))
                return
            cursor.execute(
                f"INSERT INTO {self.table}(block, channels, bits) VALUES (%s, %s, %s) "
                "ON CONFLICT (block) DO UPDATE SET channels = excluded.channels, bits = excluded.bits",
                (block, channels.tobytes(), bits.tobytes()),
            )

    # Reading

    def built_to(self) -> int:
        """The first block that may lack rows: ``ALL`` once everything was built."""
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT channels FROM {self.table} WHERE block = %s", (MARK,))
            found = cursor.fetchone()
        return int.from_bytes(found[0], "little") if found else 0

    def set_built_to(self, block: int) -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"UPDATE {self.table} SET channels = %s WHERE block = %s", (_mark(block), MARK))

    def size(self, guild: int | None) -> int:
        """At least as many as the rows of a guild (or of all), and no more than 256 for each of its blocks."""
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT count(*) FROM {self.table} WHERE block BETWEEN %s AND %s", _blocks(guild))
            return int(cursor.fetchone()[0]) << BLOCK_BITS

    def keys(self, after: int, limit: int) -> list[int]:
        """Keys that have signs, ascending."""
        found: list[int] = []
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT block, channels FROM {self.table} WHERE block >= %s ORDER BY block",
                (max((after + 1) >> BLOCK_BITS, 0),),
            )
            while len(found) < limit and (row := cursor.fetchone()) is not None:
                slots = np.flatnonzero(np.frombuffer(row[1], "<i8") != NOBODY)
                keys = (int(row[0]) << BLOCK_BITS) + slots
                found += [int(key) for key in keys if key > after]
        return found[:limit]

    def shortlist(
        self, guild: int | None, vector: Vector, size: int, channels: Collection[int] | None
    ) -> list[int]:
        """The keys whose signs are nearest, about ``size``, ascending."""
        planes = question_planes(vector, self.words)
        blocks: list[int] = []
        distances, stored = [], []
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT block, channels, bits FROM {self.table} WHERE block BETWEEN %s AND %s ORDER BY block",
                _blocks(guild),
            )
            while rows := cursor.fetchmany(AT_ONCE):
                blocks += [row[0] for row in rows]
                stored += [row[1] for row in rows]
                distances.append(self._distances([row[2] for row in rows], planes))
        if not blocks:
            return []
        allowed = _Allowed(np.frombuffer(b"".join(stored), "<i8"), channels)
        places = _lowest_allowed(np.concatenate(distances), size, allowed)
        keys = (np.array(blocks, np.int64)[places >> BLOCK_BITS] << BLOCK_BITS) + (places & (BLOCK - 1))
        found: list[int] = keys.tolist()
        return found

    def _distances(self, stored: Sequence[bytes], planes: Words) -> Distances:
        bits = np.frombuffer(b"".join(stored), "<u8").reshape(len(stored), self.words, BLOCK)
        differing = np.empty_like(bits)
        counts = np.empty(bits.shape, np.uint8)
        total = np.zeros((len(stored), BLOCK), np.uint16)
        for weight, plane in zip(WEIGHTS, planes, strict=True):
            np.bitwise_xor(bits, plane[None, :, None], out=differing)
            np.bitwise_count(differing, out=counts)
            total += counts.sum(axis=1, dtype=np.uint16) * np.uint16(weight)
        return total.ravel()


class _Allowed:
    """Which places may be found: those of a row, in a channel that is looked in (None: any)."""

    def __init__(self, stored: Keys, channels: Collection[int] | None) -> None:
        self._stored = stored
        self._wanted = None if channels is None else np.sort(np.array(list(channels), np.int64))

    def among(self, places: Keys) -> Keys:
        stored = self._stored[places]
        if self._wanted is None:
            may = stored != NOBODY
        else:
            at = np.minimum(np.searchsorted(self._wanted, stored), len(self._wanted) - 1)
            may = self._wanted[at] == stored
        found: Keys = places[may]
        return found


def signs(vectors: npt.NDArray[Any], words: int) -> Words:
    """Which numbers of each row are positive, as ``words`` 64-bit words a row."""
    packed = np.packbits(vectors > 0, axis=1, bitorder="little")
    padded = np.zeros((len(vectors), words * 8), np.uint8)
    padded[:, : packed.shape[1]] = packed
    return padded.view("<u8")


def question_planes(vector: Vector, words: int) -> Words:
    """A question as sign vectors, one a weight: their weighted sum is the question in odd steps from -7 to 7."""
    step = float(np.sqrt(np.mean(np.square(vector)))) * WIDEST / LEVELS or 1.0
    level = np.clip(np.rint((vector / step + LEVELS) / 2), 0, LEVELS).astype(np.int64)
    return signs(np.array([(level & weight) > 0 for weight in WEIGHTS]), words)


def _lowest_allowed(distances: Distances, size: int, allowed: _Allowed) -> Keys:
    """Places of the lowest that may be found, ``size`` of them if there are so many, ascending.

    The nearest few are asked whether they may be found, and more only where that leaves too few: asking all takes as long as
    measuring their distances.
    """
    asked = 2 * size
    while True:
        near = _lowest(distances, asked)
        found = allowed.among(near)
        if len(found) >= size or len(near) == len(distances):
            return found[_lowest(distances[found], size)]
        asked *= 8


def _lowest(distances: Distances, size: int) -> Keys:
    """Places of the lowest, ``size`` of them, ascending; of those that are equally far as the last, the first."""
    if len(distances) <= size:
        return np.arange(len(distances))
    border = np.partition(distances, size - 1)[size - 1]
    places = np.flatnonzero(distances <= border)
    spare = len(places) - size
    if spare:
        # Of those at the border, the last ones are too many.
        at = np.flatnonzero(distances[places] == border)
        places = np.delete(places, at[len(at) - spare :])
    return places


def _blocks(guild: int | None) -> tuple[int, int]:
    if guild is None:
        return 0, int(ALL)
    first, last = key_range(guild)
    return first >> BLOCK_BITS, last >> BLOCK_BITS


def _mark(block: int) -> bytes:
    return block.to_bytes(8, "little")
