"""Replies that the bot gave."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from django.db.models import Count, Q, QuerySet

from memory.models import Reply, ReplyMemory
from memory.selectors.paging import Page, keyset_page


@dataclass(frozen=True, slots=True)
class ReplyFilters:
    guild_id: int | None = None
    user_id: int | None = None
    kind: str = ""
    origin: str = ""


def replies(filters: ReplyFilters, *, limit: int = 50, cursor: str | None = None) -> Page[Reply]:
    """Newest first; each row has ``injected``, the number of memories it was given."""
    rows: QuerySet[Reply] = Reply.objects.select_related("guild", "question", "answer", "question__member")
    if filters.guild_id is not None:
        rows = rows.filter(guild__discord_id=filters.guild_id)
    if filters.user_id is not None:
        rows = rows.filter(asker_id=filters.user_id)
    if filters.kind:
        rows = rows.filter(kind=filters.kind)
    if filters.origin:
        rows = rows.filter(origin=filters.origin)
    page = keyset_page(rows, moment="created_at", key="id", limit=limit, cursor=cursor, key_type=uuid.UUID)
    ids = [row.id for row in page.rows]
    injected = dict(
        ReplyMemory.objects.filter(reply_id__in=ids, injected=True)
        .values_list("reply_id")
        .annotate(number=Count("id"))
        .order_by()
    )
    for row in page.rows:
        row.injected = injected.get(row.id, 0)  # type: ignore[attr-defined]
    return page


def reply(trace_id: uuid.UUID) -> Reply | None:
    rows = Reply.objects.select_related("guild", "question", "answer", "question__member")
    return rows.filter(id=trace_id).first()


def reply_counts() -> dict[str, int]:
    """How many replies there are of each kind; those under way have none."""
    return dict(
        Reply.objects.exclude(kind="").values_list("kind").annotate(number=Count("id")).order_by("kind")
    )


def reply_memories(trace_id: uuid.UUID) -> list[ReplyMemory]:
    """What a turn considered, best first."""
    considered = Q(reply_id=trace_id)
    return list(
        ReplyMemory.objects.filter(considered)
        .select_related("message", "message__channel")
        .order_by("rank", "id")
    )
