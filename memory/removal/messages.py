"""Messages and everything that is kept of them; each function works in the caller's transaction."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import connection

from memory import counters
from memory.backends import text_index, vector_index
from memory.index.base import VectorIndex
from memory.models import ArchivalEntry, EmbeddingSpace, Member, MemoryBlock, Message, OutboxEntry, Scope
from memory.models.locks import locked
from memory.removal import notes
from memory.removal.batches import delete, listed

BATCH = 500
"""Messages to remove in one transaction, so that the one writer is never held for long."""

WORK_ON_MESSAGES = ("embed", "enrich", "extract")
"""Kinds of work whose subject is the key of a message."""


def vector_indexes() -> list[VectorIndex]:
    """The indexes of all spaces: a vector of an older model is no less personal than one of today's."""
    return [vector_index(space) for space in EmbeddingSpace.objects.all()]


def remove_core_memory(channel_ids: Sequence[int]) -> None:
    """Removes the sessions of channels that are gone, and what members' archives learned there, in the caller's transaction."""
    MemoryBlock.objects.filter(scope=Scope.SESSION, scope_key__in=channel_ids).delete()
    # Their words and vectors go with them (see ``memory.apps``).
    ArchivalEntry.objects.filter(channel_id__in=channel_ids).delete()


def remove(keys: Sequence[int], *, merged_later: bool = False) -> int:
    """Removes messages (some hundreds at most), inside the caller's transaction; returns how many there were.

    What was noted from them goes as well, where that is known (see ``memory.removal.notes``). Traces that name them lose the line.
    Keys that are not there are no error. ``merged_later``: as in ``TextIndex.remove``.
    """
    if not connection.in_atomic_block:
        raise RuntimeError(
            "Messages are removed inside a transaction, or a crash leaves their vectors behind."
        )
    found = Message.objects.filter(key__in=listed(keys))
    if connection.vendor != "sqlite":
        list(locked(Member.objects.filter(user_id__in=found.values("member_id")).order_by("user_id")))
    # Nobody may write a vector of theirs, or remove them too, before this is through.
    rows = list(
        locked(found.order_by("key")).values_list("key", "guild_id", "channel_id", "member_id", "sent_at")
    )
    there = [row[0] for row in rows]
    if not there:
        return 0
    notes.strike_sources([notes.Source(row[0], row[2], row[3]) for row in rows])
    # The words are derived from the rows, so they go first.
    text_index().remove(there, merged_later=merged_later)
    for index in vector_indexes():
        index.remove(there)
    counters.change((counters.Counted(*row[1:]) for row in rows), by=-1)
    OutboxEntry.objects.filter(kind__in=WORK_ON_MESSAGES, subject__in=listed(there)).delete()
    delete(Message, there)
    return len(there)
