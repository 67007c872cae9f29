"""The end of a session: the working context is cleared at once, what is worth keeping is worked out in the background.

Each member's part is a job of its own, so that speakers are never mixed. The mark up to which it was gone through moves in the
transaction that writes the result, and only then: what failed is done again, what succeeded never is.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from memory import backends, consent, outbox
from memory.blocks import transcript, writing
from memory.blocks.errors import BlockError, OverLimit
from memory.blocks.providers import provider
from memory.blocks.providers.base import Said, Task
from memory.blocks.types import Actor, Place, working_context
from memory.consent import Consent
from memory.errors import ConsentMissing, ModelReplyInvalid, MusebotError, StaleEpoch
from memory.llm.base import ChatMessage, ChatModel, ChatRequest
from memory.models import Channel, Consolidation, Guild, Member, Message, OutboxEntry

logger = logging.getLogger(__name__)

CONSOLIDATE = "consolidate"
"""Kind of work; the subject is the ``Consolidation``'s id."""
FIRST_LOOK = timedelta(days=2)
"""How far back the first session of somebody goes; what was imported from years ago is for recall."""
MAX_TOKENS = 2048
PAUSED_SECONDS = 600.0
LEASE = timedelta(minutes=10)
_FENCED = re.compile(r"```(?:json)?\s*(.*?)\s*```", re.DOTALL)


def end_session(channel_id: int) -> bool:
    """Clears the working context of a channel, whatever fails after that, and queues the rest; True if there was anything.

    Persona, human, archive and the conversation stay.
    """
    # Whoever did it had no part in the text, and need not have opted in: their id is not kept.
    cleared = writing.clear(working_context(channel_id), actor=Actor("user", reason="a new session"))
    try:
        queued = _queue(channel_id)
    except Exception as error:  # it must never hold up the new session
        logger.warning("a consolidation could not be queued: %s", type(error).__name__)
        queued = 0
    return cleared or queued > 0


def _queue(channel_id: int) -> int:
    """Notes a job for each member whom the bot answered in this session and who said something since it was last gone through."""
    now = timezone.now()
    earliest = now - FIRST_LOOK
    with transaction.atomic():
        answered = Message.objects.filter(
            channel_id=channel_id, is_bot=True, member__withdrawn_at=None, sent_at__gte=earliest
        )
        last = dict(answered.values_list("member_id").annotate(last=Max("key")))
        work = []
        for member in Member.objects.filter(user_id__in=last, withdrawn_at=None):
            row, new = Consolidation.objects.get_or_create(member=member, channel_id=channel_id)
            if new:
                before = Message.objects.filter(
                    member=member, channel_id=channel_id, sent_at__lt=earliest
                ).aggregate(key=Max("key"))
                row.watermark_key = before["key"] or 0
            if last[member.user_id] <= row.watermark_key:
                continue
            row.until = now
            row.save(update_fields=["until", "watermark_key"])
            work.append((row.pk, member.user_id, member.epoch))
        outbox.enqueue_many(CONSOLIDATE, work)
    return len(work)


def consolidate_entries(entries: Sequence[OutboxEntry]) -> None:
    """Handler of ``consolidate``. Whoever was erased meanwhile, or withdrew, is left alone."""
    for entry in entries:
        try:
            _one(entry)
        except (ConsentMissing, StaleEpoch):
            outbox.finish([entry])
        except OverLimit as error:
            logger.warning("a consolidation does not fit: %d", error.details.get("overage", 0))
            outbox.fail([entry], error, final=entry.attempts >= outbox.MAX_ATTEMPTS)
        except MusebotError as error:
            logger.warning("a consolidation failed: %s", error.code)
            outbox.fail([entry], error)


def _one(entry: OutboxEntry) -> None:
    row = Consolidation.objects.select_related("member").filter(pk=entry.subject).first()
    if row is None or row.member.epoch != entry.epoch or row.member.withdrawn_at is not None:
        outbox.finish([entry])
        return
    if row.member.paused_at is not None:
        outbox.hold([entry], PAUSED_SECONDS)
        return
    model = backends.chat_model()
    if model is None:  # nobody can go through it; the next session's end looks at it again
        outbox.finish([entry])
        return
    # Asked for anew meanwhile: then what is written here is the work of another lease.
    if not outbox.extend([entry], by=LEASE):
        return
    place = _place(row, Consent(row.member.user_id, entry.epoch))
    said = transcript.since(row.member.user_id, row.channel_id, after=row.watermark_key, until=row.until)
    task = provider().consolidation(place, said)
    answer = _ask(model, task) if task else {}
    more = _write(row, entry, place, said, task, answer)
    if more:
        outbox.hold([entry], 0)


def _write(
    row: Consolidation,
    entry: OutboxEntry,
    place: Place,
    said: Sequence[Said],
    task: Task | None,
    answer: dict[str, Any],
) -> bool:
    """One transaction: consent again, the result, the mark, the end of the work. True if more was said than one call takes."""
    with transaction.atomic():
        consent.require(place.consent)
        fresh = Consolidation.objects.filter(pk=row.pk, watermark_key=row.watermark_key).first()
        if fresh is None:  # another worker was faster
            return False
        if task is not None:
            try:
                task.apply(answer)
            except OverLimit:
                raise
            except BlockError as error:
                if error.code == "empty":
                    raise ModelReplyInvalid("The model's answer cannot be used.") from None
                raise
        mark = said[-1].key if said else row.watermark_key
        Consolidation.objects.filter(pk=row.pk).update(watermark_key=mark, done_at=timezone.now())
        rest = transcript.since(place.user_id, row.channel_id, after=mark, until=fresh.until)
        if not rest:
            outbox.finish([entry])
        return bool(rest)


def _place(row: Consolidation, given: Consent) -> Place:
    channel = Channel.objects.select_related("guild").filter(discord_id=row.channel_id).first()
    guild = channel.guild if channel else None
    private = guild is not None and guild.kind == Guild.Kind.DM
    return Place(given, row.channel_id, guild.discord_id if guild else 0, private)


def _ask(model: ChatModel, task: Task) -> dict[str, Any]:
    """One call outside any transaction. Raises ``ModelError``, and ``ModelReplyInvalid`` for anything but the object asked for."""
    request = ChatRequest(
        (ChatMessage("system", task.instructions), ChatMessage("user", task.material)),
        max_tokens=min(MAX_TOKENS, model.context_window // 2),
        temperature=0.0,
        response_schema=task.schema,
    )
    text, reason = "", "incomplete"
    for chunk in model.stream(request):
        text += chunk.text
        reason = chunk.done_reason if chunk.done else reason
    if reason == "length":
        raise ModelReplyInvalid("The model's answer was cut off.")
    if fenced := _FENCED.fullmatch(text.strip()):
        text = fenced[1]
    try:
        answer = json.loads(text)
    except ValueError as error:
        raise ModelReplyInvalid("The model's answer is not the JSON that was asked for.") from error
    if not isinstance(answer, dict):
        raise ModelReplyInvalid("The model's answer is not the object that was asked for.")
    return answer
