"""Everything that is stored of a member, as JSON: for the member, and for whoever answers their request."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from django.utils import timezone

from memory.errors import NotFound
from memory.models import (
    ConsentEvent,
    DailyCount,
    ErasureRequest,
    GuildMember,
    Member,
    Message,
    OutboxEntry,
    Reply,
    ReplyMemory,
)
from memory.pseudonyms import subject_hash

FORMAT = "musebot-export-1"
CHUNK = 500


def member_json(user_id: int) -> Iterator[str]:
    """The export in pieces that make up one JSON object, read from the database as it goes. Raises ``NotFound``.

    Ids of Discord, and keys, are strings: JSON's numbers do not hold them exactly everywhere.
    """
    member = Member.objects.filter(user_id=user_id).first()
    if member is None:
        raise NotFound("Nothing is stored of this person: they have not opted in.")
    return _pieces(member)


def member_data(user_id: int) -> dict[str, Any]:
    """The same as one value."""
    data: dict[str, Any] = json.loads("".join(member_json(user_id)))
    return data


def _pieces(member: Member) -> Iterator[str]:
    head = {
        "format": FORMAT,
        "exported_at": timezone.now(),
        "user_id": str(member.user_id),
        "member": _member(member),
    }
    yield _dump(head)[:-1]
    for name, rows in _sections(member).items():
        yield f', "{name}": ['
        for index, row in enumerate(rows):
            yield (", " if index else "") + _dump(row)
        yield "]"
    yield "}"


def _sections(member: Member) -> dict[str, Iterable[Mapping[str, Any]]]:
    subject = subject_hash(member.user_id)
    return {
        "consent": ConsentEvent.objects.filter(subject=subject)
        .order_by("id")
        .values("action", "at", "notice_version", "origin"),
        "servers": _servers(member),
        "memories": _memories(member),
        "replies": _replies(member),
        "days": _days(member),
        "work": OutboxEntry.objects.filter(user_id=member.user_id)
        .order_by("id")
        .values("kind", "state", "attempts", "due_at", "error_code", "created_at"),
        "erasures": ErasureRequest.objects.filter(subject=subject)
        .order_by("received_at")
        .values("origin", "state", "received_at", "finished_at", "counts"),
    }


def _member(member: Member) -> dict[str, Any]:
    return {
        "username": member.username,
        "display_name": member.display_name,
        "consented_at": member.consented_at,
        "notice_version": member.notice_version,
        "origin": member.origin,
        "paused_at": member.paused_at,
        "withdrawn_at": member.withdrawn_at,
        "message_count": member.message_count,
        "last_message_at": member.last_message_at,
    }


def _servers(member: Member) -> Iterator[dict[str, Any]]:
    for row in GuildMember.objects.filter(member=member).select_related("guild").order_by("id"):
        yield {
            "guild_id": str(row.guild.discord_id),
            "name": row.guild.name,
            "kind": row.guild.kind,
            "username": row.username,
            "display_name": row.display_name,
            "memories": row.message_count,
        }


def _memories(member: Member) -> Iterator[dict[str, Any]]:
    rows = Message.objects.filter(member=member).select_related("guild", "channel", "space").order_by("key")
    for row in rows.iterator(chunk_size=CHUNK):
        yield {
            "id": str(row.key),
            "discord_id": _text(row.discord_id),
            "guild_id": str(row.guild.discord_id),
            "channel_id": str(row.channel_id),
            "channel": row.channel.name,
            "author": row.author_name,
            "author_id": str(row.author_id),
            "is_bot": row.is_bot,
            "reply_to": _text(row.reply_to),
            "text": row.text,
            "captions": row.captions,
            "content": row.content,
            "sent_at": row.sent_at,
            "edited_at": row.edited_at,
            "stored_at": row.stored_at,
            "source": row.source,
            "paused": row.paused,
            "embedding": row.embedding,
            "embedding_model": str(row.space) if row.space else None,
            "times_used": row.times_used,
            "last_used_at": row.last_used_at,
        }


def _replies(member: Member) -> Iterator[dict[str, Any]]:
    """Traces of the questions they asked, with the memories that were considered, by id."""
    rows = Reply.objects.filter(asker_id=member.user_id).select_related("guild").order_by("created_at")
    for row in rows.iterator(chunk_size=CHUNK):
        considered = ReplyMemory.objects.filter(reply=row).order_by("rank", "id")
        yield {
            "trace_id": str(row.id),
            "guild_id": str(row.guild.discord_id) if row.guild else None,
            "channel_id": _text(row.channel_id),
            "question": _text(row.question_id),
            "answer": _text(row.answer_id),
            "kind": row.kind,
            "model": row.model,
            "created_at": row.created_at,
            "memories": [
                {"id": str(key), "score": score, "injected": injected}
                for key, score, injected in considered.values_list("message_id", "score", "injected")
            ],
        }


def _days(member: Member) -> Iterator[dict[str, Any]]:
    rows = DailyCount.objects.filter(member=member).select_related("guild").order_by("day", "id")
    for row in rows.iterator(chunk_size=CHUNK):
        yield {"day": row.day.isoformat(), "guild_id": str(row.guild.discord_id), "memories": row.count}


def _text(value: int | None) -> str | None:
    return None if value is None else str(value)


def _dump(value: Any) -> str:
    return json.dumps(value, default=_plain, ensure_ascii=False)


def _plain(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
