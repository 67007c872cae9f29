"""Asking for an erasure, and erasing single memories."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from memory import consent, outbox
from memory.backends import text_index
from memory.erasure import checkpoint, core_memory
from memory.erasure.running import ERASE, OPEN, work_id
from memory.erasure.steps import answers_of_others, erase_keys
from memory.models import DailyCount, ErasureRequest, Fact, GuildMember, Message, OutboxEntry, Reply
from memory.pacing import Pace
from memory.pseudonyms import subject_hash

CLEAN = "clean_files"
"""Kind of work that takes the bytes of single erased memories out of the files of a large database."""
WAIT_SECONDS = 5.0


def preview(user_id: int) -> dict[str, int]:
    """What an erasure of this person would remove, exactly, by kind."""
    messages = Message.objects.filter(member_id=user_id)
    return {
        "memories": messages.filter(is_bot=False).count(),
        "answers": messages.filter(is_bot=True).count(),
        "vectors": messages.filter(embedding=Message.Embedding.DONE).count(),
        "traces": Reply.objects.filter(asker_id=user_id).count(),
        "answers_to_others": len(answers_of_others(user_id)),
        "servers": GuildMember.objects.filter(member_id=user_id).count(),
        "days": DailyCount.objects.filter(member_id=user_id).count(),
        "facts": Fact.objects.filter(member_id=user_id).count(),
        "queued": OutboxEntry.objects.filter(user_id=user_id).count(),
        **core_memory.counts(user_id),
    }


def request(*, user_id: int, origin: str) -> ErasureRequest:
    """Ends the consent and notes the erasure, in one transaction: from then on nothing of theirs is written or recalled.

    A request that is still open is returned again. ``run`` does the work, here or in the worker.
    """
    with transaction.atomic():
        opened = ErasureRequest.objects.filter(user_id=user_id, state__in=OPEN).first()
        if opened is None:
            epoch = consent.withdraw(user_id=user_id, origin=origin)
            outbox.drop_user(user_id)
            opened = ErasureRequest.objects.create(
                subject=subject_hash(user_id),
                user_id=user_id,
                epoch=epoch,
                origin=origin,
                stage="waiting",
                total=Message.objects.filter(member_id=user_id).count(),
            )
        outbox.enqueue(ERASE, [work_id(opened)])
    return opened


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
