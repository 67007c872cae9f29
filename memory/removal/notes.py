"""Notes lose what came from messages that are removed: entries of the archive go, blocks lose the lines.

A revision of a block knows the message, the turn or the session that it came from. The lines that it added are taken out of it
and of every later one, and so are lines that took the place of one of them: whoever wrote those had it before them. Lines that
stood there before stay.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Q, QuerySet
from django.db.models.expressions import RawSQL
from django.utils import timezone

from memory.index import archival
from memory.index.sql import among, among_texts, array
from memory.models import ArchivalEntry, BlockRevision, MemoryBlock
from memory.removal.batches import listed

STRUCK = "erase"


@dataclass(frozen=True, slots=True)
class Source:
    """A message that notes may have come from."""

    key: int
    channel_id: int
    member_id: int


def strike_sources(sources: Sequence[Source]) -> Counter[str]:
    """Takes out what came from these messages, in the caller's transaction; counts rows by store."""
    if not any(_has_notes(model, owner, sources) for model, owner in OWNERS):
        return Counter()
    keys = listed([one.key for one in sources])
    return _strike(
        BlockRevision.objects.filter(Q(source_message_id__in=keys) | Q(pk__in=_of_sessions(sources))),
        ArchivalEntry.objects.filter(Q(source_message_id__in=keys) | Q(pk__in=_entries(sources))),
    )


def strike_turns(replies: Collection[UUID]) -> Counter[str]:
    """Takes out what a model noted in these turns, found by the ids of its calls."""
    return _strike(
        BlockRevision.objects.filter(pk__in=noted_in(BlockRevision, replies)),
        ArchivalEntry.objects.filter(pk__in=noted_in(ArchivalEntry, replies)),
    )


def noted_in(model: type[BlockRevision] | type[ArchivalEntry], replies: Collection[UUID]) -> RawSQL:
    """Keys of the rows that were written by calls of these turns: the id of a call begins with that of its turn."""
    return RawSQL(
        f"SELECT noted.id FROM {among_texts('turn')} JOIN {model._meta.db_table} AS noted "
        "ON noted.tool_call_id >= turn.value || ':' AND noted.tool_call_id < turn.value || ';'",
        [array(str(one) for one in replies)],
    )


OWNERS = ((BlockRevision, "actor"), (ArchivalEntry, "member_id"))


def _has_notes(
    model: type[BlockRevision] | type[ArchivalEntry], owner: str, sources: Sequence[Source]
) -> bool:
    """A look that costs little: most messages leave no notes."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT EXISTS (SELECT 1 FROM {model._meta.db_table} WHERE source_message_id IN "
            f"(SELECT value FROM {among()})) OR EXISTS (SELECT 1 FROM {model._meta.db_table} "
            f"WHERE source_channel_id IS NOT NULL AND {owner} IN (SELECT value FROM {among()}))",
            [array(one.key for one in sources), array({one.member_id for one in sources})],
        )
        return bool(cursor.fetchone()[0])


def strike(revisions: QuerySet[BlockRevision]) -> int:
    """Takes out what these revisions brought; returns how many blocks changed."""
    return _strike(revisions, ArchivalEntry.objects.none())["blocks"]


def _strike(revisions: QuerySet[BlockRevision], entries: QuerySet[ArchivalEntry]) -> Counter[str]:
    ids = list(entries.values_list("pk", flat=True))
    if ids:
        archival.remove(ids)
        ArchivalEntry.objects.filter(pk__in=ids).delete()
    by_block: dict[int, set[int]] = defaultdict(set)
    for block_id, version in revisions.values_list("block_id", "version"):
        by_block[block_id].add(version)
    changed = sum(_strike_block(block_id, versions) for block_id, versions in by_block.items())
    return +Counter(archive=len(ids), blocks=changed)


def _of_sessions(sources: Sequence[Source]) -> list[int]:
    rows = BlockRevision.objects.filter(
        actor__in={one.member_id for one in sources}, source_channel_id__isnull=False
    )
    return _spanning(
        rows.values_list("pk", "actor", "source_channel_id", "source_first", "source_last"), sources
    )


def _entries(sources: Sequence[Source]) -> list[int]:
    rows = ArchivalEntry.objects.filter(
        member_id__in={one.member_id for one in sources}, source_channel_id__isnull=False
    )
    return _spanning(
        rows.values_list("pk", "member_id", "source_channel_id", "source_first", "source_last"), sources
    )


def _spanning(rows: Iterable[tuple[Any, ...]], sources: Sequence[Source]) -> list[int]:
    """Those rows (key, member, channel, first, last) whose session holds one of the messages."""
    keys: dict[tuple[int, int], list[int]] = defaultdict(list)
    for one in sources:
        keys[one.member_id, one.channel_id].append(one.key)
    return [row[0] for row in rows if any(row[3] <= key <= row[4] for key in keys.get((row[1], row[2]), ()))]


def _strike_block(block_id: int, versions: set[int]) -> bool:
    block = MemoryBlock.objects.filter(pk=block_id).first()
    if block is None:
        return False
    rows = list(BlockRevision.objects.filter(block_id=block_id).order_by("version"))
    struck = struck_lines([Step(row.version, row.value, row.action, row.version in versions) for row in rows])
    for row in rows:
        value = without(row.value, struck)
        if value != row.value or row.version in versions:
            # The reason was written by whoever wrote the lines.
            reason = "" if row.version in versions else row.reason
            BlockRevision.objects.filter(pk=row.pk).update(value=value, reason=reason)
    value = without(block.value, struck)
    if value == block.value:
        return False
    # A new version, so that nobody who has the old text before them can write it back unnoticed.
    MemoryBlock.objects.filter(pk=block_id).update(
        value=value, version=block.version + 1, updated_at=timezone.now()
    )
    BlockRevision.objects.create(
        block=block,
        version=block.version + 1,
        value=value,
        action=STRUCK,
        actor_kind=BlockRevision.Actor.ERASURE,
    )
    return True


@dataclass(frozen=True, slots=True)
class Step:
    """A version of a block: its text, and whether what it brought is to go."""

    version: int
    value: str
    action: str
    goes: bool


def struck_lines(steps: Sequence[Step]) -> frozenset[str]:
    """Lines to take out of a block; ``steps`` are its versions, oldest first. Older ones than the first may be gone."""
    struck: set[str] = set()
    clean: set[str] = set()
    before: list[str] = []
    for number, step in enumerate(steps):
        lines = [line for line in step.value.split("\n") if line.strip()]
        added = list((Counter(lines) - Counter(before)).elements())
        if not number and step.version > 1 and step.action == "append":
            added = lines[-1:]
        gone = struck.intersection(before).difference(lines)
        if step.goes or gone:
            struck.update(line for line in added if line not in clean)
        clean.update(line for line in lines if line not in struck)
        before = lines
    return frozenset(struck)


def without(value: str, struck: frozenset[str]) -> str:
    """The text less these lines."""
    if not struck:
        return value
    return "\n".join(line for line in value.split("\n") if line not in struck)
