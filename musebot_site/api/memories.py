"""Memories: browse, search, erase one."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from django.http import HttpRequest
from ninja import Field, Query, Router, Schema

from memory import erasure, errors, retrieval, selectors
from memory.models import Message
from musebot_site.api.auth import ERASE_OF_SERVERS, READ_OF_SERVERS, reaches, require_server
from musebot_site.api.schemas import REFUSALS, Cursor, Id, MemoriesOut, MemoryOut, Problem, RemovedOut, Text

router = Router(tags=["memories"])


class Filters(Schema):
    guild_id: Id | None = None
    channel_id: Id | None = None
    user_id: Id | None = None
    since: datetime | None = None
    until: datetime | None = None
    source: Annotated[str, Field(max_length=12)] = ""
    embedding: Literal["", "pending", "done", "failed", "none"] = ""
    q: Text | None = None
    mode: Literal["keyword", "semantic"] = "keyword"
    limit: Annotated[int, Field(ge=1, le=200)] = 50
    cursor: Cursor | None = None


@router.get("memories", auth=READ_OF_SERVERS, response={200: MemoriesOut, REFUSALS: Problem})
def list_memories(request: HttpRequest, filters: Query[Filters]) -> MemoriesOut:
    """Newest first; with `q` the best match first. `next_cursor` is null on the last page."""
    require_server(request, filters.guild_id)
    if filters.q:
        return _search(filters, filters.q)
    page = selectors.memories(
        selectors.MemoryFilters(
            guild_id=filters.guild_id,
            channel_id=filters.channel_id,
            user_id=filters.user_id,
            since=filters.since,
            until=filters.until,
            source=filters.source,
            embedding=filters.embedding,
        ),
        limit=filters.limit,
        cursor=filters.cursor or None,
    )
    return MemoriesOut(results=[memory_out(row) for row in page.rows], next_cursor=page.next_cursor)


def _search(filters: Filters, text: str) -> MemoriesOut:
    if filters.source or filters.embedding:
        raise errors.InvalidInput("A search with q takes no source and no embedding.", field="q")
    hits, following = retrieval.search(
        text=text,
        mode=filters.mode,
        guild_id=filters.guild_id,
        channel_id=filters.channel_id,
        user_id=filters.user_id,
        since=filters.since,
        until=filters.until,
        limit=filters.limit,
        offset_cursor=filters.cursor or None,
    )
    scores = {hit.key: hit.score for hit in hits}
    rows = selectors.memories_by_key([hit.key for hit in hits])
    return MemoriesOut(results=[memory_out(row, scores.get(row.key)) for row in rows], next_cursor=following)


@router.delete("memories/{memory_id}", auth=ERASE_OF_SERVERS, response={200: RemovedOut, REFUSALS: Problem})
def erase_memory(request: HttpRequest, memory_id: Id) -> RemovedOut:
    """Erases one memory, with its vector, its words and what leaned on it."""
    row = Message.objects.select_related("guild").filter(key=memory_id).first()
    if row is None or not reaches(request, row.guild.discord_id):
        raise errors.NotFound("There is no such memory.")
    return RemovedOut(removed=erasure.erase_messages([memory_id]))


def memory_out(row: Message, score: float | None = None) -> MemoryOut:
    return MemoryOut(
        id=row.key,
        discord_id=row.discord_id,
        guild_id=row.guild.discord_id,
        channel_id=row.channel_id,
        channel=row.channel.name,
        user_id=row.member_id,
        author_id=row.author_id,
        author=row.author_name,
        is_bot=row.is_bot,
        text=row.text,
        captions=row.captions,
        reply_to=row.reply_to,
        sent_at=row.sent_at,
        edited_at=row.edited_at,
        stored_at=row.stored_at,
        source=row.source,
        embedding=row.embedding,
        paused=row.paused,
        score=score,
    )
