"""What an erasure would remove, and erasing single memories at once."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from memory import outbox
from memory.backends import text_index
from memory.erasure import checkpoint, core_memory, partial
from memory.erasure.partial import indexed
from memory.erasure.parts import Part
from memory.erasure.steps import answers_of_others, erase_keys
from memory.models import DailyCount, Fact, GuildMember, Message, OutboxEntry, Reply
from memory.pacing import Pace

CLEAN = "clean_files"
"""Kind of work that takes the bytes of single erased memories out of the files of a large database."""
WAIT_SECONDS = 5.0


def preview(user_id: int, *, part: Part | None = None) -> dict[str, int]:
    """What an erasure of this person, or of a part, would remove, exactly, by kind."""
    if part is not None:
        return partial.counts(user_id, part)
    messages = Message.objects.filter(member_id=user_id)
    words, vectors = indexed(messages)
    return {
        "memories": messages.filter(is_bot=False).count(),
        "answers": messages.filter(is_bot=True).count(),
        "vectors": vectors,
        "words": words,
        "traces": Reply.objects.filter(asker_id=user_id).count(),
        "answers_to_others": len(answers_of_others(user_id)),
        "servers": GuildMember.objects.filter(member_id=user_id).count(),
        "days": DailyCount.objects.filter(member_id=user_id).count(),
        "facts": Fact.objects.filter(member_id=user_id).count(),
        "queued": OutboxEntry.objects.filter(user_id=user_id).count(),
        **core_memory.counts(user_id),
    }


def erase_messages(keys: Sequence[int]) -> int:
    """Erases single memories, with answers and traces that leaned on them; returns how many of ``keys`` there were.

    Their bytes leave the files as well: at once in a small database, by the worker in a large one.
    """
    wanted = list(dict.fromkeys(keys))
    erased = 0
    pace = Pace()
    while wanted:
        with pace.transaction() as size:
            some = wanted[:size]
            there = _there(some)
            if there:
                erase_keys(sorted(there), size, merged_later=False)
            left = _there(some)
        erased += len(there) - len(left)
        wanted = [key for key in some if key in left] + wanted[len(some) :]
    if erased:
        with transaction.atomic():
            outbox.enqueue(CLEAN, [0])
        if checkpoint.is_small() and _clean(log_seconds=1.0):
            OutboxEntry.objects.filter(kind=CLEAN).delete()
    return erased


def _there(keys: Sequence[int]) -> set[int]:
    return set(Message.objects.filter(key__in=keys).values_list("key", flat=True))


def _clean(*, log_seconds: float) -> bool:
    if transaction.get_connection().in_atomic_block:
        return False
    text_index().optimize()
    return checkpoint.clean_files(log_seconds=log_seconds)


def clean_entries(entries: Sequence[OutboxEntry]) -> None:
    """Handler of ``clean_files``."""
    if _clean(log_seconds=10.0):
        outbox.finish(entries)
    else:
        outbox.hold(entries, WAIT_SECONDS)
