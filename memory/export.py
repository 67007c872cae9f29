"""Everything that is stored of a member, as JSON: for the member, and for whoever answers their request."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from django.utils import timezone

from memory.errors import NotFound
from memory.models import (
    ArchivalEntry,
    BlockRevision,
    ConsentEvent,
    DailyCount,
    ErasureRequest,
    Fact,
    GuildMember,
    Member,
    MemoryBlock,
    Message,
    OutboxEntry,
    PersonaProposal,
    Reply,
    ReplyMemory,
    ScanMember,
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
        "facts": _facts(member),
        "replies": _replies(member),
        "days": _days(member),
        "histories": _histories(member),
        "work": OutboxEntry.objects.filter(user_id=member.user_id)
        .order_by("id")
        .values("kind", "state", "attempts", "due_at", "error_code", "created_at"),
        **core_memory(member),
        "erasures": ErasureRequest.objects.filter(subject=subject)
        .order_by("received_at")
        .values("origin", "state", "received_at", "finished_at", "counts"),
    }


def core_memory(member: Member) -> dict[str, Iterable[Mapping[str, Any]]]:
    """Blocks with their earlier versions, the archive with what was deleted lately, and proposals."""
    blocks = MemoryBlock.objects.filter(member=member).order_by("id")
    revisions = BlockRevision.objects.filter(block__member=member).order_by("block_id", "version")
    entries = ArchivalEntry.objects.filter(member=member).order_by("id")
    return {
        "blocks": blocks.values("label", "private", "value", "limit", "version", "created_at", "updated_at"),
        "block_revisions": revisions.values(
            "block__label", "block__private", "version", "value", "action", "actor_kind", "reason", "at"
        ),
        "archive": entries.values("text", "tags", "private", "event_time", "created_at", "deleted_at"),
        "persona_proposals": PersonaProposal.objects.filter(member=member)
        .order_by("id")
        .values("value", "reason", "state", "created_at"),
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


def _facts(member: Member) -> Iterator[dict[str, Any]]:
    """Facts in every state, with their earlier wordings and the message that each came from."""
    rows = (
        Fact.objects.filter(member=member).select_related("guild").prefetch_related("versions").order_by("id")
    )
    for row in rows.iterator(chunk_size=CHUNK):
        yield {
            "id": str(row.id),
            "text": row.text,
            "namespace": row.namespace,
            "source": row.source,
            "state": row.state,
            "reason": row.reason,
            "trust": row.trust,
            "audience": row.audience,
            "guild_id": str(row.guild.discord_id) if row.guild else None,
            "evidence": _text(row.evidence_id),
            "superseded_by": _text(row.superseded_by_id),
            "said_at": row.said_at,
            "created_at": row.created_at,
            "updated_at": row.updated_at,
            "expires_at": row.expires_at,
            "versions": [
                {"text": one.text, "action": one.action, "actor": one.actor, "at": one.at}
                for one in sorted(row.versions.all(), key=lambda one: one.id)
            ],
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


def _histories(member: Member) -> Iterator[dict[str, Any]]:
    """The readings of histories that they asked for."""
    for row in ScanMember.objects.filter(member=member).select_related("scan__guild").order_by("id"):
        guild = row.scan.guild
        yield {
            "guild_id": str(guild.discord_id) if guild else None,
            "state": row.scan.state,
            "asked_at": row.joined_at,
            "finished_at": row.scan.finished_at,
            "stored": row.stored,
        }


def _text(value: int | None) -> str | None:
    return None if value is None else str(value)


def _dump(value: Any) -> str:
    return json.dumps(value, default=_plain, ensure_ascii=False)


def _plain(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
