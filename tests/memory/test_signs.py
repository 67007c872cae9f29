"""The signs beside the vectors: they find what comparing every vector finds, follow every write, and are built for an older index."""

from __future__ import annotations

import numpy as np
import pytest
from django.db import connection, transaction

from memory import embedding, outbox, tasks
from memory.benchmarks.invented import DIMENSION, Talk
from memory.index.base import Vector, VectorRow, key_range
from memory.index.signs import BLOCK, NOBODY
from memory.index.sqlite_vec import SqliteVecIndex
from memory.models import EmbeddingSpace, OutboxEntry

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(connection.vendor != "sqlite", reason="another storage has an index of its own"),
]
GUILD, CHANNEL, SPACE = 3, 1_400_000_000_000_000_000, 9003
ROWS = 6_000


@pytest.fixture(scope="module")
def said() -> tuple[Talk, np.ndarray]:
    talk = Talk(seed=11)
    return talk, talk.say(ROWS).vectors


def rows_of(vectors: np.ndarray, guild: int = GUILD, first: int = 1) -> list[VectorRow]:
    begin = key_range(guild)[0] + first
    return [VectorRow(begin + n, CHANNEL + n % 7, vector) for n, vector in enumerate(vectors)]


def indexes(vectors: np.ndarray) -> tuple[SqliteVecIndex, SqliteVecIndex]:
    """The same rows, looked for by the signs and by comparing every vector."""
    by_signs = SqliteVecIndex(SPACE, DIMENSION, small=0)
    by_signs.create()
    by_signs.add(rows_of(vectors))
    return by_signs, SqliteVecIndex(SPACE, DIMENSION, small=1 << 40)


def slots(block: int) -> tuple[np.ndarray, bytes]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT channels, bits FROM memory_signs_{SPACE} WHERE block = %s", [block])
        channels, bits = cursor.fetchone()
    return np.frombuffer(channels, "<i8"), bits


