"""Durable work. A row is written in the transaction of the data that needs it; Celery is only woken.

Losing a wake-up loses nothing: ``memory.sweep`` finds what is due. A row is done by whoever holds its lease, and it goes when it
is done; a worker that dies leaves a lease that runs out.
"""

from __future__ import annotations

import hashlib
import logging
import os
import secrets
import socket
import time
from collections.abc import Iterable, Sequence
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING

import psutil
from django.conf import settings
from django.db import transaction
from django.db.models import Count, F, Min, Q
from django.db.models.functions import Greatest
from django.utils import timezone
from django.utils.module_loading import import_string

from memory import measures
from memory.errors import Conflict, MusebotError
from memory.models import InstallationState, OutboxEntry
from memory.models.fast import insert_like
from memory.models.locks import locked, taken

if TYPE_CHECKING:
    from celery import Celery

logger = logging.getLogger(__name__)

LEASE = timedelta(minutes=2)
BACK_OFF_SECONDS = (1, 2, 5, 10, 20, 30, 60)
MAX_ATTEMPTS = 5
"""For work that fails for a reason of its own; what a host's absence holds up is tried for ever."""

FIRST = timedelta(days=365)
"""Work is taken in the order in which it fell due, so this overtakes whatever waits."""

WAKE_TASK = "memory.work"
QUIET_SECONDS = 3.0
"""How long nobody is woken after the broker could not be reached."""
_quiet_until = 0.0

PAUSED = "paused_work"
"""Name of the state that holds the kinds of work which an operator holds back."""
NEVER_PAUSED = frozenset(
    {"erase", "clean_files", "forget_channel", "forget_guild", "retention", "history", "respace"}
)
"""What removes people's data is not held back; reading histories and building vectors are paused one by one, elsewhere."""


def enqueue(kind: str, subjects: Iterable[int], *, user_id: int | None = None, epoch: int = 0) -> None:
    """Notes work to do, in the caller's transaction; work that is already noted starts over."""
    enqueue_many(kind, ((subject, user_id, epoch) for subject in subjects))


def enqueue_many(
    kind: str, work: Iterable[tuple[int, int | None, int]], *, and_wake: bool = True, first: bool = False
) -> None:
    """The same for many people's work at once: (subject, user id, epoch) of each. The caller may wake a worker itself, later.

    ``first`` is for what somebody just said: it does not wait behind the many thousands of a history.
    """
    now = timezone.now()
    due = now - FIRST if first else now
    insert_like(
        OutboxEntry(kind=kind, due_at=due, created_at=now),
        ["subject", "user_id", "epoch"],
        work,
        unique=["kind", "subject"],
        update=["state", "due_at", "user_id", "epoch", "lease", "attempts"],
    )
    if and_wake:
        wake(kind)


def wake(kind: str) -> None:
    """Wakes a worker once the transaction is committed. A broker that does not answer is no error: the sweep comes."""
    transaction.on_commit(lambda: _send(kind))


def _send(kind: str) -> None:
    global _quiet_until
    if time.monotonic() < _quiet_until:
        return
    try:
        _celery().send_task(WAKE_TASK, args=[kind], retry=False)
    except Exception as error:  # any transport may raise anything of its own
        # Whoever comes next does not wait for the broker to be out of reach once more.
        _quiet_until = time.monotonic() + QUIET_SECONDS
        logger.warning("could not wake a worker for %s (%s); the sweep will", kind, type(error).__name__)


@cache
def _celery() -> Celery:
    """The application that the site is set up with; loaded with the first wake-up, since most commands never send one."""
    app: Celery = import_string(settings.CELERY_APP)
    return app


