"""Memories as pages, by key, and all that match a filter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet

from memory.models import Message, ReplyMemory
from memory.selectors.paging import Page, keyset_page


@dataclass(frozen=True, slots=True)
class MemoryFilters:
    """What to show; ids are Discord's, ``user_id`` is the member it belongs to, ``until`` is exclusive."""

    guild_id: int | None = None
    channel_id: int | None = None
    user_id: int | None = None
    since: datetime | None = None
    until: datetime | None = None
    source: str = ""
    embedding: str = ""
    stored_before: datetime | None = None
    """Leaves out what came later, so that what was counted is what is acted on."""


def memories(filters: MemoryFilters, *, limit: int = 50, cursor: str | None = None) -> Page[Message]:
    """Newest first. Raises ``InvalidInput`` for a damaged cursor."""
    rows = _matching(filters).select_related("guild", "channel", "member").defer("content")
    return keyset_page(rows, moment="sent_at", key="key", limit=limit, cursor=cursor)


def memories_by_key(keys: Sequence[int]) -> list[Message]:
    """In the order of ``keys``; those that are gone are left out."""
    found = Message.objects.select_related("guild", "channel", "member").defer("content").in_bulk(list(keys))
    return [found[key] for key in keys if key in found]


def memory(key: int) -> Message | None:
    return Message.objects.select_related("guild", "channel", "member", "space").filter(key=key).first()


def uses(key: int, *, limit: int = 10) -> list[ReplyMemory]:
    """The latest replies that a memory was put into."""
    rows = ReplyMemory.objects.filter(message_id=key, injected=True).select_related(
        "reply", "reply__question"
    )
    return list(rows.order_by("-reply__created_at")[:limit])


def count_matching(filters: MemoryFilters) -> int:
    """The exact number. It reads an index over all that match, so pages ask for it only when somebody wants it."""
    return _matching(filters).count()


def keys_matching(filters: MemoryFilters, *, batch: int = 500) -> Iterator[list[int]]:
    """Keys of all that match, in batches; safe to use while the rows of earlier batches are being removed."""
    after = -1
    while True:
        rows = _matching(filters).filter(key__gt=after).order_by("key")
        keys = list(rows.values_list("key", flat=True)[:batch])
        if not keys:
            return
        yield keys
        after = keys[-1]


def _matching(filters: MemoryFilters) -> QuerySet[Message]:
    rows = Message.objects.all()
    if filters.guild_id is not None:
        rows = rows.filter(guild__discord_id=filters.guild_id)
    if filters.channel_id is not None:
        rows = rows.filter(channel_id=filters.channel_id)
    if filters.user_id is not None:
        rows = rows.filter(member_id=filters.user_id)
    if filters.since is not None:
        rows = rows.filter(sent_at__gte=filters.since)
    if filters.until is not None:
        rows = rows.filter(sent_at__lt=filters.until)
    if filters.source:
        rows = rows.filter(source=filters.source)
    if filters.embedding:
        rows = rows.filter(embedding=filters.embedding)
    if filters.stored_before is not None:
        rows = rows.filter(stored_at__lte=filters.stored_before)
    return rows
