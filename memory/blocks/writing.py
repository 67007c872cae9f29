"""Changes of blocks. Each is one transaction: the row where its version is still the one that was read, and its revision.

``append`` and ``replace`` read again and apply themselves again where somebody was faster; everything else gets a conflict with
the current value. Nothing is ever cut to fit.
"""

from __future__ import annotations

from collections.abc import Callable

from django.db import transaction
from django.db.models import F, Max
from django.utils import timezone

from memory import consent
from memory.blocks.errors import Ambiguous, BlockConflict, Empty, OverLimit, ReadOnly, Refused, TextNotFound
from memory.blocks.reading import where
from memory.blocks.text import normal, occurrences
from memory.blocks.types import HUMAN, MAX_LIMIT, PERSONA, Actor, Block, BlockRef, Written
from memory.errors import InvalidInput, NotFound
from memory.models import BlockRevision, MemoryBlock, Message, Scope

ATTEMPTS = 3
KEPT_REVISIONS = 200
MAX_APPEND = 1000


class _Raced(Exception):
    """The row changed between reading and writing."""


def append(ref: BlockRef, content: str, *, actor: Actor) -> Written:
    """Adds a line at the end. Raises ``Empty``, ``OverLimit`` and what every change does."""
    line = normal(content).strip()
    if not line:
        raise Empty()
    if len(line) > MAX_APPEND:
        raise OverLimit.of(len(line), MAX_APPEND)
    return _change(ref, lambda value: f"{value}\n{line}" if value else line, actor=actor, action="append")


def replace(ref: BlockRef, old_text: str, new_text: str, *, actor: Actor) -> Written:
    """Puts another text in the place of one that stands there exactly once; an empty one deletes it."""
    old, new = normal(old_text), normal(new_text)
    if not old.strip():
        raise Empty("Give the old text that is to be replaced.")

    def changed(value: str) -> str:
        count = occurrences(value, old)
        if not count:
            raise TextNotFound()
        if count > 1:
            raise Ambiguous(count=count)
        return value.replace(old, new)

    return _change(ref, changed, actor=actor, action="replace")


def rethink(ref: BlockRef, new_content: str, *, version: int, actor: Actor) -> Written:
    """Writes the block anew. Raises ``BlockConflict`` if ``version`` is not the current one."""
    return _change(ref, lambda _: normal(new_content), actor=actor, action="rethink", version=version)


def edit(ref: BlockRef, value: str, *, version: int, actor: Actor, action: str = "edit") -> Written:
    """What a person wrote in the dashboard or sent to the API. Raises as ``rethink``."""
    return _change(ref, lambda _: normal(value), actor=actor, action=action, version=version)


def clear(ref: BlockRef, *, actor: Actor) -> bool:
    """Empties a block whatever its version is; False if there was nothing in it."""
    row = MemoryBlock.objects.filter(**where(ref)).first()
    if row is None or not row.value:
        return False
    _change(ref, lambda _: "", actor=actor, action="clear")
    return True


def restore(block_id: int, *, to: int, version: int, actor: Actor) -> Written:
    """Brings back what the block held in version ``to`` (0 is empty), as a new version.

    A member may do so in their own ``human``, an admin everywhere. Raises ``NotFound``, ``Refused``, ``BlockConflict``.
    """
    row = MemoryBlock.objects.filter(pk=block_id).first()
    if row is None:
        raise NotFound("There is no such block.")
    ref = Block.of(row).ref
    own = ref.scope == Scope.USER and ref.label == HUMAN and ref.key == actor.id
    if actor.kind != "admin" and not (actor.kind == "user" and own):
        raise Refused("Only the member whose block it is, or an admin, can undo here.")
    old = BlockRevision.objects.filter(block=row, version=to).values_list("value", flat=True).first()
    if old is None and to != 0:
        raise NotFound("That version is not kept any more.")
    value = old or ""
    return _change(ref, lambda _: value, actor=actor, action="undo", version=version)