def claim(kind: str, limit: int) -> list[OutboxEntry]:
    """Takes up to ``limit`` due entries under a lease; nobody else gets them until it runs out."""
    if kind in paused_kinds():
        return []
    now = timezone.now()
    lease = f"{_machine()}:{os.getpid()}:{secrets.token_hex(4)}"
    with transaction.atomic():
        due = OutboxEntry.objects.filter(kind=kind, state=OutboxEntry.State.QUEUED, due_at__lte=now)
        ids = list(taken(due).order_by("due_at", "id").values_list("id", flat=True)[:limit])
        if not ids:
            return []
        OutboxEntry.objects.filter(id__in=ids, state=OutboxEntry.State.QUEUED).update(
            state=OutboxEntry.State.RUNNING, lease=lease, lease_until=now + LEASE, attempts=F("attempts") + 1
        )
    return list(OutboxEntry.objects.filter(id__in=ids, lease=lease).order_by("due_at", "id"))


def claim_one(kind: str, subject: int) -> OutboxEntry | None:
    """Takes one piece of work under a lease, for whoever wants its result at once; None where it is not due or somebody has it."""
    if kind in paused_kinds():
        return None
    now = timezone.now()
    lease = f"{_machine()}:{os.getpid()}:{secrets.token_hex(4)}"
    row = OutboxEntry.objects.filter(
        kind=kind, subject=subject, state=OutboxEntry.State.QUEUED, due_at__lte=now
    )
    with transaction.atomic():
        row.update(
            state=OutboxEntry.State.RUNNING, lease=lease, lease_until=now + LEASE, attempts=F("attempts") + 1
        )
    return OutboxEntry.objects.filter(kind=kind, subject=subject, lease=lease).first()


def extend(entries: Sequence[OutboxEntry], *, by: timedelta = LEASE) -> bool:
    """Prolongs the lease; False if any of it was lost, in which case the work must not be written."""
    held = OutboxEntry.objects.filter(
        id__in=[entry.id for entry in entries], state=OutboxEntry.State.RUNNING, lease=entries[0].lease
    )
    return held.update(lease_until=timezone.now() + by) == len(entries)


def finish(entries: Sequence[OutboxEntry]) -> int:
    """Removes work that is done, in the transaction that wrote its result. Entries noted anew meanwhile stay."""
    deleted = 0
    for lease in {entry.lease for entry in entries}:
        ids = [entry.id for entry in entries if entry.lease == lease]
        deleted += OutboxEntry.objects.filter(id__in=ids, lease=lease).delete()[0]
    return deleted


def fail(entries: Sequence[OutboxEntry], error: MusebotError, *, final: bool | None = None) -> None:
    """Gives work back with the reason; it is tried again later, or stays as failed where trying again cannot help.

    ``final`` is for callers who know better than the error which of the two it is.
    """
    now = timezone.now()
    for entry in entries:
        measures.work_failures.labels(entry.kind, error.code).inc()
        hopeless = not error.retryable and (entry.attempts >= MAX_ATTEMPTS or error.status == 422)
        delay = BACK_OFF_SECONDS[min(max(entry.attempts, 1), len(BACK_OFF_SECONDS)) - 1]
        OutboxEntry.objects.filter(id=entry.id, lease=entry.lease).update(
            state=OutboxEntry.State.FAILED
            if (hopeless if final is None else final)
            else OutboxEntry.State.QUEUED,
            due_at=now + timedelta(seconds=delay),
            lease="",
            lease_until=None,
            error_code=error.code,
            error=error.message[:300],
        )


def hold(entries: Sequence[OutboxEntry], seconds: float) -> None:
    """Gives work back that is not done yet and has not failed; it is due again after ``seconds``."""
    due = timezone.now() + timedelta(seconds=seconds)
    for lease in {entry.lease for entry in entries}:
        ids = [entry.id for entry in entries if entry.lease == lease]
        OutboxEntry.objects.filter(id__in=ids, lease=lease).update(
            state=OutboxEntry.State.QUEUED, due_at=due, lease="", lease_until=None
        )


def postpone(kind: str, seconds: float) -> None:
    """Holds back everything of a kind that is due: the host it needs does not answer."""
    until = timezone.now() + timedelta(seconds=seconds)
    OutboxEntry.objects.filter(kind=kind, state=OutboxEntry.State.QUEUED, due_at__lt=until).update(
        due_at=until
    )


