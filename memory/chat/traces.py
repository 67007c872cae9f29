"""The record of every turn: begun before anything is sent, written when the model is done, read with the words of today.

A trace names memories by key and holds no text, so what is erased is gone from every trace as well.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone

from memory import consent, facts, removal
from memory.chat.cited import record_passages
from memory.chat.context import Context
from memory.consent import Consent
from memory.errors import InvalidInput
from memory.models import Fact, Guild, Message, Reply, ReplyContext, ReplyFact, ReplyMemory
from memory.models.fast import get, insert
from memory.types import RecalledMemory, TurnRequest, TurnResult

logger = logging.getLogger(__name__)

MAX_LEFT_OUT = 25


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A reply that was begun and never finished: its process ended in between."""

    trace_id: str
    trigger_id: int
    channel_id: int | None
    guild_id: int | None
    """Discord's id of the server; None where the server is not stored."""


@dataclass(frozen=True, slots=True)
class Served:
    """Who answered, and at what cost."""

    host: str = ""
    prompt_tokens: int = 0
    reply_tokens: int = 0


def begin(request: TurnRequest) -> str | None:
    """Notes that a message is about to be answered; call it before anything is sent.

    Returns the id of its trace, the same one while the reply is pending, and None if that message was already answered. Raises
    ``InvalidInput`` for a request without a message.
    """
    if request.message_id is None:
        raise InvalidInput("Only a message can be answered once: the request has no message_id.")
    try:
        with transaction.atomic():
            existing = get(Reply, trigger_id=request.message_id)
            if existing is None:
                existing = Reply.objects.create(
                    trigger_id=request.message_id, **_who_and_where(request, consent.find(request.asker.id))
                )
    except IntegrityError:  # another process was faster
        existing = Reply.objects.get(trigger_id=request.message_id)
    return str(existing.id) if existing.state == Reply.State.PENDING else None


def finish(trace_id: str, *, question_key: int | None, answer_key: int | None, state: str) -> None:
    """Notes that a reply was sent (``done``) or could not be (``failed``), and which messages were stored for it."""
    if state not in {Reply.State.DONE, Reply.State.FAILED}:
        raise InvalidInput(f"A reply ends as done or failed, not as {state!r}.")
    with transaction.atomic():
        keys = {key for key in (question_key, answer_key) if key is not None}
        stored = _stored_keys(keys)
        if state == Reply.State.DONE and question_key in stored:
            facts.enqueue(Message.objects.get(key=question_key))
        if answer_key in stored and not Reply.objects.filter(id=_row_id(trace_id)).exists():
            # What it leaned on was erased while it was being sent, and its trace with that.
            removal.remove([answer_key])
            return
        Reply.objects.filter(id=_row_id(trace_id)).update(
            state=state,
            question_id=question_key if question_key in stored else None,
            answer_id=answer_key if answer_key in stored else None,
        )


def unfinished(*, within: timedelta) -> list[Unfinished]:
    """Replies to messages that were begun in this time and never finished, oldest first."""
    rows = Reply.objects.filter(
        state=Reply.State.PENDING, trigger_id__isnull=False, created_at__gte=timezone.now() - within
    ).order_by("created_at", "id")
    return [
        Unfinished(str(id_), trigger_id, channel_id, guild_id)
        for id_, trigger_id, channel_id, guild_id in rows.values_list(
            "id", "trigger_id", "channel_id", "guild__discord_id"
        )
        if trigger_id is not None
    ]


