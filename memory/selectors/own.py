"""What members see of themselves, beside what the dashboard's own reads give."""

from __future__ import annotations

import uuid

from django.db.models import BigIntegerField, Count, Exists, ExpressionWrapper, F, OuterRef, Q, QuerySet

from memory.models import (
    ArchivalEntry,
    ConsentEvent,
    ErasureRequest,
    Fact,
    Member,
    MemoryBlock,
    Reply,
    ReplyFact,
    ReplyMemory,
    ScanMember,
)
from memory.pseudonyms import subject_hash
from memory.selectors.paging import Page, keyset_page

FEW = 5000
"""Memories of a member up to which the replies that used them are found from their side."""


def consents(user_id: int, *, limit: int = 20) -> list[ConsentEvent]:
    """When they opted in and out, the latest first."""
    rows = ConsentEvent.objects.filter(subject=subject_hash(user_id))
    return list(rows.order_by("-at", "-id")[:limit])


def erasures(user_id: int, *, limit: int = 5) -> list[ErasureRequest]:
    """Erasures of theirs, the latest first; also those that are done, which hold no id any more."""
    rows = ErasureRequest.objects.filter(subject=subject_hash(user_id))
    return list(rows.order_by("-received_at", "-id")[:limit])


def erasure(user_id: int, request_id: uuid.UUID) -> ErasureRequest | None:
    """One of theirs; None for anybody else's."""
    return ErasureRequest.objects.filter(id=request_id, subject=subject_hash(user_id)).first()


def histories(user_id: int, *, limit: int = 20) -> list[ScanMember]:
    """Readings of the history that they asked for, the latest first."""
    rows = ScanMember.objects.filter(member_id=user_id).select_related("scan__guild")
    return list(rows.order_by("-joined_at", "-id")[:limit])


def facts(user_id: int, *, limit: int, cursor: str | None = None) -> Page[Fact]:
    """Facts that are in use or wait for an admin, those that changed last first."""
    rows = Fact.objects.filter(
        member_id=user_id, state__in=[Fact.State.ACTIVE, Fact.State.QUARANTINED]
    ).select_related("guild")
    return keyset_page(rows, moment="updated_at", key="id", limit=limit, cursor=cursor)


def blocks(user_id: int) -> list[MemoryBlock]:
    """What the bot noted about them, in a block for servers and one for private conversations."""
    return list(MemoryBlock.objects.filter(member_id=user_id, version__gt=0).order_by("private", "id"))


def archive(user_id: int, *, limit: int, cursor: str | None = None) -> Page[ArchivalEntry]:
    """What is kept in full about them, newest first."""
    rows = ArchivalEntry.objects.filter(member_id=user_id, deleted_at=None)
    return keyset_page(rows, moment="created_at", key="id", limit=limit, cursor=cursor)


def replies_using(user_id: int, *, limit: int, cursor: str | None = None) -> Page[Reply]:
    """Replies to anybody that were given something of theirs, newest first.

    Each row has ``memories_used`` and ``facts_used``, how many of theirs, and ``own``, whether they asked. Who else asked, and what, is
    somebody else's.
    """
    rows = Reply.objects.filter(_given(user_id)).select_related("guild", "question")
    page = keyset_page(rows, moment="created_at", key="id", limit=limit, cursor=cursor, key_type=uuid.UUID)
    ids = [row.id for row in page.rows]
    of_memories = _counts(_memories_of(user_id).filter(reply_id__in=ids))
    of_facts = _counts(ReplyFact.objects.filter(reply_id__in=ids, fact__member_id=user_id))
    for row in page.rows:
        row.memories_used = of_memories.get(row.id, 0)  # type: ignore[attr-defined]
        row.facts_used = of_facts.get(row.id, 0)  # type: ignore[attr-defined]
        row.own = row.asker_id == user_id  # type: ignore[attr-defined]
    return page


def _given(user_id: int) -> Q:
    """Replies that were given something of a member.

    Of somebody with few memories they are found from these; of somebody with many, by looking through the replies from the
    newest on, which ends as soon as a page is full.
    """
    facts = ReplyFact.objects.filter(fact__member_id=user_id)
    few = (Member.objects.filter(pk=user_id).values_list("message_count", flat=True).first() or 0) <= FEW
    if few:
        memories = ReplyMemory.objects.filter(message__member_id=user_id, injected=True)
        return Q(id__in=memories.values("reply_id")) | Q(id__in=facts.values("reply_id"))
    own = _memories_of(user_id).filter(reply=OuterRef("pk"))
    return Q(Exists(own)) | Q(id__in=facts.values("reply_id"))


def _memories_of(user_id: int) -> QuerySet[ReplyMemory]:
    """Used memories of a member, to be looked for from the side of replies: the sum keeps the database from their index."""
    used = ReplyMemory.objects.filter(injected=True)
    # Of two integers Django makes a small one, which no id of Discord fits in.
    owner = ExpressionWrapper(F("message__member_id") + 0, output_field=BigIntegerField())
    return used.annotate(owner=owner).filter(owner=user_id)


def _counts(rows: QuerySet[ReplyMemory] | QuerySet[ReplyFact]) -> dict[uuid.UUID, int]:
    return dict(rows.values_list("reply_id").annotate(number=Count("id")).order_by())