def undo(ref: BlockRef, *, actor: Actor) -> Written:
    """Brings back the version before the current one."""
    row = MemoryBlock.objects.filter(**where(ref)).first()
    if row is None or not row.version:
        raise NotFound("There is nothing to undo.")
    return restore(row.pk, to=row.version - 1, version=row.version, actor=actor)


def set_limit(ref: BlockRef, limit: int) -> None:
    """For admins. Raises ``OverLimit`` where the text is longer than that, ``InvalidInput`` beyond the largest limit."""
    if not 1 <= limit <= MAX_LIMIT:
        raise InvalidInput(f"A limit is a number from 1 to {MAX_LIMIT:,}.")
    with transaction.atomic():
        row = _row(ref)
        if len(row.value) > limit:
            raise OverLimit.of(len(row.value), limit)
        MemoryBlock.objects.filter(pk=row.pk).update(limit=limit)


def _change(
    ref: BlockRef,
    changed: Callable[[str], str],
    *,
    actor: Actor,
    action: str,
    version: int | None = None,
) -> Written:
    if ref.label == PERSONA and actor.kind != "admin":
        raise Refused("The persona is written by admins. It can only be proposed to them.")
    for _ in range(ATTEMPTS):
        try:
            with transaction.atomic():
                return _once(ref, changed, actor=actor, action=action, version=version)
        except _Raced:
            continue
    row = MemoryBlock.objects.get(**where(ref))
    raise BlockConflict(Block.of(row))


def _once(
    ref: BlockRef, changed: Callable[[str], str], *, actor: Actor, action: str, version: int | None
) -> Written:
    if actor.consent is not None:
        consent.require(actor.consent)
    if actor.call_id and (first := _first_result(actor.call_id)):
        return first
    row = _row(ref)
    if version is not None and version != row.version:
        raise BlockConflict(Block.of(row))
    if row.read_only and actor.kind != "admin":
        raise ReadOnly()
    value = changed(row.value)
    if len(value) > row.limit:
        raise OverLimit.of(len(value), row.limit)
    if value == row.value:
        return Written(row.label, row.version, len(value), row.limit)
    now = timezone.now()
    updated = MemoryBlock.objects.filter(pk=row.pk, version=row.version).update(
        value=value, version=F("version") + 1, updated_at=now
    )
    if not updated:
        raise _Raced
    _note(row, value, actor=actor, action=action)
    return Written(row.label, row.version + 1, len(value), row.limit)


def _row(ref: BlockRef) -> MemoryBlock:
    row, _ = MemoryBlock.objects.get_or_create(
        **where(ref),
        defaults={"limit": ref.default_limit, "member_id": ref.key if ref.scope == Scope.USER else None},
    )
    return row


def _note(row: MemoryBlock, value: str, *, actor: Actor, action: str) -> None:
    source = actor.source_message
    if source is not None and not Message.objects.filter(pk=source).exists():
        source = None
    BlockRevision.objects.create(
        block=row,
        version=row.version + 1,
        value=value,
        action=action,
        actor_kind="undo" if action == "undo" else actor.kind,
        # An admin's number must not be taken for a member's id.
        actor=None if action == "undo" and actor.kind == "admin" else actor.id,
        reason=normal(actor.reason)[:300],
        source_message_id=source,
        source_channel_id=actor.session.channel_id if actor.session else None,
        source_first=actor.session.first if actor.session else None,
        source_last=actor.session.last if actor.session else None,
        tool_call_id=actor.call_id or None,
    )
    old = BlockRevision.objects.filter(block=row, version__lte=row.version + 1 - KEPT_REVISIONS)
    if old.exists():
        # The last one of everybody who had a part in a shared block stays: an erasure finds them by it.
        last = BlockRevision.objects.filter(block=row).values("actor").annotate(version=Max("version"))
        old.exclude(version__in=[one["version"] for one in last]).delete()


def _first_result(call_id: str) -> Written | None:
    done = BlockRevision.objects.select_related("block").filter(tool_call_id=call_id).first()
    if done is None:
        return None
    return Written(done.block.label, done.version, len(done.value), done.block.limit)
