"""What every vector index promises, over the real one and over an exact one in memory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

import numpy as np
import pytest
from django.db import connection

from memory.index.base import Vector, VectorHit, VectorIndex, VectorRow, guild_of, key_range
from memory.index.pgvector import PgVectorIndex
from memory.index.sqlite_vec import SqliteVecIndex

DIMENSION = 16
CHANNEL = 1_400_000_000_000_000_000


class ExactVectorIndex:
    """The same by comparing with every row."""

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self.rows: dict[int, VectorRow] = {}

    def create(self) -> None: ...

    def drop(self) -> None:
        self.rows.clear()

    def add(self, rows: Sequence[VectorRow]) -> None:
        for row in rows:
            if row.vector.shape != (self.dimension,) or not np.isfinite(row.vector).all():
                raise ValueError("not a vector of this index")
        self.rows |= {row.key: row for row in rows}

    def remove(self, keys: Iterable[int]) -> None:
        for key in keys:
            self.rows.pop(key, None)

    def nearest(
        self,
        guild: int | None,
        vector: Vector,
        k: int,
        *,
        channels: Collection[int] | None = None,
        exclude: Collection[int] = (),
    ) -> list[VectorHit]:
        found = [
            VectorHit(row.key, float(row.vector @ vector))
            for row in self.rows.values()
            if (guild is None or guild_of(row.key) == guild)
            and (channels is None or row.channel in channels)
            and row.key not in exclude
        ]
        return sorted(found, key=lambda hit: (-hit.cosine, hit.key))[:k]

    def vectors(self, keys: Sequence[int]) -> dict[int, Vector]:
        return {key: self.rows[key].vector for key in keys if key in self.rows}

    def count(self, guild: int | None = None) -> int:
        return sum(guild is None or guild_of(key) == guild for key in self.rows)

    def keys(self, after: int = -1, limit: int = 1000) -> list[int]:
        return sorted(key for key in self.rows if key > after)[:limit]

    def prepare(self, seconds: float) -> bool:
        return True


def stored(space_id: int) -> VectorIndex:
    """The index of the storage that the suite runs on."""
    made = PgVectorIndex if connection.vendor == "postgresql" else SqliteVecIndex
    return made(space_id=space_id, dimension=DIMENSION)


MAKERS: dict[str, Callable[[], VectorIndex]] = {
    "stored": lambda: stored(9001),
    "exact": lambda: ExactVectorIndex(DIMENSION),
}


@pytest.fixture(params=MAKERS)
def index(request: pytest.FixtureRequest, db: None) -> VectorIndex:
    made = MAKERS[request.param]()
    made.create()
    return made


def unit(*seed: int) -> Vector:
    vector = np.random.default_rng(seed).normal(size=DIMENSION)
    return np.asarray(vector / np.linalg.norm(vector), np.float32)


def key(guild: int, number: int) -> int:
    return key_range(guild)[0] + number


def fill(index: VectorIndex, guild: int, count: int, channels: int = 4) -> list[VectorRow]:
    rows = [VectorRow(key(guild, n), CHANNEL + n % channels, unit(guild, n)) for n in range(1, count + 1)]
    index.add(rows)
    return rows


def test_finds_the_nearest_of_one_guild_best_first(index: VectorIndex) -> None:
    rows = fill(index, 1, 300)
    fill(index, 2, 300)
    question = unit(7)
    expected = sorted(rows, key=lambda row: -float(row.vector @ question))[:10]
    hits = index.nearest(1, question, 10)
    assert [hit.key for hit in hits] == [row.key for row in expected]
    assert [hit.cosine for hit in hits] == pytest.approx(
        [float(row.vector @ question) for row in expected], abs=1e-5
    )


def test_nearer_vectors_of_other_guilds_take_no_places(index: VectorIndex) -> None:
    question = unit(1)
    index.add([VectorRow(key(2, n), CHANNEL, question) for n in range(1, 200)])
    index.add([VectorRow(key(1, 1), CHANNEL, unit(5))])
    assert [hit.key for hit in index.nearest(1, question, 5)] == [key(1, 1)]


@pytest.mark.parametrize("readable", [1, 2, 50])
def test_filters_by_channel_before_it_ranks(index: VectorIndex, readable: int) -> None:
    rows = fill(index, 1, 400, channels=100)
    question = unit(3)
    channels = {CHANNEL + n for n in range(readable)}
    expected = sorted(
        (r for r in rows if r.channel in channels), key=lambda row: -float(row.vector @ question)
    )
    hits = index.nearest(1, question, 8, channels=channels)
    assert [hit.key for hit in hits] == [row.key for row in expected[:8]]


def test_no_channel_at_all_finds_nothing(index: VectorIndex) -> None:
    fill(index, 1, 10)
    assert index.nearest(1, unit(1), 5, channels=set()) == []


def test_excluded_rows_leave_their_places_to_others(index: VectorIndex) -> None:
    fill(index, 1, 50)
    question = unit(2)
    first = [hit.key for hit in index.nearest(1, question, 20)]
    assert [hit.key for hit in index.nearest(1, question, 10, exclude=set(first[:10]))] == first[10:]


def test_all_guilds_can_be_searched_at_once(index: VectorIndex) -> None:
    question = unit(1, 4)
    fill(index, 1, 20)
    fill(index, 2, 20)
    hits = index.nearest(None, question, 40)
    assert len(hits) == 40 and hits[0].key == key(1, 4)


def test_asking_for_more_than_there_is(index: VectorIndex) -> None:
    fill(index, 1, 3)
    assert len(index.nearest(1, unit(1), 100_000)) == 3
    assert index.nearest(1, unit(1), 0) == []
    assert index.nearest(77, unit(1), 5) == []


def test_adding_again_replaces(index: VectorIndex) -> None:
    index.add([VectorRow(key(1, 1), CHANNEL, unit(1)), VectorRow(key(1, 2), CHANNEL, unit(2))])
    index.add([VectorRow(key(1, 1), CHANNEL + 1, unit(3))])
    assert index.count() == 2
    assert index.nearest(1, unit(3), 1, channels={CHANNEL + 1})[0].cosine == pytest.approx(1.0, abs=1e-5)
    assert np.allclose(index.vectors([key(1, 1)])[key(1, 1)], unit(3))


def test_a_key_twice_in_one_call_counts_once(index: VectorIndex) -> None:
    index.add([VectorRow(key(1, 1), CHANNEL, unit(1)), VectorRow(key(1, 1), CHANNEL, unit(2))])
    assert index.count() == 1
    assert np.allclose(index.vectors([key(1, 1)])[key(1, 1)], unit(2))


def test_removed_rows_are_gone_and_unknown_keys_are_no_error(index: VectorIndex) -> None:
    fill(index, 1, 10)
    index.remove([key(1, 1), key(1, 2), key(5, 1)])
    assert index.count(1) == 8
    assert index.vectors([key(1, 1), key(1, 3)]).keys() == {key(1, 3)}
    assert key(1, 1) not in {hit.key for hit in index.nearest(1, unit(1, 1), 10)}


def test_counts_and_scans_keys_in_order(index: VectorIndex) -> None:
    fill(index, 2, 5)
    fill(index, 1, 5)
    assert (index.count(), index.count(1), index.count(3)) == (10, 5, 0)
    first = index.keys(limit=4)
    assert first == [key(1, n) for n in (1, 2, 3, 4)]
    assert index.keys(after=first[-1], limit=100) == [key(1, 5), *(key(2, n) for n in range(1, 6))]


@pytest.mark.parametrize(
    "wrong", [np.zeros(DIMENSION + 1, np.float32), np.full(DIMENSION, np.nan, np.float32)]
)
def test_refuses_what_is_no_vector_of_its_own_and_adds_nothing(index: VectorIndex, wrong: Vector) -> None:
    with pytest.raises(ValueError):
        index.add([VectorRow(key(1, 1), CHANNEL, unit(1)), VectorRow(key(1, 2), CHANNEL, wrong)])
    assert index.count() == 0


def test_can_be_made_twice_and_dropped_twice(index: VectorIndex) -> None:
    index.create()
    fill(index, 1, 2)
    index.create()
    assert index.count() == 2
    index.drop()
    index.drop()


def test_dropping_leaves_no_table_behind(db: None) -> None:
    index = stored(9002)
    index.create()
    fill(index, 1, 3)
    index.drop()
    assert not [name for name in connection.introspection.table_names() if name.startswith(index.table)]
