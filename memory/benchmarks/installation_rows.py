"""Servers, channels, members and their memories, with words and vectors, for ``memory.benchmarks.installation``."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
from django.db import connection, transaction
from django.utils import timezone

from memory import backends
from memory.benchmarks.invented import DIMENSION, Integers, Said, Talk
from memory.index.base import VectorIndex, VectorRow, key_range
from memory.llm.local import LocalEmbedder
from memory.models import (
    Audience,
    Channel,
    DailyCount,
    EmbeddingSpace,
    Guild,
    GuildMember,
    Member,
    Message,
)
from memory.models.fast import insert_like

GUILDS = 100
DAYS = 730
BATCH = 4_000
AUDIENCES = 3
"""Who reads a channel: everybody, or one of two smaller circles."""
FIRST_GUILD = 1_100_000_000_000_000_000
FIRST_CHANNEL = 1_110_000_000_000_000_000
FIRST_MEMBER = 1_120_000_000_000_000_000
FIRST_MESSAGE = 1_130_000_000_000_000_000
VARYING = [
    "key", "channel_id", "member_id", "author_id", "author_name", "discord_id", "text", "content", "sent_at",
]  # fmt: skip

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Place:
    """A server that is being filled."""

    guild: Guild
    channels: Integers
    members: Integers
    """Numbers of its members, those who write most first."""
    size: int


def fill(rows: int, members: int, progress: Progress) -> None:
    _members(members)
    talk = Talk()
    space, index = _space()
    stored = 0
    for number, size in enumerate(sizes(rows)):
        place = _place(number, size, members, talk)
        for first in range(0, size, BATCH):
            count = min(BATCH, size - first)
            _store(place, talk.say(count), first, space, index, talk)
            if (stored + count) // 50_000 > stored // 50_000:
                progress(f"stored {stored + count:,} of {rows:,} memories")
            stored += count
        _count(place)


def sizes(rows: int) -> list[int]:
    """Memories of each server: the biggest of a hundred has nearly a fifth of all."""
    shares = 1 / np.arange(1, min(GUILDS, rows) + 1)
    found = np.maximum((shares / shares.sum() * rows).astype(int), 1)
    found[0] += rows - found.sum()
    return [int(size) for size in found if size > 0]


def member_id(number: int) -> int:
    return FIRST_MEMBER + int(number)


def name_of(number: int) -> str:
    return f"Person {int(number)}"


def _members(count: int) -> None:
    began = datetime(2024, 1, 1, tzinfo=UTC)
    template = Member(consented_at=began, notice_version="benchmark", origin="sample")
    values = [
        (
            member_id(n),
            f"person{n}",
            name_of(n),
            str((began + timedelta(minutes=20 * n)).replace(tzinfo=None)),
        )
        for n in range(count)
    ]
    with transaction.atomic():
        insert_like(template, ["user_id", "username", "display_name", "consented_at"], values)


def _space() -> tuple[EmbeddingSpace, VectorIndex]:
    """The space of the built-in embedder, so that a worker that runs on this installation builds no other."""
    identity = LocalEmbedder().identity()
    space = EmbeddingSpace.objects.create(
        provider=identity.provider,
        name=identity.name,
        digest=identity.digest,
        dimension=DIMENSION,
        state=EmbeddingSpace.State.ACTIVE,
    )
    index = backends.vector_index(space)
    index.create()
    return space, index


def _place(number: int, size: int, members: int, talk: Talk) -> Place:
    guild = Guild.objects.create(
        discord_id=FIRST_GUILD + number, name=f"Server {number}", snapshot_at=timezone.now()
    )
    audiences = [
        Audience.objects.create(guild=guild, digest=f"{number}-{n}", readers=_readers(n))
        for n in range(AUDIENCES)
    ]
    channels = FIRST_CHANNEL + number * 1_000 + np.arange(max(2, min(40, size // 500)))
    Channel.objects.bulk_create(
        Channel(
            discord_id=int(one),
            guild=guild,
            name=f"channel-{n}",
            # Every sixth is for a smaller circle.
            audience=audiences[1 + n % 2 if n % 6 == 5 else 0],
        )
        for n, one in enumerate(channels)
    )
    count = min(members, max(3, size // 25))
    own = np.sort(talk.chance.choice(members, count, replace=False))
    return Place(guild, channels, talk.chance.permutation(own), size)


def _readers(circle: int) -> bytes:
    """Everybody, or the first part of them: who reads the smaller circles' channels reads the common ones, too."""
    return np.arange(1, 1 + (3_000 >> circle), dtype="<u8").tobytes()


