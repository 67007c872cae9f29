"""The gate before everything: nothing of a person is stored, embedded, described, fetched or logged until they opted in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from memory import audit
from memory.conf import get_config
from memory.errors import Conflict, ConsentMissing, MemoryDisabled, NotFound, StaleEpoch
from memory.models import ConsentEvent, Guild, GuildMember, Member, SubjectEpoch
from memory.models.fast import get
from memory.models.locks import hold, locked
from memory.pseudonyms import subject_hash
from memory.types import GuildInfo, Person

NOTICE_VERSION = "2026-12"


@dataclass(frozen=True, slots=True)
class Consent:
    """That a member has opted in, and the epoch under which work for them began."""

    user_id: int
    epoch: int
    paused: bool = False


def find(user_id: int) -> Consent | None:
    """The member's consent, or None. None also while memory is off or the member is paused.

    Asked for inside a transaction it holds until that ends, as with ``require``.
    """
    if not get_config().memory_enabled:
        return None
    row = get(Member, user_id=user_id, lock=True)
    if row is None or row.paused_at is not None or row.withdrawn_at is not None:
        return None
    return Consent(row.user_id, row.epoch)


def find_many(user_ids: Iterable[int]) -> dict[int, Consent]:
    """The consents of those of these people who have one, by their id; as ``find`` for each."""
    ids = set(user_ids)
    if not ids or not get_config().memory_enabled:
        return {}
    rows = _held(ids)
    return {row[0]: Consent(*row) for row in rows.values_list("user_id", "epoch")}


def consenting(user_ids: set[int]) -> set[int]:
    """Which of these people have opted in."""
    if not get_config().memory_enabled:
        return set()
    return set(
        Member.objects.filter(user_id__in=user_ids, paused_at=None, withdrawn_at=None).values_list(
            "user_id", flat=True
        )
    )


def require(consent: Consent) -> Member:
    """The second gate, inside the transaction that writes.

    Raises ``ConsentMissing`` if the member withdrew since, ``StaleEpoch`` if their data was erased since.
    """
    member = _held([consent.user_id]).first()
    if member is None:
        raise ConsentMissing()
    if member.epoch != consent.epoch:
        raise StaleEpoch()
    return member


def require_many(consents: Iterable[Consent]) -> dict[int, Member]:
    """The same gate for many: the members whose consent still holds under its epoch."""
    epochs = {one.user_id: one.epoch for one in consents}
    return {row.user_id: row for row in _held(epochs) if row.epoch == epochs[row.user_id]}


def _held(user_ids: Iterable[int]) -> QuerySet[Member]:
    """Those of these members who have opted in; nobody ends their consent before the transaction is over."""
    rows = Member.objects.filter(user_id__in=list(user_ids), paused_at=None, withdrawn_at=None)
    return locked(rows.order_by("user_id"))


def give(*, person: Person, origin: str, guild: GuildInfo | None = None) -> tuple[Member, bool]:
    """Records that a person opted in; the flag tells whether that is new. Only the person can do this, never an admin.

    Raises ``MemoryDisabled``, and ``Conflict`` while an erasure of theirs is still running.
    """
    if not get_config().memory_enabled:
        raise MemoryDisabled(
            "Long-term memory is switched off for this bot, so there is nothing to opt in to."
        )
    subject = subject_hash(person.id)
    with transaction.atomic():
        hold("consent", person.id)
        epoch = SubjectEpoch.objects.filter(subject=subject).values_list("epoch", flat=True).first() or 0
        now = timezone.now()
        member, new = Member.objects.get_or_create(
            user_id=person.id,
            defaults={
                "username": person.username,
                "display_name": person.display_name,
                "consented_at": now,
                "notice_version": NOTICE_VERSION,
                "origin": origin,
                "epoch": epoch,
            },
        )
        if new:
            ConsentEvent.objects.create(
                subject=subject,
                action=ConsentEvent.Action.GIVEN,
                at=now,
                notice_version=NOTICE_VERSION,
                origin=origin,
            )
            _record(person.id, "consent.given", by=audit.member(person.id))
        elif member.withdrawn_at is not None:
            raise Conflict("What was stored of you is still being erased. Opt in again when that is done.")
        elif member.paused_at is not None:
            _set_paused(person.id, None, origin=origin, by=audit.member(person.id))
        locked(Member.objects.filter(user_id=person.id)).first()  # a message of theirs may be on its way, too
        if guild is not None:
            row = Guild.objects.filter(discord_id=guild.id).first()
            if row is not None:
                GuildMember.objects.update_or_create(
                    guild=row,
                    member=member,
                    defaults={"username": person.username, "display_name": person.display_name},
                )
    return member, new


def pause(*, user_id: int, origin: str, by: str) -> bool:
    """Nothing new of the member is stored from now on; what is there stays and is recalled. False if it is so already.

    ``by`` is the audit's actor. Raises ``NotFound`` for whoever has not opted in or is being erased.
    """
    return _change_pause(user_id, paused=True, origin=origin, by=by)


def resume(*, user_id: int, origin: str, by: str) -> bool:
    """Ends a pause. The consent is the one that the member gave: nobody else's is made of it."""
    return _change_pause(user_id, paused=False, origin=origin, by=by)


def _change_pause(user_id: int, *, paused: bool, origin: str, by: str) -> bool:
    with transaction.atomic():
        hold("consent", user_id)
        member = locked(Member.objects.filter(user_id=user_id, withdrawn_at=None)).first()
        if member is None:
            raise NotFound("This person has not opted in, or is being erased.")
        if (member.paused_at is not None) == paused:
            return False
        _set_paused(user_id, timezone.now() if paused else None, origin=origin, by=by)
    return True


def _set_paused(user_id: int, at: datetime | None, *, origin: str, by: str) -> None:
    Member.objects.filter(user_id=user_id).update(paused_at=at)
    action = ConsentEvent.Action.RESUMED if at is None else ConsentEvent.Action.PAUSED
    ConsentEvent.objects.create(
        subject=subject_hash(user_id), action=action, at=at or timezone.now(), origin=origin
    )
    _record(user_id, f"consent.{action}", by=by)


def begin_epoch(*, user_id: int) -> int:
    """Begins a new epoch although the consent stays, and returns it: what began before is refused when it writes.

    For an erasure of a part, whose words may be in the hands of a model at this moment. In the caller's transaction.
    """
    row, _ = SubjectEpoch.objects.get_or_create(subject=subject_hash(user_id))
    row.epoch += 1
    row.save(update_fields=["epoch"])
    Member.objects.filter(user_id=user_id).update(epoch=row.epoch)
    return row.epoch


def withdraw(*, user_id: int, origin: str) -> int:
    """Ends a consent and begins a new epoch, which is returned: from now on nothing of theirs is written or recalled.

    Called by ``memory.erasure`` in its first transaction. The row of the member goes last, with everything that hangs on it.
    """
    subject = subject_hash(user_id)
    with transaction.atomic():
        hold("consent", user_id)
        row, _ = SubjectEpoch.objects.get_or_create(subject=subject)
        row.epoch += 1
        row.save(update_fields=["epoch"])
        now = timezone.now()
        if Member.objects.filter(user_id=user_id).update(epoch=row.epoch, withdrawn_at=now):
            ConsentEvent.objects.create(
                subject=subject, action=ConsentEvent.Action.WITHDRAWN, at=now, origin=origin
            )
            _record(user_id, "consent.withdrawn", by=audit.member(user_id) if origin == "member" else origin)
    return row.epoch


def _record(user_id: int, action: str, *, by: str) -> None:
    audit.record(actor=by, action=action, kind="member", object_id=subject_hash(user_id))
