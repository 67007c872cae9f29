"""Work that a command does itself, so that its result is there when it ends."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from django.utils import timezone

from memory.models import InstallationState, OutboxEntry
from memory.tasks import work_through

SLICE_SECONDS = 2.0
ALIVE = timedelta(seconds=30)


def worker_is_alive() -> bool:
    """Whether a worker has looked for work lately."""
    return InstallationState.objects.filter(name="worker", at__gt=timezone.now() - ALIVE).exists()


def waiting() -> int:
    """Messages that wait to be embedded."""
    unfinished = [OutboxEntry.State.QUEUED, OutboxEntry.State.RUNNING]
    return OutboxEntry.objects.filter(kind="embed", state__in=unfinished).count()


def embed_waiting(progress: Callable[[int], None] | None = None) -> None:
    """Embeds what is due. What the model's host holds up stays for the worker; ``progress`` is told how many still wait."""
    while not work_through("embed", seconds=SLICE_SECONDS):
        if progress:
            progress(waiting())
