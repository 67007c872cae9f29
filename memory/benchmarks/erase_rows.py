"""Memories for ``benchmark erase``: servers of very different sizes in which one member wrote a tenth of everything."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta

import numpy as np
from django.db import transaction
from django.utils import timezone

from memory import backends, counters
from memory.benchmarks.people import FIRST_MESSAGE, START, WORDS, member
from memory.capture import content, places
from memory.index.base import GUILD_SHIFT, VectorIndex, VectorRow
from memory.llm.base import Vectors
from memory.models import EmbeddingSpace, Guild, GuildMember, Message, Reply, ReplyContext, ReplyMemory
from memory.models.fast import insert
from memory.types import ChannelInfo, GuildInfo, IncomingMessage, Person

GUILDS = 100
CHANNELS = 10
OTHERS = 200
DIMENSION = 512
BATCH = 2_000
MESSAGES_A_REPLY = 200
MEMORIES_A_REPLY = 5
MARK = "quixotarium"
"""Every message of the one who is erased has a word that begins so, and nobody else's has."""

SOMEONE = 1_210_000_000_000_000_000
"""Who has a tenth of all messages."""

Progress = Callable[[str], None]


def fill(rows: int, progress: Progress = lambda message: None) -> Person:
    """Stores ``rows`` messages with words, vectors and some replies that leaned on them; returns who has a tenth of them.

    Rows and indexes are those that capture and the worker leave behind. Vectors are random, which costs an index the same.
    """
    someone = member(0)
    others = [member(number) for number in range(1, OTHERS + 1)]
    space = EmbeddingSpace.objects.create(
        provider="benchmark", dimension=DIMENSION, state=EmbeddingSpace.State.ACTIVE
    )
    index = backends.vector_index(space)
    index.create()
    chance = np.random.default_rng(1)
    stored = 0
    for ordinal, size in enumerate(_sizes(rows)):
        said = _said(someone, others, ordinal, range(stored, stored + size))
        while some := list(itertools.islice(said, BATCH)):
            with transaction.atomic():
                _store(some, space, index, _vectors(len(some), chance))
            stored += len(some)
            if stored % 50_000 < len(some):
                progress(f"stored {stored:,} of {rows:,}")
    _reply(rows)
    return someone


def _vectors(count: int, chance: np.random.Generator) -> Vectors:
    vectors = chance.standard_normal((count, DIMENSION), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def _store(
    said: Sequence[IncomingMessage], space: EmbeddingSpace, index: VectorIndex, vectors: Vectors
) -> None:
    guild = places.upsert_guild(said[0].guild)
    for channel in {one.channel for one in said}:
        places.upsert_channel(guild, channel)
    for user_id in {one.author.id for one in said}:
        GuildMember.objects.get_or_create(guild=guild, member_id=user_id)
    begin = guild.next_sequence
    Guild.objects.filter(pk=guild.pk).update(next_sequence=begin + len(said))
    now = timezone.now()
    rows = [
        Message(
            key=(guild.ordinal << GUILD_SHIFT) + begin + place,
            guild_id=guild.ordinal,
            channel_id=one.channel.id,
            member_id=one.author.id,
            author_id=one.author.id,
            author_name=one.author.display_name,
            discord_id=one.id,
            text=one.text,
            content=content.record(one, text=one.text, known=set()),
            sent_at=one.sent_at,
            stored_at=now,
            source="import",
            embedding=Message.Embedding.DONE,
            space_id=space.pk,
        )
        for place, one in enumerate(said)
    ]
    insert(rows)
    backends.text_index().add([row.key for row in rows])
    index.add([VectorRow(row.key, row.channel_id, vector) for row, vector in zip(rows, vectors, strict=True)])
    counters.change(
        (counters.Counted(row.guild_id, row.channel_id, row.member_id, row.sent_at) for row in rows), by=1
    )


def _said(
    someone: Person, others: Sequence[Person], ordinal: int, numbers: range
) -> Iterator[IncomingMessage]:
    """The messages of one server."""
    chance = random.Random(ordinal)
    guild = GuildInfo(1_200_000_000_000_001_000 + ordinal, f"Server {ordinal}")
    first = 1_200_000_000_000_100_000 + ordinal * 100
    channels = [ChannelInfo(first + place, f"channel-{place}") for place in range(CHANNELS)]
    for number in numbers:
        own = number % 10 == 0
        words = chance.choices(WORDS, k=chance.randint(8, 24))
        if own:
            words.insert(chance.randrange(len(words)), f"{MARK}{number % 997}")
        yield IncomingMessage(
            id=FIRST_MESSAGE + number,
            guild=guild,
            channel=chance.choice(channels),
            author=someone if own else chance.choice(others),
            text=f"{' '.join(words)} {number}",
            sent_at=START + timedelta(seconds=30 * number),
        )


def _sizes(rows: int) -> list[int]:
    """Of ``GUILDS`` servers, after Zipf."""
    shares = 1 / np.arange(1, min(GUILDS, rows) + 1)
    sizes = [max(1, int(share)) for share in shares / shares.sum() * rows]
    sizes[0] += rows - sum(sizes)
    return sizes


def _reply(rows: int) -> None:
    """Answers to others, each of which leaned on some memories of whoever said something in that server, after ten messages more."""
    chance = random.Random(2)
    keys = list(Message.objects.order_by("key").values_list("key", flat=True))
    for place in range(0, len(keys) - MESSAGES_A_REPLY, MESSAGES_A_REPLY):
        near = keys[place : place + MESSAGES_A_REPLY]
        with transaction.atomic():
            reply = Reply.objects.create(state=Reply.State.DONE, kind="model")
            ReplyMemory.objects.bulk_create(
                ReplyMemory(reply=reply, message_id=key, rank=rank, score=1.0)
                for rank, key in enumerate(chance.sample(near, MEMORIES_A_REPLY), 1)
            )
            ReplyContext.objects.bulk_create(ReplyContext(reply=reply, message_id=key) for key in near[-10:])
