"""Memories that may answer a question: the best by words and the nearest by vectors, with the rows behind them."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from django.db import connection

from memory import backends
from memory.index.base import TextHit, Vector, VectorHit, VectorIndex
from memory.index.sql import among, array, first_keys, keys_from

Hit = TypeVar("Hit", TextHit, VectorHit)

DEPTH = 150
"""Candidates asked of each index."""
EPISODE_GAP = timedelta(hours=3)
"""A longer pause in a channel ends an episode."""
DEEPER = (1000, 4096)
"""Tried in turn where most of what was found must not be used (paused, or of a member whose erasure is under way)."""


class Row(NamedTuple):
    """A memory with what scoring needs of it. A tuple: hundreds are made for each question."""

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
    """Keys of the next message of the channel and of the one after it, where those may be candidates of the same episode."""
    reply_to: int | None = None
    """Discord's id of the message that it answers."""


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


@dataclass(frozen=True, slots=True)
class Hits(Generic[Hit]):
    """What an index found, best first, and how to ask it for more."""

    found: Sequence[Hit]
    search: Callable[[int], list[Hit]]

    def usable(self, rows: Collection[int]) -> list[Hit]:
        """Those that may be recalled. ``rows`` are the keys of those found that may; where they are few it looks deeper."""
        kept = [hit for hit in self.found if hit.key in rows]
        if len(self.found) < DEPTH or len(kept) >= DEPTH // 2:
            return kept
        for depth in DEEPER:
            hits = self.search(depth)
            usable = usable_keys([hit.key for hit in hits])
            kept = [hit for hit in hits if hit.key in usable]
            if len(hits) < depth or len(kept) >= DEPTH // 2:
                break
        return kept[:DEPTH]


NO_NEIGHBOURS: Hits[VectorHit] = Hits((), lambda depth: [])


def by_words(scope: Scope, words: Sequence[str]) -> Hits[TextHit]:
    index = backends.text_index()

    def search(depth: int) -> list[TextHit]:
        return index.search(scope.guild, words, depth, channels=scope.channels, exclude=scope.exclude)

    return Hits(search(DEPTH), search)


def by_vector(scope: Scope, index: VectorIndex, vector: Vector) -> Hits[VectorHit]:
    def search(depth: int) -> list[VectorHit]:
        return index.nearest(scope.guild, vector, depth, channels=scope.channels, exclude=scope.exclude)

    return Hits(search(DEPTH), search)


def gather(
    by_words: Hits[TextHit], by_vector: Hits[VectorHit], index: VectorIndex | None, vector: Vector | None
) -> Candidates:
    """The union of what may be recalled of both, with rows; the cosine of what was found by words alone is looked up."""
    rows = {row.key: row for row in load_rows(_keys(by_words.found, by_vector.found))}
    texts, nearest = by_words.usable(rows), by_vector.usable(rows)
    keys = _keys(texts, nearest)
    rows |= {row.key: row for row in load_rows(keys - rows.keys())}
    cosine = {hit.key: hit.cosine for hit in nearest}
    if index is not None and vector is not None:
        found = index.vectors([hit.key for hit in texts if hit.key not in cosine])
        cosine |= {key: float(np.dot(other, vector)) for key, other in found.items()}
    return Candidates(
        rows=_with_following([row for key, row in rows.items() if key in keys]),
        fielded={hit.key: hit.fielded for hit in texts},
        body={hit.key: hit.body for hit in texts},
        cosine=cosine,
    )


def _keys(*hits: Sequence[TextHit] | Sequence[VectorHit]) -> set[int]:
    return {hit.key for some in hits for hit in some}


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
    "SELECT later.key FROM memory_message AS later WHERE later.channel_id = message.channel_id "
    "AND (later.sent_at, later.key) > (message.sent_at, message.key) "
    "ORDER BY later.sent_at, later.key LIMIT 2"
)


def load_rows(keys: Collection[int]) -> list[Row]:
    """Rows by key, of what may be recalled; what follows them is not looked up."""
    if not keys:
        return []
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT message.key, message.discord_id, message.channel_id, channel.name, message.author_id, "
            f"message.author_name, message.text, message.captions, message.sent_at, message.reply_to {_usable_rows()}",
            (array(sorted(keys)),),
        )
        return [
            Row._make((*own, moment(sent_at), (None, None), reply_to))
            for *own, sent_at, reply_to in cursor.fetchall()
        ]


def _with_following(rows: Sequence[Row]) -> list[Row]:
    """The rows with what follows them, where another one comes soon after in the channel: of a large server most stand alone."""
    in_order = sorted(rows, key=lambda row: (row.channel_id, row.sent_at, row.key))
    keys = [
        row.key
        for row, later in pairwise(in_order)
        if row.channel_id == later.channel_id and later.sent_at - row.sent_at <= EPISODE_GAP
    ]
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT message.key, {first_keys(_FOLLOWING)} FROM {among()} "
            "CROSS JOIN memory_message AS message WHERE message.key = wanted.value",
            (array(keys),),
        )
        found = {key: keys_from(following) for key, following in cursor.fetchall()}
    for place, row in enumerate(in_order):
        if row.key in found:
            first, second, *_ = *found[row.key], None, None
            in_order[place] = row._replace(following=(first, second))
    return in_order


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
