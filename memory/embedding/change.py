"""A change of the embedding model as an operator sees it: how far it is; pause, resume, stay with the older model, begin after all."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from memory import outbox
from memory.embedding.progress import Progress
from memory.embedding.spaces import (
    DECLINED,
    MIGRATE,
    STATE,
    State,
    decline,
    notice_change,
    serving_space,
)
from memory.errors import Conflict, ModelUnavailable, NotFound
from memory.models import EmbeddingSpace, InstallationState, OutboxEntry
from memory.models.locks import SPACES, hold


@dataclass(frozen=True, slots=True)
class Change:
    """From one model to another. ``state`` is building, paused, waiting (for the model), finishing or declined."""

    older: str
    newer: str
    older_dimension: int
    newer_dimension: int
    state: str
    done: int = 0
    total: int = 0
    rate: float = 0.0
    """Messages a second, while it embeds."""
    seconds_left: float | None = None
    words_only: bool = False
    """The older model answers no more, so that words alone find memories until the switch."""
    refused: int = 0
    attempts: int = 0
    error: str = ""
    begun_at: datetime | None = None
    held_until: datetime | None = None
    """How long whoever does it has said to be at it; None while nobody is."""


def change() -> Change | None:
    """The change that is under way or was declined; None where the vectors are those of the configured model."""
    active = serving_space()
    if active is None:
        return None
    building = EmbeddingSpace.objects.filter(state=State.BUILDING).order_by("-id").first()
    if building is not None:
        return _building(active, building)
    entry = OutboxEntry.objects.filter(kind=MIGRATE, subject=active.pk).first()
    before = EmbeddingSpace.objects.filter(state__in=[State.RETIRED, State.KEPT]).order_by("state", "-id")
    if entry is not None and (older := before.first()) is not None:
        now = Progress.load(active)
        return _between(
            older,
            active,
            state="finishing",
            done=now.total,
            total=now.total,
            begun_at=entry.created_at,
        )
    declined = InstallationState.objects.filter(name=DECLINED).first()
    if declined is not None:
        wanted = EmbeddingSpace(**declined.value)
        return _between(active, wanted, state="declined", begun_at=declined.at)
    return None


def _between(older: EmbeddingSpace, newer: EmbeddingSpace, **known: Any) -> Change:
    return Change(
        older=str(older),
        newer=str(newer),
        older_dimension=older.dimension,
        newer_dimension=newer.dimension,
        **known,
    )


def _building(active: EmbeddingSpace, building: EmbeddingSpace) -> Change:
    now = Progress.load(building)
    done = now.done(building)
    total = max(now.total, done)
    rate = now.written / now.seconds if now.seconds > 0 else 0.0
    entry = OutboxEntry.objects.filter(kind=MIGRATE, subject=building.pk).first()
    state = "building"
    if entry is not None and entry.state == OutboxEntry.State.PAUSED:
        state = "paused"
    elif entry is not None and entry.error_code:
        state = "waiting"
    return _between(
        active,
        building,
        state=state,
        done=done,
        total=total,
        rate=rate,
        seconds_left=(total - done) / rate if rate and state == "building" else None,
        words_only=now.words_only,
        refused=len(now.refused),
        attempts=entry.attempts if entry else 0,
        error=entry.error if entry else "",
        begun_at=entry.created_at if entry else None,
        held_until=entry.lease_until if entry else None,
    )


def pause() -> None:
    """Holds the build where it is; the older vectors serve on. Raises ``NotFound`` if nothing is being built."""
    with transaction.atomic():
        _entry().update(state=OutboxEntry.State.PAUSED, lease="", lease_until=None)


def resume() -> None:
    """Goes on with a build that was paused, or tries one again that waits. Raises ``NotFound``."""
    with transaction.atomic():
        idle = _entry().exclude(state=OutboxEntry.State.RUNNING)
        idle.update(state=OutboxEntry.State.QUEUED, due_at=timezone.now(), attempts=0)
        outbox.wake(MIGRATE)


def cancel() -> None:
    """Stays with the older model: what was built goes, and is not begun again until ``start``. Raises ``NotFound``."""
    with transaction.atomic():
        hold(SPACES)
        building = EmbeddingSpace.objects.filter(state=State.BUILDING).order_by("-id").first()
        if building is None:
            raise NotFound("No vectors are being built.")
        decline(building)
        EmbeddingSpace.objects.filter(state=State.BUILDING).update(state=State.RETIRED)
        InstallationState.objects.filter(name=STATE).delete()
        outbox.enqueue(MIGRATE, [building.pk])


def start() -> None:
    """Builds the vectors of the configured model although that was declined. Raises ``ModelUnavailable``, ``Conflict``."""
    kept = InstallationState.objects.filter(name=DECLINED).first()
    if kept is None:
        raise Conflict("Nothing was cancelled that could be begun again.")
    kept.delete()
    if not notice_change():
        InstallationState.objects.create(name=DECLINED, value=kept.value)
        raise ModelUnavailable("The configured model does not answer; start it, then try again.")


def _entry() -> QuerySet[OutboxEntry]:
    building = EmbeddingSpace.objects.filter(state=State.BUILDING).order_by("-id").first()
    if building is None:
        raise NotFound("No vectors are being built.")
    OutboxEntry.objects.get_or_create(kind=MIGRATE, subject=building.pk, defaults={"due_at": timezone.now()})
    return OutboxEntry.objects.filter(kind=MIGRATE, subject=building.pk)
