"""The operator's search over memories: ranked words, or nearness in meaning; in one server or in all of them.

Pages go by score and key, so that a page stays where it is while rows before it are erased.
"""

from __future__ import annotations

import base64
import binascii
import struct
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

import numpy as np
from django.db import connection

from memory import backends
from memory.errors import InvalidInput
from memory.index import sql
from memory.index.base import Page, VectorIndex, key_range
from memory.index.terms import tokens
from memory.llm.base import Vectors
from memory.models import Guild
from memory.retrieval.vectors import active_space

Mode = Literal["keyword", "semantic"]

FEW = 5000
"""As many rows are compared one by one where filters leave no more; otherwise the index gives the nearest, filtered after."""
HORIZON = 4096
"""Nearest neighbours that the index gives at most; a search with wide filters ends there."""
WIDE = 1000
"""The same where nothing but the server limits the search, so that none of them is left out: twenty pages."""


@dataclass(frozen=True, slots=True)
class SearchHit:
    key: int
    score: float
    """Higher is better; comparable within one search only."""


@dataclass(frozen=True, slots=True)
class _Filters:
    guild: int | None
    """Ordinal."""
    channel_id: int | None
    user_id: int | None
    since: datetime | None
    until: datetime | None

    def sql(self) -> tuple[list[str], list[Any]]:
        """Conditions on ``message`` beside its guild, and their values."""
        conditions: list[str] = []
        values: list[Any] = []
        named = {
            "message.channel_id = %s": self.channel_id,
            "message.member_id = %s": self.user_id,
            "message.sent_at >= %s": _moment(self.since),
            "message.sent_at < %s": _moment(self.until),
        }
        for condition, value in named.items():
            if value is not None:
                conditions.append(condition)
                values.append(value)
        return conditions, values

    def narrow(self) -> bool:
        """Whether anything but the server limits the search."""
        return any(value is not None for value in (self.channel_id, self.user_id, self.since, self.until))


def search(
    *,
    text: str,
    mode: Mode,
    guild_id: int | None = None,
    channel_id: int | None = None,
    user_id: int | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    limit: int = 50,
    offset_cursor: str | None = None,
) -> tuple[list[SearchHit], str | None]:
    """Memories that match, best first, and the cursor of the next page (None after the last).

    Ids are Discord's, ``until`` is exclusive. ``keyword`` finds any of the words, ``semantic`` the nearest in meaning (nothing while
    no vectors are stored). Raises ``InvalidInput`` for a damaged cursor, and for ``semantic`` what the embedder raises.
    """
    after = _decode(offset_cursor) if offset_cursor else None
    guild = None
    if guild_id is not None:
        guild = Guild.objects.filter(discord_id=guild_id).values_list("ordinal", flat=True).first()
        if guild is None:
            return [], None
    if limit < 1 or not text.strip():
        return [], None
    filters = _Filters(guild, channel_id, user_id, since, until)
    find = _semantic if mode == "semantic" else _keyword
    hits = find(text, filters, limit + 1, after)
    more = len(hits) > limit
    hits = hits[:limit]
    return hits, _encode(hits[-1]) if more else None


def _keyword(text: str, filters: _Filters, limit: int, after: SearchHit | None) -> list[SearchHit]:
    words = tokens(text) or tokens(text, stop_words=frozenset())
    page = Page(*filters.sql(), after=(after.score, after.key) if after else None)
    return [SearchHit(*row) for row in backends.text_index().page(filters.guild, words, limit, page)]


def _semantic(text: str, filters: _Filters, limit: int, after: SearchHit | None) -> list[SearchHit]:
    space = active_space()
    if space is None:
        return []
    embedder = backends.embedder_of(space)
    identity = embedder.identity()
    if (identity.provider, identity.name, identity.digest) != (space.provider, space.name, space.digest):
        return []  # the model of the vectors is gone, and those of the configured one are still being made
    index = backends.vector_index(space)
    hits = _nearest(index, embedder.embed_query(text), filters)
    if after is not None:
        hits = [hit for hit in hits if (-hit.score, hit.key) > (-after.score, after.key)]
    return hits[:limit]


def _nearest(index: VectorIndex, vector: Vectors, filters: _Filters) -> list[SearchHit]:
    if filters.narrow():
        keys = _matching(filters, FEW + 1)
        if len(keys) <= FEW:
            found = index.vectors(keys)
            hits = [SearchHit(key, float(np.dot(other, vector))) for key, other in found.items()]
            return sorted(hits, key=lambda hit: (-hit.score, hit.key))
    channels = None if filters.channel_id is None else {filters.channel_id}
    most = HORIZON if filters.narrow() else WIDE
    nearest = index.nearest(filters.guild, vector, most, channels=channels)
    hits = [SearchHit(hit.key, hit.cosine) for hit in nearest]
    if not filters.narrow():
        return hits
    matching = set(_matching(filters, HORIZON, among=[hit.key for hit in hits]))
    return [hit for hit in hits if hit.key in matching]


def _matching(filters: _Filters, limit: int, among: list[int] | None = None) -> list[int]:
    conditions, values = filters.sql()
    if filters.guild is not None:
        conditions.append("message.key BETWEEN %s AND %s")
        values += key_range(filters.guild)
    source, conditions = "memory_message AS message", [*conditions, "1 = 1"]
    if among is not None:
        source = f"{sql.among()} CROSS JOIN memory_message AS message"
        conditions.append("message.key = wanted.value")
        values.insert(0, sql.array(among))
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT message.key FROM {source} WHERE {' AND '.join(conditions)} LIMIT %s", [*values, limit]
        )
        return [row[0] for row in cursor.fetchall()]


def _moment(moment: datetime | None) -> Any:
    """A time as Django writes it."""
    return None if moment is None else connection.ops.adapt_datetimefield_value(moment.astimezone(UTC))


def _encode(hit: SearchHit) -> str:
    return base64.urlsafe_b64encode(struct.pack("<dq", hit.score, hit.key)).decode().rstrip("=")


def _decode(cursor: str) -> SearchHit:
    try:
        score, key = struct.unpack("<dq", base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (ValueError, struct.error, binascii.Error) as error:
        raise InvalidInput("This page's address is damaged. Go back to the first page.") from error
    return SearchHit(key, score)
