"""Memories that may answer a question: the best by words and the nearest by vectors, with the rows behind them."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from typing import Any, TypeVar

import numpy as np
from django.db import connection

from memory import backends
from memory.index.base import TextHit, Vector, VectorHit, VectorIndex
from memory.index.sql import among, array

Hit = TypeVar("Hit", TextHit, VectorHit)

DEPTH = 200
"""Candidates asked of each index."""
DEPTHS = (DEPTH, 1000, 4096)
"""Tried in turn where most of what was found must not be used (paused, or of a member whose erasure is under way)."""


@dataclass(frozen=True, slots=True)
class Row:
    """A memory with what scoring needs of it."""

    key: int
    discord_id: int | None
    channel_id: int
    channel_name: str
    author_id: int
    author_name: str
    text: str
    captions: str
    sent_at: datetime
    following: tuple[int | None, int | None]
    """Keys of the next message of the channel and of the one after it."""
    reply_to: int | None = None
    """Discord's id of the message that it answers."""


_OWN_FIELDS = [each.name for each in fields(Row)][:8]


@dataclass(frozen=True, slots=True)
class Candidates:
    rows: Sequence[Row] = ()
    fielded: Mapping[int, float] = field(default_factory=dict)
    body: Mapping[int, float] = field(default_factory=dict)
    cosine: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Scope:
    """Where to look: a guild (by its ordinal), the channels that may be used (None for all), keys to leave out."""

    guild: int
    channels: Collection[int] | None = None
    exclude: frozenset[int] = frozenset()


def by_words(scope: Scope, words: Sequence[str]) -> list[TextHit]:
    index = backends.text_index()
    return _usable(
        lambda depth: index.search(scope.guild, words, depth, channels=scope.channels, exclude=scope.exclude)
    )


def by_vector(scope: Scope, index: VectorIndex, vector: Vector) -> list[VectorHit]:
    return _usable(
        lambda depth: index.nearest(
            scope.guild, vector, depth, channels=scope.channels, exclude=scope.exclude
        )
    )


def gather(
    texts: Sequence[TextHit], nearest: Sequence[VectorHit], index: VectorIndex | None, vector: Vector | None
) -> Candidates:
    """The union of both, with rows; the cosine of what was found by words alone is looked up."""
    cosine = {hit.key: hit.cosine for hit in nearest}
    if index is not None and vector is not None:
        missing = [hit.key for hit in texts if hit.key not in cosine]
        found = index.vectors(missing)
        cosine |= {key: float(np.dot(other, vector)) for key, other in found.items()}
    keys = {hit.key for hit in texts} | {hit.key for hit in nearest}
    return Candidates(
        rows=load_rows(keys),
        fielded={hit.key: hit.fielded for hit in texts},
        body={hit.key: hit.body for hit in texts},
        cosine=cosine,
    )


def _usable(search: Callable[[int], list[Hit]]) -> list[Hit]:
    kept: list[Hit] = []
    for depth in DEPTHS:
        hits = search(depth)
        usable = usable_keys([hit.key for hit in hits])
        kept = [hit for hit in hits if hit.key in usable]
        if len(hits) < depth or len(kept) >= DEPTH // 2:
            break
    return kept[:DEPTH]


_USABLE = (
    "FROM {among} CROSS JOIN memory_message AS message "
    "JOIN memory_member AS member ON member.user_id = message.member_id "
    "JOIN memory_channel AS channel ON channel.discord_id = message.channel_id "
    "WHERE message.key = wanted.value AND NOT message.paused AND member.withdrawn_at IS NULL AND channel.deleted_at IS NULL"
)


def _usable_rows() -> str:
    return _USABLE.format(among=among())


def usable_keys(keys: Collection[int]) -> set[int]:
    """Those of the keys that may be recalled: not paused, of a member who has not withdrawn, in a channel that is there."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT message.key {_usable_rows()}", (array(sorted(keys)),))
        return {row[0] for row in cursor.fetchall()}


def keys_of(discord_ids: Collection[int]) -> frozenset[int]:
    """Keys of messages by Discord's ids."""
    if not discord_ids:
        return frozenset()
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT message.key FROM {among()} "
            "CROSS JOIN memory_message AS message WHERE message.discord_id = wanted.value",
            (array(sorted(discord_ids)),),
        )
        return frozenset(row[0] for row in cursor.fetchall())


_FOLLOWING = (
    "(SELECT later.key FROM memory_message AS later WHERE later.channel_id = message.channel_id "
    "AND (later.sent_at, later.key) > (message.sent_at, message.key) "
    "ORDER BY later.sent_at, later.key LIMIT 1 OFFSET {})"
)


def load_rows(keys: Collection[int]) -> list[Row]:
    """Rows by key, with the two messages that follow each in its channel."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT message.key, message.discord_id, message.channel_id, channel.name, message.author_id, "
            "message.author_name, message.text, message.captions, message.sent_at, message.reply_to, "
            f"{_FOLLOWING.format(0)}, {_FOLLOWING.format(1)} {_usable_rows()}",
            (array(sorted(keys)),),
        )
        return [_row(*values) for values in cursor.fetchall()]


def _row(*values: Any) -> Row:
    *own, sent_at, reply_to, following, second = values
    named = dict(zip(_OWN_FIELDS, own, strict=True))
    return Row(**named, sent_at=moment(sent_at), following=(following, second), reply_to=reply_to)


def load_contents(keys: Collection[int]) -> dict[int, dict[str, object]]:
    """The full records (``Message.content``) of those that have one."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT message.key, message.content FROM {among()} "
            "CROSS JOIN memory_message AS message WHERE message.key = wanted.value",
            (array(sorted(keys)),),
        )
        return {
            key: value
            for key, text in cursor.fetchall()
            if isinstance(value := json.loads(text), dict) and value
        }


def moment(value: str | datetime) -> datetime:
    """A time as the database gives it without Django: text, in UTC."""
    parsed = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
