"""Blocks, their revisions and the archive of a member, and what of them stands in the sessions of others."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet

from memory import outbox, removal
from memory.erasure.needles import Needle
from memory.index import archival
from memory.models import (
    ArchivalEntry,
    BlockRevision,
    Consolidation,
    Member,
    MemoryBlock,
    PersonaProposal,
    Reply,
    Scope,
)

BATCH = 100


def archive(user_id: int, size: int) -> Counter[str]:
    """Entries of the archive; their words and vectors go with them."""
    return remove_entries(
        list(ArchivalEntry.objects.filter(_of(user_id)).values_list("pk", flat=True)[:size])
    )


def remove_entries(ids: Sequence[int]) -> Counter[str]:
    """Removes entries of the archive, in the caller's transaction."""
    archival.remove(ids)
    ArchivalEntry.objects.filter(pk__in=ids).delete()
    return +Counter(archive=len(ids))


def shared_blocks(user_id: int, size: int) -> Counter[str]:
    """Working contexts that they had a part in, with the answers that leaned on those. A session is rebuilt as it goes on."""
    from memory.erasure.steps import erase_keys

    block = _shared(user_id).order_by("pk").first()
    if block is None:
        return Counter()
    leaning = Reply.objects.filter(blocks__block=block)
    answers = list(leaning.exclude(answer=None).values_list("answer_id", flat=True)[:size])
    if answers:
        return erase_keys([key for key in answers if key is not None], size)
    bare = list(leaning.values_list("id", flat=True)[:size])
    if bare:
        Reply.objects.filter(id__in=bare).delete()
        return Counter(traces=len(bare))
    block.delete()
    return Counter(blocks=1)


def own_blocks(user_id: int, size: int) -> Counter[str]:
    """What was noted of them, with every earlier version; what they proposed; how far their sessions were gone through."""
    blocks = list(
        MemoryBlock.objects.filter(_of(user_id)).values_list("pk", flat=True)[: max(1, size // 100)]
    )
    MemoryBlock.objects.filter(pk__in=blocks).delete()
    others = [
        model.objects.filter(member_id=user_id).delete()[0] for model in (PersonaProposal, Consolidation)
    ]
    return +Counter(blocks=len(blocks), sessions=sum(others))


def notes_of(replies: Sequence[UUID]) -> Counter[str]:
    """What a model wrote in these turns: what they leaned on may stand in it. Found by the ids of its calls.

    Entries of the archive and sessions go; what is noted of the member who asked (``human``) loses the lines that came from it.
    """
    if not replies:
        return Counter()
    rows = BlockRevision.objects.filter(
        pk__in=removal.noted_in(BlockRevision, replies), block__scope=Scope.SESSION
    )
    sessions = set(rows.values_list("block_id", flat=True))
    if sessions:
        MemoryBlock.objects.filter(pk__in=sessions).delete()
    return +(Counter(blocks=len(sessions)) + removal.strike_turns(replies))


def counts(user_id: int) -> dict[str, int]:
    """What these steps would remove."""
    return {
        "blocks": MemoryBlock.objects.filter(_of(user_id)).count() + _shared(user_id).count(),
        "archive": ArchivalEntry.objects.filter(_of(user_id)).count(),
    }


def scrub(user_id: int) -> int:
    """Takes the person's id out of what was noted of others; returns how many rows changed."""
    needle = Needle(user_id)
    changed = 0
    for model, fields in (
        (MemoryBlock, ("value", "description")),
        (BlockRevision, ("value", "reason")),
        (PersonaProposal, ("value", "reason")),
        (ArchivalEntry, ("text", "delete_reason")),
    ):
        wanted = Q()
        for field in fields:
            for text in needle.texts:
                wanted |= Q(**{f"{field}__contains": text})
        while ids := list(model.objects.filter(wanted).values_list("pk", flat=True)[:BATCH]):
            with transaction.atomic():
                if Member.objects.filter(user_id=user_id, withdrawn_at=None).exists():
                    return changed  # opted in again meanwhile
                for row in model.objects.filter(pk__in=ids):
                    values = {field: needle.scrub_text(getattr(row, field)) for field in fields}
                    if isinstance(row, ArchivalEntry):
                        _rewrite(row, values)
                    else:
                        model.objects.filter(pk=row.pk).update(**values)
            changed += len(ids)
    return changed


def _rewrite(row: ArchivalEntry, values: dict[str, str]) -> None:
    digest = hashlib.sha256(values["text"].encode()).hexdigest()
    rows = ArchivalEntry.objects.filter(pk=row.pk)
    if row.deleted_at is not None:
        rows.update(**values, content_hash=digest)
        return
    archival.remove([row.pk])
    same = ArchivalEntry.objects.filter(
        scope=row.scope, scope_key=row.scope_key, private=row.private, content_hash=digest, deleted_at=None
    )
    if same.exclude(pk=row.pk).exists():
        rows.delete()
        return
    pending = ArchivalEntry.Embedding.PENDING
    rows.update(**values, content_hash=digest, embedding=pending, space=None)
    archival.add_words([row.pk])
    epoch = row.member.epoch if row.member else 0
    outbox.enqueue("embed_archive", [row.pk], user_id=row.member_id, epoch=epoch)


def _of(user_id: int) -> Q:
    return Q(member_id=user_id) | Q(scope=Scope.USER, scope_key=user_id)


def _shared(user_id: int) -> QuerySet[MemoryBlock]:
    part = BlockRevision.objects.filter(actor=user_id).exclude(actor_kind=BlockRevision.Actor.ADMIN)
    return MemoryBlock.objects.exclude(scope=Scope.USER).filter(pk__in=part.values("block_id"))
