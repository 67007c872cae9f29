"""The archive: things to remember in full, found by words and by meaning. The original text is always stored."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from memory import consent, outbox
from memory.blocks.audience import own_entries
from memory.blocks.embedding import EMBED, embed_at_once
from memory.blocks.errors import Empty, InvalidDate, NoSuchEntry, OverLimit
from memory.blocks.text import normal
from memory.blocks.types import Place, Session
from memory.index import archival
from memory.models import ArchivalEntry, Guild, Message, Scope
from memory.models.locks import locked

MAX_TEXT = 4000
MAX_TAGS = 8
MAX_TAG = 50
MAX_ENTRIES = 5000
"""Live entries of one scope; beyond that something has to be deleted first."""
KEEP_DELETED = timedelta(days=30)
"""How long a deletion can be undone."""


@dataclass(frozen=True, slots=True)
class Inserted:
    id: int
    duplicate: bool
    embedded: bool

    def result(self) -> dict[str, Any]:
        return {"ok": True, "id": str(self.id), "duplicate": self.duplicate, "embedded": self.embedded}


def insert(
    place: Place,
    content: str,
    tags: Sequence[str] = (),
    *,
    call_id: str = "",
    event_time: datetime | None = None,
    session: Session | None = None,
) -> Inserted:
    """Stores an entry for the member whose turn it is; one with the same text is not stored twice.

    Raises ``Empty``, ``OverLimit``, and ``ConsentMissing`` or ``StaleEpoch`` where the consent ended meanwhile.
    """
    text = normal(content).strip()
    if not text:
        raise Empty()
    if len(text) > MAX_TEXT:
        raise OverLimit.of(len(text), MAX_TEXT)
    with transaction.atomic():
        consent.require(place.consent)
        row, duplicate = _stored(place, text, clean_tags(tags), call_id, event_time, session)
    embedded = row.embedding == ArchivalEntry.Embedding.DONE
    # Inside a caller's transaction nothing may wait for a host; the worker will do it.
    if not embedded and not transaction.get_connection().in_atomic_block:
        embedded = embed_at_once(row.pk)
    return Inserted(row.pk, duplicate, embedded)


def clean_tags(tags: Sequence[str]) -> list[str]:
    found = [" ".join(normal(str(tag)).split()).lower()[:MAX_TAG] for tag in tags]
    return list(dict.fromkeys(tag for tag in found if tag))[:MAX_TAGS]


def content_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _stored(
    place: Place,
    text: str,
    tags: list[str],
    call_id: str,
    event_time: datetime | None,
    session: Session | None,
) -> tuple[ArchivalEntry, bool]:
    if call_id and (first := ArchivalEntry.objects.filter(tool_call_id=call_id).first()):
        return first, False
    scope = {"scope": Scope.USER, "scope_key": place.user_id, "private": place.private}
    digest = content_hash(text)
    live = ArchivalEntry.objects.filter(**scope, deleted_at=None)
    if same := live.filter(content_hash=digest).first():
        return same, True
    if (count := live.count()) >= MAX_ENTRIES:
        raise OverLimit(f"The archive holds {count:,} entries, which is all it can. Delete some first.")
    purge_deleted(ArchivalEntry.objects.filter(**scope), older_than=timezone.now() - KEEP_DELETED)
    source = place.message_key
    try:
        with transaction.atomic():
            row = ArchivalEntry.objects.create(
                **scope,
                member_id=place.user_id,
                guild=Guild.objects.filter(discord_id=place.guild_id).first(),
                channel_id=place.channel_id,
                text=text,
                content_hash=digest,
                tags=tags,
                event_time=event_time or timezone.now(),
                source_message_id=source if source and Message.objects.filter(pk=source).exists() else None,
                source_channel_id=session.channel_id if session else None,
                source_first=session.first if session else None,
                source_last=session.last if session else None,
                tool_call_id=call_id or None,
            )
    except IntegrityError:  # another process was faster
        return live.get(content_hash=digest), True
    archival.add_words([row.pk])
    outbox.enqueue(EMBED, [row.pk], user_id=place.user_id, epoch=place.consent.epoch)
    return row, False


def delete(place: Place, entry_id: int, *, reason: str = "") -> None:
    """Takes an entry out of the archive; ``undelete`` brings it back for a while. Raises ``NoSuchEntry``."""
    with transaction.atomic():
        consent.require(place.consent)
        row = own_entries(place).filter(pk=entry_id).first()
        if row is None:
            raise NoSuchEntry()
        soft_delete([row.pk], reason=reason)


def undelete(entry_id: int) -> bool:
    """Brings a deleted entry back; False if the same text was stored again meanwhile. Raises ``NoSuchEntry``."""
    with transaction.atomic():
        row = locked(ArchivalEntry.objects.exclude(deleted_at=None).filter(pk=entry_id)).first()
        if row is None:
            raise NoSuchEntry()
        twin = ArchivalEntry.objects.filter(
            scope=row.scope,
            scope_key=row.scope_key,
            private=row.private,
            content_hash=row.content_hash,
            deleted_at=None,
        )
        if twin.exists():
            return False
        ArchivalEntry.objects.filter(pk=row.pk).update(deleted_at=None, delete_reason="")
        archival.add_words([row.pk])
        epoch = row.member.epoch if row.member else 0
        outbox.enqueue(EMBED, [row.pk], user_id=row.member_id, epoch=epoch)
    return True


def soft_delete(ids: Sequence[int], *, reason: str) -> None:
    """In the caller's transaction: out of the indexes at once, the rows stay for an undo."""
    archival.remove(ids)
    ArchivalEntry.objects.filter(pk__in=ids, deleted_at=None).update(
        deleted_at=timezone.now(),
        delete_reason=normal(reason)[:300],
        embedding=ArchivalEntry.Embedding.PENDING,
        space=None,
    )


def purge_deleted(rows: QuerySet[ArchivalEntry], *, older_than: datetime) -> int:
    """Removes what was deleted so long ago that nobody will want it back."""
    old = list(rows.filter(deleted_at__lt=older_than).values_list("pk", flat=True)[:500])
    return ArchivalEntry.objects.filter(pk__in=old).delete()[0]


def days(place: Place, start: str, end: str) -> tuple[datetime | None, datetime | None]:
    """First and last moment (that one exclusive) of dates in the member's time zone. Raises ``InvalidDate``."""
    first, last = _day(start), _day(end)
    if first and last and first > last:
        raise InvalidDate()
    since = datetime.combine(first, time.min, tzinfo=place.zone) if first else None
    # The end is inclusive.
    until = datetime.combine(last + timedelta(days=1), time.min, tzinfo=place.zone) if last else None
    return since, until


def _day(text: str) -> date | None:
    text = text.strip()
    if not text:
        return None
    try:
        if len(text) != 10:
            raise ValueError(text)
        return date.fromisoformat(text)
    except (ValueError, OverflowError) as error:
        raise InvalidDate() from error


def between(since: datetime | None, until: datetime | None, field: str) -> Q:
    wanted = Q()
    if since:
        wanted &= Q(**{f"{field}__gte": since})
    if until:
        wanted &= Q(**{f"{field}__lt": until})
    return wanted
