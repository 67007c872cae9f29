"""Memories for ``benchmark recall``: servers of very different sizes, in our indexes and in one table as the original has it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from django.db import connection, transaction
from django.utils import timezone

from memory import backends
from memory.index.base import GUILD_SHIFT, VectorIndex, VectorRow
from memory.llm.base import EmbedderIdentity, Vectors
from memory.models import Channel, EmbeddingSpace, Guild, GuildMember, Member, Message

GUILDS = 100
DIMENSION = 512
BATCH = 2000
WORDS_A_MESSAGE = 12
IDENTITY = EmbedderIdentity("hash", "benchmark", "1", DIMENSION)
ORIGINAL = "benchmark_original"
START = datetime(2024, 1, 1, tzinfo=UTC)

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Place:
    """One server: its row, and where its memories stand in the array of vectors."""

    guild: Guild
    start: int
    size: int


def fill(
    rows: int, vectors: Vectors, generator: np.random.Generator, progress: Progress
) -> tuple[list[Place], VectorIndex]:
    space = EmbeddingSpace.objects.create(
        provider=IDENTITY.provider,
        name=IDENTITY.name,
        digest=IDENTITY.digest,
        dimension=DIMENSION,
        state=EmbeddingSpace.State.ACTIVE,
    )
    index = backends.vector_index(space)
    index.create()
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE VIRTUAL TABLE {ORIGINAL} USING vec0(embedding float[{DIMENSION}])")
    member = Member.objects.create(
        user_id=1, username="somebody", consented_at=timezone.now(), notice_version="none"
    )
    places: list[Place] = []
    start = 0
    for number, size in enumerate(_zipf(rows), 1):
        guild = Guild.objects.create(discord_id=number, recall_policy=Guild.RecallPolicy.GUILD)
        channel = Channel.objects.create(discord_id=number, guild=guild)
        GuildMember.objects.create(guild=guild, member=member, username="somebody")
        place = Place(guild, start, size)
        for first in range(0, size, BATCH):
            count = min(BATCH, size - first)
            _store(place, channel, index, vectors, first, count, generator)
            progress(f"stored {start + first + count} of {rows}") if (
                start + first
            ) % 20_000 < BATCH else None
        places.append(place)
        start += size
    return places, index


def _zipf(rows: int) -> list[int]:
    shares = 1 / np.arange(1, min(GUILDS, rows) + 1)
    sizes = np.maximum((shares / shares.sum() * rows).astype(int), 1)
    sizes[0] += rows - sizes.sum()
    return [int(size) for size in sizes if size > 0]


def _store(
    place: Place,
    channel: Channel,
    index: VectorIndex,
    vectors: Vectors,
    first: int,
    count: int,
    generator: np.random.Generator,
) -> None:
    batch = unit(generator.normal(size=(count, DIMENSION)))
    vectors[place.start + first : place.start + first + count] = batch
    keys = [key_of(place, first + number) for number in range(count)]
    messages = [
        Message(
            key=key,
            guild=place.guild,
            channel=channel,
            member_id=1,
            author_id=1,
            author_name="somebody",
            text=text(generator),
            sent_at=START + timedelta(minutes=first + number),
            embedding=Message.Embedding.DONE,
        )
        for number, key in enumerate(keys)
    ]
    with transaction.atomic(), connection.cursor() as cursor:
        Message.objects.bulk_create(messages, batch_size=500)
        backends.text_index().add(keys)
        index.add(
            [VectorRow(key, channel.discord_id, vector) for key, vector in zip(keys, batch, strict=True)]
        )
        cursor.executemany(
            f"INSERT INTO {ORIGINAL}(rowid, embedding) VALUES (%s, %s)",
            [(key, vector.tobytes()) for key, vector in zip(keys, batch, strict=True)],
        )


def key_of(place: Place, number: int) -> int:
    return (place.guild.ordinal << GUILD_SHIFT) + number + 1


def text(generator: np.random.Generator) -> str:
    """Words as frequent as those of a language: the commonest are stop words, few others are frequent, many are rare."""
    numbers = [min(int(number), 20_000) for number in generator.zipf(1.3, WORDS_A_MESSAGE)]
    return " ".join("the" if number <= 10 else f"w{number}" for number in numbers)


def unit(array: Any) -> Vectors:
    return np.asarray(array / np.linalg.norm(array, axis=-1, keepdims=True), np.float32)