def test_a_shortlist_has_the_nearest_that_comparing_every_vector_finds(said, monkeypatch) -> None:
    talk, vectors = said
    by_signs, every = indexes(vectors)
    # A hundredth of what is there, as in a guild of a hundred and fifty thousand.
    monkeypatch.setattr("memory.index.sqlite_vec.SHORTLIST", 60)
    found = right = 0
    for number in range(0, ROWS, ROWS // 40):
        question = talk.near(vectors[number])
        expected = every.nearest(GUILD, question, 5)
        hits = by_signs.nearest(GUILD, question, 5)
        assert hits[0].key == expected[0].key
        assert [hit.cosine for hit in hits] == sorted((hit.cosine for hit in hits), reverse=True)
        found += len({hit.key for hit in hits} & {hit.key for hit in expected})
        right += 5
    assert found >= 0.97 * right


def test_channels_count_before_the_shortlist_is_made(said, monkeypatch) -> None:
    talk, vectors = said
    by_signs, every = indexes(vectors)
    monkeypatch.setattr("memory.index.sqlite_vec.SHORTLIST", 100)
    channels = {CHANNEL + 5}
    for number in range(0, ROWS, ROWS // 10):
        question = talk.near(vectors[number])
        hits = by_signs.nearest(GUILD, question, 10, channels=channels)
        expected = every.nearest(GUILD, question, 10, channels=channels)
        assert [hit.key for hit in hits[:3]] == [hit.key for hit in expected[:3]]


def test_many_rows_that_are_equally_near_do_not_make_the_shortlist_longer(said) -> None:
    _, vectors = said
    by_signs, _ = indexes(np.repeat(vectors[:1], 5_000, axis=0))
    assert len(by_signs.signs.shortlist(GUILD, vectors[0], 300, None)) == 300
    hits = by_signs.nearest(GUILD, vectors[0], 10)
    assert [hit.key for hit in hits] == [row.key for row in rows_of(vectors[:10])]


def test_what_is_removed_leaves_no_signs(said) -> None:
    _, vectors = said
    by_signs, _ = indexes(vectors[:600])
    gone = [row.key for row in rows_of(vectors[:300])]
    by_signs.remove(gone)
    first = key_range(GUILD)[0] // BLOCK
    channels, bits = slots(first + 1)  # keys 256 to 511, of which those up to 300 are gone
    words = np.frombuffer(bits, "<u8").reshape(-1, BLOCK)
    assert (channels[:45] == NOBODY).all() and not words[:, :45].any()
    assert (channels[45:] != NOBODY).all() and words[:, 45:].any()
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT block FROM memory_signs_{SPACE} WHERE block = %s", [first])
        assert cursor.fetchone() is None  # an empty block goes
    assert not set(by_signs.keys(limit=10_000)) & set(gone)


def test_signs_without_a_vector_are_shown_among_the_keys_and_can_be_removed(said) -> None:
    _, vectors = said
    by_signs, _ = indexes(vectors[:10])
    stray = rows_of(vectors[:1], first=5_000)[0]
    by_signs.signs.put([stray])
    assert stray.key in by_signs.keys(limit=100)
    by_signs.remove([stray.key])
    assert stray.key not in by_signs.keys(limit=100)


def test_signs_are_written_with_the_vectors_or_not_at_all(said) -> None:
    _, vectors = said
    by_signs, _ = indexes(vectors[:10])
    with transaction.atomic():
        by_signs.add(rows_of(vectors[10:20], first=1_000))
        transaction.set_rollback(True)
    assert len(by_signs.keys(limit=100)) == by_signs.count() == 10


def older_index(vectors: np.ndarray) -> SqliteVecIndex:
    """As it was before there were signs, with the table that the migration adds."""
    by_signs, _ = indexes(vectors)
    by_signs.signs.drop()
    by_signs.signs.create(complete=False)
    return by_signs


def nearest(index: SqliteVecIndex, question: Vector) -> list[int]:
    return [hit.key for hit in index.nearest(GUILD, question, 5)]


def test_an_older_index_is_right_before_and_gets_its_signs(said) -> None:
    talk, vectors = said
    index = older_index(vectors)
    question = talk.near(vectors[77])
    expected = nearest(SqliteVecIndex(SPACE, DIMENSION, small=1 << 40), question)
    assert nearest(index, question) == expected
    late = rows_of(vectors[:3], first=ROWS + 5)
    index.add(late)
    assert not index.prepare(0.0)
    assert index.prepare(60.0)
    assert index.signs.keys(-1, 100_000) == index.keys(limit=100_000) and index.count() == ROWS + 3
    assert index.signs.shortlist(GUILD, question, 500, None)
    assert nearest(index, question) == expected


def test_the_worker_builds_them(said, monkeypatch) -> None:
    _, vectors = said
    space = EmbeddingSpace.objects.create(
        pk=SPACE, provider="hash", dimension=DIMENSION, state=EmbeddingSpace.State.ACTIVE
    )
    index = older_index(vectors[:700])
    monkeypatch.setattr("memory.embedding.preparing.TURN_SECONDS", 0.0)
    outbox.enqueue(embedding.PREPARE, [space.pk])
    tasks.HANDLERS[embedding.PREPARE].run(outbox.claim(embedding.PREPARE, 1))
    assert OutboxEntry.objects.filter(kind=embedding.PREPARE).exists()  # it was not done in no time
    monkeypatch.setattr("memory.embedding.preparing.TURN_SECONDS", 60.0)
    assert tasks.work_through(embedding.PREPARE)
    assert not OutboxEntry.objects.filter(kind=embedding.PREPARE).exists()
    assert len(index.signs.keys(-1, 10_000)) == 700


@pytest.mark.parametrize("visible", [1, 3, 40])
def test_a_channel_of_a_few_messages_far_from_the_question_is_looked_through(said, visible: int) -> None:
    """The nearest few are asked for their channel first; where none of them may be used, all are."""
    talk, vectors = said
    by_signs, every = indexes(vectors)
    question = talk.near(vectors[0])
    farthest = [hit.key for hit in every.nearest(GUILD, question, 4096)[-visible:]]
    number = key_range(GUILD)[0] + 1
    hidden = CHANNEL + 99
    by_signs.add([VectorRow(key, hidden, vectors[key - number]) for key in farthest])
    hits = by_signs.nearest(GUILD, question, 5, channels={hidden})
    assert [hit.key for hit in hits] == farthest[:5]
