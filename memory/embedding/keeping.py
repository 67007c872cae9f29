"""Vectors that served before: kept for a while after a switch, so that one can go back to them; dropped in time, or by hand.

They are never searched while they are kept, and nothing new is written to them. What is edited or erased meanwhile goes from them
at once, as from every index.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from memory import backends, outbox
from memory.embedding.progress import Progress
from memory.embedding.spaces import MIGRATE, STATE, State, decline, older_model
from memory.errors import Conflict, InvalidInput, ModelUnavailable, NotFound
from memory.models import EmbeddingSpace, InstallationState
from memory.models.locks import SPACES, hold

KEEP = timedelta(days=14)
MOST_DAYS = 365


@dataclass(frozen=True, slots=True)
class Kept:
    """The vectors that one can go back to."""

    space_id: int
    model: str
    dimension: int
    vectors: int
    until: datetime
    """When they are dropped."""
    bytes: int
    """What they take on the disk, about."""


def kept() -> Kept | None:
    row = _row()
    if row is None:
        return None
    count = backends.vector_index(row).count()
    return Kept(
        row.pk,
        str(row),
        row.dimension,
        count,
        until=row.kept_until or timezone.now() + KEEP,
        bytes=size_of(count, row.dimension),
    )


def size_of(vectors: int, dimension: int) -> int:
    """Bytes that so many vectors take: four a dimension, a bit a dimension for a first look, and what holds them together."""
    return vectors * (dimension * 4 + dimension // 8 + 40)


def answers(space_id: int) -> bool:
    """Whether the model of kept vectors can still embed questions. Asks its host, so it takes a moment."""
    row = EmbeddingSpace.objects.filter(pk=space_id).first()
    return row is not None and older_model(row) is not None


def keep_in_place_of(space: EmbeddingSpace) -> None:
    """Keeps what served until now, and lets go of what was kept before; in the transaction that switches to ``space``."""
    others = EmbeddingSpace.objects.exclude(pk=space.pk)
    serving = others.filter(state=State.ACTIVE)
    ids = list(serving.values_list("pk", flat=True))
    others.exclude(pk__in=ids).update(state=State.RETIRED, kept_until=None)
    serving.update(state=State.KEPT, kept_until=timezone.now() + KEEP)


def roll_back() -> str:
    """Goes back to the kept vectors at once, and keeps those that served; returns the name of the model.

    The configured model is declined with it, so that its vectors are not built again until ``start``. What was said since the
    switch is found by its words until it is embedded. Raises ``NotFound``, ``Conflict`` while vectors are being built, and
    ``ModelUnavailable`` where the older model does not answer as the same build.
    """
    row = _row()
    if row is None:
        raise NotFound("No older vectors are kept that one could go back to.")
    if older_model(row) is None:
        raise ModelUnavailable(
            f"{row} does not answer, or is another build than the one that made these vectors. Start it, then try again."
        )
    with transaction.atomic():
        hold(SPACES)
        if EmbeddingSpace.objects.filter(state=State.BUILDING).exists():
            raise Conflict("The vectors of another model are being built. Cancel that first.")
        back = EmbeddingSpace.objects.filter(pk=row.pk, state=State.KEPT)
        if not back.exists():
            raise Conflict("These vectors were dropped meanwhile.")
        serving = EmbeddingSpace.objects.filter(state=State.ACTIVE).order_by("-id").first()
        if serving is not None:
            decline(serving)
            keep_in_place_of(row)
        back = EmbeddingSpace.objects.filter(pk=row.pk)
        back.update(state=State.ACTIVE, kept_until=None)
        InstallationState.objects.filter(name=STATE).delete()
        Progress.begin_settling(row)
        outbox.enqueue(MIGRATE, [row.pk])
    return str(row)


def keep_for(days: int) -> datetime:
    """Keeps the older vectors for so many days from now. Raises ``NotFound``, ``InvalidInput``."""
    if not 1 <= days <= MOST_DAYS:
        raise InvalidInput(f"Older vectors are kept for 1 to {MOST_DAYS} days.")
    until = timezone.now() + timedelta(days=days)
    if not EmbeddingSpace.objects.filter(state=State.KEPT).update(kept_until=until):
        raise NotFound("No older vectors are kept.")
    return until


def drop_kept() -> None:
    """Drops the kept vectors now; there is no way back after that. Raises ``NotFound``."""
    if not _drop(EmbeddingSpace.objects.filter(state=State.KEPT).values_list("pk", flat=True)):
        raise NotFound("No older vectors are kept.")


def drop_expired() -> None:
    """Drops what was kept long enough; for the sweep."""
    over = EmbeddingSpace.objects.filter(state=State.KEPT, kept_until__lte=timezone.now())
    _drop(over.values_list("pk", flat=True))


def _row() -> EmbeddingSpace | None:
    return EmbeddingSpace.objects.filter(state=State.KEPT).order_by("-id").first()


def _drop(ids: Iterable[int]) -> int:
    with transaction.atomic():
        hold(SPACES)
        wanted = list(ids)
        count = EmbeddingSpace.objects.filter(pk__in=wanted, state=State.KEPT).update(
            state=State.RETIRED, kept_until=None
        )
        if wanted:
            outbox.enqueue(MIGRATE, wanted)
    return count
