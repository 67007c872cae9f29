"""One piece of work in the outbox stands for all reading, so that one process at a time reads and keeps to the limits."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Min
from django.utils import timezone

from memory import outbox
from memory.models import OutboxEntry, Scan, ScanChannel

HISTORY = "history"
LEASE = timedelta(seconds=30)
"""Reading extends it every few seconds; a worker that was killed holds up the next one for this long."""

State = OutboxEntry.State
OPEN = (Scan.State.GATHERING, Scan.State.LISTING, Scan.State.RUNNING)


def nudge() -> None:
    """Says that there is something to read, in the caller's transaction. Whoever is reading already goes on undisturbed."""
    now = timezone.now()
    entry, new = OutboxEntry.objects.get_or_create(kind=HISTORY, subject=0, defaults={"due_at": now})
    if not new:
        idle = OutboxEntry.objects.filter(id=entry.id).exclude(state=State.RUNNING)
        idle.update(state=State.QUEUED, due_at=now, attempts=0)
    outbox.wake(HISTORY)


def extend(entry: OutboxEntry) -> bool:
    """Keeps the lease for some seconds more; False if it was lost, and reading has to stop."""
    held = OutboxEntry.objects.filter(id=entry.id, state=State.RUNNING, lease=entry.lease)
    return held.update(lease_until=timezone.now() + LEASE) == 1


def rest(entry: OutboxEntry, *, least: float = 0.0) -> None:
    """Ends a turn of reading: the work is gone if nothing is left to read, else it is due when the next thing is.

    ``least`` is the number of seconds to wait in any case.
    """
    with transaction.atomic():
        due = _next_due()
        if due is None:
            outbox.finish([entry])
            return
        seconds = max((due - timezone.now()).total_seconds(), least, 0.0)
        # It did not fail, so its attempts do not add up.
        OutboxEntry.objects.filter(id=entry.id, lease=entry.lease).update(attempts=0)
        outbox.hold([entry], seconds)


def _next_due() -> datetime | None:
    """When something is to be done next; None if no scan is open."""
    now = timezone.now()
    moments = []
    scans = Scan.objects.filter(state__in=OPEN)
    for state, begins_at, due_at in scans.values_list("state", "begins_at", "due_at"):
        if state == Scan.State.GATHERING:
            moments.append(max(begins_at, now))
        elif state == Scan.State.LISTING:
            moments.append(max(due_at, now))
    waiting = ScanChannel.objects.filter(
        scan__state__in=[Scan.State.RUNNING, Scan.State.LISTING], state=ScanChannel.State.WAITING
    )
    if (first := waiting.aggregate(first=Min("due_at"))["first"]) is not None:
        moments.append(max(first, now))
    return min(moments, default=None)
