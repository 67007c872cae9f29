"""A trace as it is shown: the reply with the messages it leaned on, as they are now."""

from __future__ import annotations

import uuid
from typing import Any

from memory.chat.cited import passages_of
from memory.chat.prompt import line_of
from memory.errors import NotFound
from memory.models import Channel, Message, Reply, ReplyBlock, ReplyContext, ReplyFact, ReplyMemory


def trace(trace_id: str) -> dict[str, Any]:
    """The reply, its memories with line, scores and why they were left out, and its timings in milliseconds; JSON-ready.

    Ids of Discord are strings. Raises ``NotFound``.
    """
    try:
        row_id = uuid.UUID(trace_id)
    except ValueError:
        raise NotFound("There is no reply with this id.") from None
    reply = Reply.objects.select_related("guild").filter(id=row_id).first()
    if reply is None:
        raise NotFound("There is no reply with this id; it may have been erased with the member who asked.")
    channel = Channel.objects.filter(discord_id=reply.channel_id).first() if reply.channel_id else None
    return {
        "trace_id": str(reply.id),
        "state": reply.state,
        "kind": reply.kind,
        "origin": reply.origin,
        "created_at": reply.created_at.isoformat(),
        "guild_id": str(reply.guild.discord_id) if reply.guild else None,
        "guild_name": reply.guild.name if reply.guild else "",
        "channel_id": _text(reply.channel_id),
        "channel_name": channel.name if channel else "",
        "asker_id": _text(reply.asker_id),
        "trigger_id": _text(reply.trigger_id),
        "question": _message(reply.question_id),
        "answer": _message(reply.answer_id),
        "model": reply.model,
        "host": reply.host,
        "prompt_tokens": reply.prompt_tokens,
        "reply_tokens": reply.reply_tokens,
        "timings": reply.timings,
        "cut": reply.cut,
        "degraded": reply.degraded,
        "error": reply.error,
        "blocks": _blocks(reply),
        "facts": _facts(reply),
        "citations": passages_of(reply),
        "memories": [_memory(use) for use in _uses(reply)],
        "context": _context(reply),
    }


def _uses(reply: Reply) -> list[ReplyMemory]:
    uses = ReplyMemory.objects.filter(reply=reply, message__member__withdrawn_at=None)
    return list(uses.select_related("message__channel").order_by("rank"))


def _context(reply: Reply) -> list[str]:
    """Ids of the messages that stood before the question in the prompt, oldest first."""
    rows = ReplyContext.objects.filter(reply=reply, message__member__withdrawn_at=None)
    keys = rows.order_by("message__sent_at", "message_id").values_list("message_id", flat=True)
    return [str(key) for key in keys]


def _facts(reply: Reply) -> list[dict[str, Any]]:
    """Facts that were in the prompt, with the words of today; those that were forgotten or have expired are gone."""
    uses = ReplyFact.objects.filter(reply=reply, fact__member__withdrawn_at=None).exclude(fact__text="")
    return [
        {"id": str(use.fact_id), "text": use.fact.text, "state": use.fact.state}
        for use in uses.select_related("fact").order_by("fact__created_at", "fact_id")
    ]


def _blocks(reply: Reply) -> list[dict[str, Any]]:
    """Blocks that were in the prompt, with their version then; their text is where they are."""
    uses = ReplyBlock.objects.filter(reply=reply).select_related("block").order_by("id")
    return [
        {
            "id": str(use.block_id),
            "label": use.block.label,
            "version": use.version,
            "private": use.block.private,
        }
        for use in uses
    ]


def _message(key: int | None) -> dict[str, Any] | None:
    if key is None:
        return None
    row = Message.objects.filter(key=key, member__withdrawn_at=None).first()
    if row is None:
        return None
    return {
        "id": str(row.key),
        "message_id": _text(row.discord_id),
        "author": row.author_name,
        "author_id": str(row.author_id),
        "sent_at": row.sent_at.isoformat(),
        "text": row.text,
    }


def _memory(use: ReplyMemory) -> dict[str, Any]:
    row = use.message
    text = f"{row.text} [image: {row.captions}]".strip() if row.captions else row.text
    return {
        "rank": use.rank,
        "id": str(row.key),
        "message_id": _text(row.discord_id),
        "line": line_of(sent_at=row.sent_at, author=row.author_name, text=text),
        "text": row.text,
        "author": row.author_name,
        "author_id": str(row.author_id),
        "channel_id": str(row.channel_id),
        "channel_name": row.channel.name,
        "sent_at": row.sent_at.isoformat(),
        "score": use.score,
        "scores": use.scores,
        "injected": use.injected,
        "why_excluded": use.why_excluded,
    }


def _text(number: int | None) -> str | None:
    return None if number is None else str(number)
