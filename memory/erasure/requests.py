"""A request to forget: noted when it comes in, looked at, begun, or closed. Whoever is entitled to it has a month to wait at most."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from memory import consent, outbox
from memory.conf import get_config
from memory.erasure.parts import Part
from memory.erasure.running import ERASE, OPEN, work_id
from memory.erasure.services import preview
from memory.errors import Conflict, InvalidInput, NotFound
from memory.models import ErasedRange, ErasureRequest, Message, ScanMember
from memory.models.locks import hold
from memory.pseudonyms import subject_hash

State = ErasureRequest.State
WAITING = (State.RECEIVED, State.PREVIEWED)


def receive(
    *,
    user_id: int,
    origin: str,
    received_at: datetime | None = None,
    due_at: datetime | None = None,
    part: Part | None = None,
) -> ErasureRequest:
    """Notes a request; nothing is erased before ``begin``. One that waits for the same already is returned again.

    Raises ``InvalidInput`` for a day in the future or a part that is none, ``NotFound`` for a place that is not known.
    """
    now = timezone.now()
    came = received_at or now
    if came > now:
        raise InvalidInput("A request cannot have come in later than now.")
    due = due_at or came + timedelta(days=get_config().erasure_days)
    if due < came:
        raise InvalidInput("The day on which it is due is before the day on which it came in.")
    part = part.checked(user_id) if part is not None else None
    with transaction.atomic():
        hold("consent", user_id)
        same = _alike(user_id, part).filter(state__in=WAITING).first()
        if same is not None:
            return same
        return ErasureRequest.objects.create(
            subject=subject_hash(user_id),
            user_id=user_id,
            epoch=0,
            origin=origin,
            state=State.RECEIVED,
            received_at=came,
            due_at=due,
            **_narrowed(part),
        )


def look(request_id: UUID | str) -> ErasureRequest:
    """Counts what would go now, by store, and notes that it was looked at. Raises ``NotFound``, ``Conflict`` once it has begun."""
    found = _waiting(request_id)
    counts = preview(found.user_id or 0, part=Part.of(found) if found.partial else None)
    changed = ErasureRequest.objects.filter(pk=found.pk, state__in=WAITING)
    changed.update(state=State.PREVIEWED, previewed_at=timezone.now(), preview=counts)
    found.refresh_from_db()
    return found


def begin(request_id: UUID | str) -> ErasureRequest:
    """Starts a request that waits: for everything the consent ends; from then on nothing that goes is written or recalled.

    ``run`` does the work. Raises ``NotFound``, ``Conflict`` for one that is closed or done.
    """
    with transaction.atomic():
        found = ErasureRequest.objects.filter(pk=request_id).first()
        if found is None:
            raise NotFound("There is no such erasure.")
        if found.state in OPEN or found.state == State.FAILED:
            return found
        found = _waiting(request_id)
        assert found.user_id is not None
        hold("consent", found.user_id)
        return _begin_part(found) if found.partial else _begin_all(found)


def request(*, user_id: int, origin: str, part: Part | None = None) -> ErasureRequest:
    """Notes a request and begins it, in one transaction.

    One that is under way for the same is returned again, and one that waits for it is begun. Raises as ``receive``.
    """
    part = part.checked(user_id) if part is not None else None
    with transaction.atomic():
        hold("consent", user_id)
        opened = _alike(user_id, part).filter(state__in=OPEN).first()
        if opened is None:
            opened = begin(receive(user_id=user_id, origin=origin, part=part).id)
        outbox.enqueue(ERASE, [work_id(opened)])
    return opened


def close(request_id: UUID | str) -> ErasureRequest:
    """Ends a request without an erasure: it was a mistake, or the person took it back. Raises ``NotFound`` and ``Conflict``."""
    found = _waiting(request_id)
    found.state, found.user_id, found.finished_at = State.CLOSED, None, timezone.now()
    found.save(update_fields=["state", "user_id", "finished_at"])
    return found


def _waiting(request_id: UUID | str) -> ErasureRequest:
    found = ErasureRequest.objects.filter(pk=request_id).first()
    if found is None:
        raise NotFound("There is no such erasure.")
    if found.state not in WAITING:
        raise Conflict(f"This request is {found.get_state_display()} already.")
    return found


def _alike(user_id: int, part: Part | None) -> QuerySet[ErasureRequest]:
    return ErasureRequest.objects.filter(user_id=user_id, **_narrowed(part))


def _narrowed(part: Part | None) -> dict[str, Any]:
    one = part or Part()
    return {
        "partial": part is not None,
        "guild_id": one.guild_id,
        "channel_id": one.channel_id,
        "since": one.since,
        "until": one.until,
        "message_key": one.message_key,
        "message_id": one.message_id,
    }


def _begin_all(found: ErasureRequest) -> ErasureRequest:
    user_id = found.user_id
    assert user_id is not None
    epoch = consent.withdraw(user_id=user_id, origin=found.origin)
    outbox.drop_user(user_id)
    # What was asked for beside it is covered by it.
    others = ErasureRequest.objects.filter(subject=found.subject).exclude(pk=found.pk)
    others.filter(Q(state__in=WAITING) | Q(partial=True, state__in=[*OPEN, State.FAILED])).update(
        state=State.CLOSED, user_id=None, sample=[], stage="", finished_at=timezone.now()
    )
    return _started(found, epoch, Message.objects.filter(member_id=user_id).count())


def _begin_part(found: ErasureRequest) -> ErasureRequest:
    user_id = found.user_id
    assert user_id is not None
    part = Part.of(found).up_to(timezone.now())
    found.until = part.until
    epoch = consent.begin_epoch(user_id=user_id)
    # Nothing that is left is lost: work that waits or is being done is done again, with what is left.
    outbox.renew(user_id, epoch)
    ScanMember.objects.filter(member_id=user_id).update(epoch=epoch)
    keep_range(found.subject, found.pk, part)
    return _started(found, epoch, part.messages(user_id).count())


def keep_range(subject: str, request_id: UUID, part: Part) -> None:
    """Notes what must not come back."""
    if not part.could_come_back:
        return
    values = {
        "subject": subject,
        "guild_id": part.guild_id,
        "channel_id": part.channel_id,
        "since": part.since,
        "until": part.until,
        "message_id": part.message_id,
    }
    ErasedRange.objects.get_or_create(request_id=request_id, defaults=values)


def _started(found: ErasureRequest, epoch: int, total: int) -> ErasureRequest:
    found.epoch = epoch
    found.state = State.RUNNING
    found.stage = "waiting"
    found.total = total
    found.started_at = timezone.now()
    found.save()
    outbox.enqueue(ERASE, [work_id(found)])
    return found
