"""The graph of a large guild on PostgreSQL: built beside everything else, used where it helps, and right where it would not."""

from __future__ import annotations

import numpy as np
import pytest
from django.db import connection

from memory import embedding, outbox, tasks
from memory.index import pgvector
from memory.index.base import Vector, VectorRow, key_range
from memory.index.pgvector import PgVectorIndex
from memory.models import Channel, EmbeddingSpace, Guild, OutboxEntry
from tests.factories import ChannelFactory, GuildFactory

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "postgresql", reason="pgvector's graphs"),
]

DIMENSION = 32
ROWS = 600


@pytest.fixture
def space() -> EmbeddingSpace:
    return EmbeddingSpace.objects.create(provider="hash", dimension=DIMENSION, state="active")


@pytest.fixture
def index(space: EmbeddingSpace, monkeypatch: pytest.MonkeyPatch) -> PgVectorIndex:
    monkeypatch.setattr(pgvector, "GRAPH_ROWS", 500)
    made = PgVectorIndex(space.pk, DIMENSION)
    made.create()
    return made


def unit(seed: int) -> Vector:
    vector = np.random.default_rng(seed).normal(size=DIMENSION)
    return np.asarray(vector / np.linalg.norm(vector), np.float32)


@pytest.fixture
def guild(index: PgVectorIndex) -> Guild:
    """A large one: most of it in one channel, a few rows in another."""
    guild = GuildFactory(message_count=ROWS)
    loud = ChannelFactory(guild=guild, message_count=ROWS - 20)
    quiet = ChannelFactory(guild=guild, message_count=20)
    first = key_range(guild.ordinal)[0]
    index.add(
        [
            VectorRow(first + n, (quiet if n % 30 == 0 else loud).discord_id, unit(n))
            for n in range(1, ROWS + 1)
        ]
    )
    return guild


def exact(index: PgVectorIndex, guild: Guild, question: Vector, k: int) -> list[int]:
    keys = index.keys(key_range(guild.ordinal)[0], ROWS)
    cosine = {key: float(vector @ question) for key, vector in index.vectors(keys).items()}
    return sorted(cosine, key=lambda key: -cosine[key])[:k]


def test_a_worker_builds_it_once_a_guild_is_large(index: PgVectorIndex, guild: Guild) -> None:
    small = GuildFactory(message_count=100)
    assert index.large_guilds() == [guild.ordinal] and index.graphs(fresh=True) == frozenset()
    embedding.note_large_guilds()
    embedding.note_large_guilds()
    assert OutboxEntry.objects.filter(kind=embedding.PREPARE).count() == 1
    tasks.work_through(embedding.PREPARE)
    assert index.graphs(fresh=True) == {guild.ordinal} and small.ordinal not in index.graphs()
    assert not OutboxEntry.objects.exists() and index.large_guilds() == []
    embedding.note_large_guilds()
    assert outbox.due_kinds() == []


def test_it_gives_the_nearest_with_their_own_cosine(index: PgVectorIndex, guild: Guild) -> None:
    assert index.prepare(10.0)
    right = 0
    for seed in range(900, 920):
        question = unit(seed)
        hits = index.nearest(guild.ordinal, question, 10)
        expected = exact(index, guild, question, 10)
        right += len({hit.key for hit in hits} & set(expected))
        vectors = index.vectors([hit.key for hit in hits])
        assert [hit.cosine for hit in hits] == pytest.approx(
            [float(vectors[hit.key] @ question) for hit in hits], abs=1e-5
        )
    assert right >= 196


def test_the_plan_uses_it(index: PgVectorIndex, guild: Guild) -> None:
    assert index.prepare(10.0)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    calls: list[str] = []
    real = index._compare
    index._compare = lambda *given: calls.append("compared") or real(*given)  # type: ignore[method-assign,func-returns-value]
    assert len(index.nearest(guild.ordinal, unit(1), 10)) == 10 and calls == []
    # All of a guild is more than a graph gives: then every row is compared.
    assert len(index.nearest(guild.ordinal, unit(1), 4096)) == ROWS and calls == ["compared"]


def test_few_channels_are_compared_row_by_row_and_are_right(index: PgVectorIndex, guild: Guild) -> None:
    assert index.prepare(10.0)
    quiet = Channel.objects.get(guild=guild, message_count=20)
    question = unit(5000)
    first = key_range(guild.ordinal)[0]
    mine = [first + n for n in range(1, ROWS + 1) if n % 30 == 0]
    cosine = {key: float(vector @ question) for key, vector in index.vectors(mine).items()}
    hits = index.nearest(guild.ordinal, question, 5, channels={quiet.discord_id})
    assert [hit.key for hit in hits] == sorted(cosine, key=lambda key: -cosine[key])[:5]


def test_what_is_excluded_or_removed_is_not_given(index: PgVectorIndex, guild: Guild) -> None:
    assert index.prepare(10.0)
    question = unit(77)
    first = [hit.key for hit in index.nearest(guild.ordinal, question, 4)]
    assert first[0] == key_range(guild.ordinal)[0] + 77
    index.remove(first[:2])
    hits = [hit.key for hit in index.nearest(guild.ordinal, question, 4, exclude={first[2]})]
    assert not set(hits) & set(first[:3]) and hits[0] == first[3]


def test_rows_that_come_later_are_found(index: PgVectorIndex, guild: Guild) -> None:
    assert index.prepare(10.0)
    key = key_range(guild.ordinal)[0] + ROWS + 1
    index.add([VectorRow(key, 1, unit(4242))])
    assert index.nearest(guild.ordinal, unit(4242), 1)[0].key == key