def _store(
    place: Place, said: Said, first: int, space: EmbeddingSpace, index: VectorIndex, talk: Talk
) -> None:
    count = len(said.texts)
    guild = place.guild
    keys = key_range(guild.ordinal)[0] + 1 + first + np.arange(count)
    channels = place.channels[_skewed(len(place.channels), count, talk)]
    authors = place.members[_skewed(len(place.members), count, talk)]
    start = datetime(2024, 1, 1, tzinfo=UTC).timestamp()
    moments = start + (first + np.sort(talk.chance.random(count) * count)) / place.size * DAYS * 86_400
    sent = np.datetime_as_string((moments * 1e6).astype("datetime64[us]"), unit="us")
    rows = []
    for key, channel, author, text, at in zip(
        keys.tolist(), channels.tolist(), authors.tolist(), said.texts, sent.tolist(), strict=True
    ):
        owner, message, at = member_id(author), FIRST_MESSAGE + key % (1 << 40) + (guild.ordinal << 32), at
        content = _content(message, author, owner, text, at, channel, guild)
        rows.append(
            (key, channel, owner, owner, name_of(author), message, text, content, at.replace("T", " "))
        )
    template = Message(
        guild=guild,
        text="",
        sent_at=timezone.now(),
        stored_at=timezone.now(),
        source="live",
        embedding=Message.Embedding.DONE,
        space=space,
    )
    vectors = [VectorRow(*one) for one in zip(keys.tolist(), channels.tolist(), said.vectors, strict=True)]
    with transaction.atomic():
        insert_like(template, VARYING, rows)
        backends.text_index().add(keys.tolist())
        index.add(vectors)


def _content(message: int, author: int, owner: int, text: str, at: str, channel: int, guild: Guild) -> str:
    """The record in the shape that capture gives it."""
    return json.dumps(
        {
            "messageId": str(message),
            "username": f"person{author}",
            "displayName": name_of(author),
            "userId": str(owner),
            "isBot": False,
            "message": text,
            "datetime": f"{at[:23]}Z",
            "roles": [],
            "channel": {"id": str(channel), "name": f"channel-{channel % 1_000}"},
            "thread": None,
            "server": {"id": str(guild.discord_id), "name": guild.name},
            "attachments": [],
        }
    )


def _skewed(size: int, count: int, talk: Talk) -> Integers:
    """Places in a list of which the first is taken most."""
    found: Integers = (size * talk.chance.random(count) ** 2.5).astype(int)
    return found


def _count(place: Place) -> None:
    """The counts that capture keeps, and the next message's number."""
    guild = place.guild
    first, last = key_range(guild.ordinal)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "SELECT member_id, channel_id, substr(sent_at, 1, 10), count(*) FROM memory_message "
            "WHERE key BETWEEN %s AND %s GROUP BY 1, 2, 3",
            (first, last),
        )
        members: Counter[int] = Counter()
        channels: Counter[int] = Counter()
        days: Counter[tuple[str, int]] = Counter()
        for member, channel, day, count in cursor.fetchall():
            members[member] += count
            channels[channel] += count
            days[day, member] += count
        insert_like(
            GuildMember(guild=guild),
            ["member_id", "username", "display_name", "message_count"],
            [_named(member, count) for member, count in members.items()],
        )
        insert_like(
            DailyCount(guild=guild, day=timezone.now().date()),
            ["day", "member_id", "count"],
            [(day, member, count) for (day, member), count in days.items()],
        )
        _add(cursor, "memory_member", "user_id", members)
        _add(cursor, "memory_channel", "discord_id", channels)
        Guild.objects.filter(pk=guild.pk).update(message_count=place.size, next_sequence=place.size + 1)


def _named(member: int, count: int) -> tuple[int, str, str, int]:
    number = member - FIRST_MEMBER
    return member, f"person{number}", name_of(number), count


def _add(cursor: object, table: str, key: str, counts: Counter[int]) -> None:
    statement = f"UPDATE {table} SET message_count = message_count + %s WHERE {key} = %s"
    cursor.executemany(statement, [(count, one) for one, count in counts.items()])  # type: ignore[attr-defined]