def record(
    request: TurnRequest,
    result: TurnResult,
    *,
    served: Served,
    asker: Consent | None,
    begun: bool,
    said: Context = Context(),
) -> None:
    """Writes what a turn did, in one transaction. Whoever was erased meanwhile does not appear in it. ``said`` is the conversation
    that was in the prompt.

    A reply that was begun stays pending until ``finish``; one that was not is done here.
    """
    values: dict[str, Any] = {
        "kind": result.kind,
        "model": result.model[:200],
        "host": served.host[:200],
        "prompt_tokens": served.prompt_tokens,
        "reply_tokens": served.reply_tokens,
        "timings": {name: round(value, 2) for name, value in result.timings.items()},
        "cut": {name: count for name, count in result.cut.items() if count},
        "degraded": result.recall.degraded[:40],
        "error": result.error[:40],
    }
    row_id = _row_id(result.trace_id)
    with transaction.atomic():
        if begun:
            # Gone if its asker's data was erased meanwhile; then it stays gone.
            if not Reply.objects.filter(id=row_id).update(**values):
                return
            if asker is None or consent.find(asker.user_id) != asker:
                Reply.objects.filter(id=row_id).update(asker_id=None)
        else:
            state = Reply.State.FAILED if result.kind == "error" else Reply.State.DONE
            current = asker if asker and consent.find(asker.user_id) == asker else None
            Reply.objects.create(id=row_id, state=state, **_who_and_where(request, current), **values)
        _record_memories(
            row_id,
            result.recall.memories,
            result.recall.left_out[:MAX_LEFT_OUT],
            answered=result.kind != "error",
        )
        _record_facts(row_id, result.fact_ids)
        _record_context(row_id, said)
        record_passages(row_id, result)


def _record_facts(row_id: uuid.UUID, fact_ids: Sequence[int]) -> None:
    ReplyFact.objects.filter(reply_id=row_id).delete()
    there = Fact.objects.filter(id__in=fact_ids, member__withdrawn_at=None)
    ReplyFact.objects.bulk_create(
        ReplyFact(reply_id=row_id, fact_id=one) for one in there.order_by("id").values_list("id", flat=True)
    )


def _record_context(row_id: uuid.UUID, said: Context) -> None:
    """Messages that stood in the conversation before the question: keys only, and only of what is stored."""
    stored = _stored_keys(said.message_keys())
    if ids := said.discord_ids():
        rows = Message.objects.filter(discord_id__in=ids, member__withdrawn_at=None)
        stored.update(rows.values_list("key", flat=True))
    ReplyContext.objects.filter(reply_id=row_id).delete()
    insert([ReplyContext(reply_id=row_id, message_id=key) for key in sorted(stored)])


def _record_memories(
    row_id: uuid.UUID,
    injected: Sequence[RecalledMemory],
    left_out: Sequence[RecalledMemory],
    *,
    answered: bool,
) -> None:
    considered = {memory.key: memory for memory in (*left_out, *injected)}  # one row a memory, injected wins
    ordered = [memory for memory in (*injected, *left_out) if considered[memory.key] is memory]
    stored = _stored_keys(considered)
    used_before = set(
        ReplyMemory.objects.filter(reply_id=row_id, injected=True).values_list("message_id", flat=True)
    )
    ReplyMemory.objects.filter(reply_id=row_id).delete()
    used = {memory.key for memory in injected} & stored
    insert(
        [
            ReplyMemory(
                reply_id=row_id,
                message_id=memory.key,
                rank=rank,
                score=memory.score,
                scores=dict(memory.scores),
                injected=memory.key in used,
                why_excluded="" if memory.key in used else memory.why_excluded[:20],
            )
            for rank, memory in enumerate(ordered, 1)
            if memory.key in stored
        ]
    )
    # A turn that is done again after a crash counts once; what led to no answer was not used.
    if not answered:
        return
    Message.objects.filter(key__in=used - used_before).update(
        times_used=F("times_used") + 1, last_used_at=timezone.now()
    )


def _stored_keys(keys: Any) -> set[int]:
    """Which of these messages are still there, their owners not about to be erased."""
    rows = Message.objects.filter(key__in=list(keys), member__withdrawn_at=None)
    return set(rows.values_list("key", flat=True))


def _who_and_where(request: TurnRequest, asker: Consent | None) -> dict[str, Any]:
    guild = get(Guild, discord_id=request.guild.id) if request.guild else None
    return {
        "guild": guild,
        "channel_id": request.channel.id if request.channel else None,
        "asker_id": asker.user_id if asker else None,
        "origin": (request.origin or ("dashboard" if request.operator else "discord"))[:12],
    }


def _row_id(trace_id: str) -> uuid.UUID:
    try:
        return uuid.UUID(trace_id)
    except ValueError as error:
        raise InvalidInput("A trace id is a UUID, as begin() returns it.") from error