def retry(kind: str | None = None, ids: Sequence[int] | None = None) -> int:
    """Queues failed work again; returns how much."""
    failed = OutboxEntry.objects.filter(state=OutboxEntry.State.FAILED)
    if kind:
        failed = failed.filter(kind=kind)
    if ids is not None:
        failed = failed.filter(id__in=ids)
    kinds = set(failed.values_list("kind", flat=True))
    count = failed.update(state=OutboxEntry.State.QUEUED, due_at=timezone.now(), attempts=0)
    for each in kinds:
        wake(each)
    return count


def paused_kinds() -> set[str]:
    """Kinds of work that an operator holds back."""
    row = InstallationState.objects.filter(name=PAUSED).first()
    return set(row.value.get("kinds", ())) if row else set()


def pause_kind(kind: str, *, paused: bool) -> None:
    """Holds a kind of work back, or goes on with it; what is being done is finished. Raises ``Conflict`` for what removes data."""
    if paused and kind in NEVER_PAUSED:
        raise Conflict("What removes people's data is not held back.")
    with transaction.atomic():
        InstallationState.objects.get_or_create(name=PAUSED)
        row = locked(InstallationState.objects.filter(name=PAUSED)).get()
        kinds = set(row.value.get("kinds", ()))
        row.value = {"kinds": sorted(kinds | {kind} if paused else kinds - {kind})}
        row.save()
        if not paused:
            wake(kind)


def drop_user(user_id: int) -> int:
    """Removes the work that touches a member's data (part of an erasure); returns how much."""
    return OutboxEntry.objects.filter(user_id=user_id).delete()[0]


def renew(user_id: int, epoch: int) -> None:
    """Has all work of a member done under a new epoch; what is being done at this moment is given back, and its result refused."""
    rows = OutboxEntry.objects.filter(user_id=user_id)
    rows.filter(state=OutboxEntry.State.RUNNING).update(
        state=OutboxEntry.State.QUEUED, lease="", lease_until=None
    )
    rows.update(epoch=epoch)


def release_expired() -> int:
    """Gives work back whose worker died: its lease ran out, or it ran on this machine and its process is gone."""
    running = OutboxEntry.objects.filter(state=OutboxEntry.State.RUNNING)
    here = running.filter(lease__startswith=f"{_machine()}:").values_list("lease", flat=True).distinct()
    dead = [lease for lease in here if not psutil.pid_exists(int(lease.split(":")[1]))]
    lost = running.filter(Q(lease_until__lt=timezone.now()) | Q(lease__in=dead))
    return lost.update(state=OutboxEntry.State.QUEUED, lease="", lease_until=None)


def _machine() -> str:
    """Eight digits that stand for this machine (or container) in a lease."""
    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]


def due_kinds() -> list[str]:
    """Kinds of work that wait now."""
    due = OutboxEntry.objects.filter(state=OutboxEntry.State.QUEUED, due_at__lte=timezone.now())
    return sorted(set(due.values_list("kind", flat=True).distinct()) - paused_kinds())


def waiting() -> dict[str, float]:
    """Seconds that the oldest due work of each kind has waited. Work that overtakes all else is counted from when it was noted."""
    now = timezone.now()
    due = OutboxEntry.objects.filter(state=OutboxEntry.State.QUEUED, due_at__lte=now)
    rows = due.values("kind").annotate(oldest=Min(Greatest("due_at", "created_at"))).order_by("kind")
    return {row["kind"]: max((now - row["oldest"]).total_seconds(), 0.0) for row in rows}


def summary() -> list[dict[str, object]]:
    """Count and age of the work by kind and state, for the dashboard."""
    rows = OutboxEntry.objects.values("kind", "state").annotate(count=Count("id"), oldest=Min("created_at"))
    return [dict(row) for row in rows.order_by("kind", "state")]
