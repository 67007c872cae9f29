"""Which vectors are in use, and which model makes them.

A changed model gets a space of its own. It is built in the background while the older space serves, with the older model, as long
as that one answers; ``memory.embedding.building`` builds it and switches, ``memory.embedding.keeping`` keeps the older one for a while.
"""

from __future__ import annotations

import logging
from dataclasses import asdict, dataclass
from typing import Any

from django.db import transaction

from memory import backends, outbox
from memory.conf import get_config
from memory.errors import MemoryDisabled, ModelError, ModelUnavailable
from memory.llm.base import Embedder, EmbedderIdentity
from memory.models import EmbeddingSpace, InstallationState, OutboxEntry
from memory.models.locks import SPACES, hold

logger = logging.getLogger(__name__)

MIGRATE = "respace"
"""Kind of work that builds a space, switches to it, and drops others; the subject is the space's id."""
STATE = "embedding_change"
"""How far the build is; goes with its end."""
DECLINED = "embedding_declined"
"""The model whose vectors somebody decided not to build."""

State = EmbeddingSpace.State
IN_USE = (State.ACTIVE, State.BUILDING)
"""Spaces that are written to; one that is kept is built again before it is used."""


@dataclass(frozen=True, slots=True)
class Serving:
    """The model to embed with now, and the space that its vectors go to."""

    embedder: Embedder
    space: EmbeddingSpace


def serving() -> Serving:
    """What embeds messages now.

    While another model's vectors are built that is the older model, so that what is said meanwhile is found at once; where that one
    answers no more, the newer. May ask hosts, so it is never called inside a transaction. Raises ``MemoryDisabled`` and ``ModelError``.
    """
    configured, active = backends.embedder(), serving_space()
    try:
        identity = configured.identity()
    except ModelError:
        older = older_model(active) if active is not None else None
        if active is None or older is None:
            raise
        return Serving(older, active)
    if active is None or is_of(active, identity):
        return Serving(configured, active or begin(identity) or _no_space())
    wanted = begin(identity)
    if wanted is not None and wanted.state == State.ACTIVE:
        return Serving(configured, wanted)
    older = older_model(active)
    _note_older(answers=older is not None)
    if older is not None:
        return Serving(older, active)
    if wanted is None:
        raise ModelUnavailable(
            f"The model of the stored vectors ({active}) does not answer, and building those of the configured one was cancelled."
        )
    return Serving(configured, wanted)


def space_of(embedder: Embedder) -> EmbeddingSpace:
    """The space of a model's vectors, whether it serves or is being built. Raises ``ModelError``; never inside a transaction."""
    identity = embedder.identity()
    return begin(identity, even_if_declined=True) or _no_space()


def active_space() -> EmbeddingSpace | None:
    """The space that serves, made with its index on first use. None while memory is off, or before the embedder ever answered."""
    try:
        identity = backends.embedder().identity()
    except MemoryDisabled:
        return None
    except ModelError:
        return serving_space()
    begin(identity)
    return serving_space()


def serving_space() -> EmbeddingSpace | None:
    """The same from the database alone: no model is asked and nothing is begun."""
    if not get_config().memory_enabled:
        return None
    return EmbeddingSpace.objects.filter(state=State.ACTIVE).order_by("-id").first()


def is_of(space: EmbeddingSpace, identity: EmbedderIdentity) -> bool:
    return asdict(identity) == _fields(space)


def older_model(space: EmbeddingSpace) -> Embedder | None:
    """The model that made a space's vectors, if it answers and is still the same build."""
    try:
        embedder = backends.embedder_of(space)
        return embedder if is_of(space, embedder.identity()) else None
    except ModelError:
        return None


def notice_change() -> bool:
    """Begins to build where the configured model is not the one of the vectors; gives up a build that is wanted no more.

    Called when a process starts and now and then. False if the model did not answer, and it has to be looked at again.
    """
    try:
        identity = backends.embedder().identity()
    except MemoryDisabled:
        return True
    except ModelError:
        return False
    active = serving_space()
    if active is not None and is_of(active, identity):
        _stop_others(identity)
        return True
    space = begin(identity) if active is not None else None
    if space is not None and not OutboxEntry.objects.filter(kind=MIGRATE, subject=space.pk).exists():
        outbox.enqueue(MIGRATE, [space.pk])
    return True


def begin(identity: EmbedderIdentity, *, even_if_declined: bool = False) -> EmbeddingSpace | None:
    """The space of a model: the one that serves, or one that is being built from now on. None if that was declined."""
    found = EmbeddingSpace.objects.filter(**asdict(identity), state__in=IN_USE).first()
    if found is not None:
        return found
    if not even_if_declined and is_declined(identity):
        return None
    with transaction.atomic():
        hold(SPACES)
        space, _ = EmbeddingSpace.objects.get_or_create(**asdict(identity))
        active = EmbeddingSpace.objects.filter(state=State.ACTIVE).order_by("-id").first()
        if active is not None and active.pk == space.pk:
            return active  # another process was faster
        backends.vector_index(space).create()
        if active is None or not backends.vector_index(active).keys(limit=1):
            # There is nothing that could serve meanwhile.
            EmbeddingSpace.objects.exclude(pk=space.pk).update(state=State.RETIRED, kept_until=None)
            _set(space, State.ACTIVE)
        else:
            EmbeddingSpace.objects.filter(state=State.BUILDING).exclude(pk=space.pk).update(
                state=State.RETIRED
            )
            _set(space, State.BUILDING)
            logger.info("building the vectors of %s; those of %s serve meanwhile", space, active)
        InstallationState.objects.filter(name=STATE).delete()
        if EmbeddingSpace.objects.exclude(pk=space.pk).exists():
            outbox.enqueue(MIGRATE, [space.pk])
    return space


def is_declined(identity: EmbedderIdentity) -> bool:
    row = InstallationState.objects.filter(name=DECLINED).first()
    return row is not None and row.value == asdict(identity)


def decline(space: EmbeddingSpace) -> None:
    InstallationState.objects.update_or_create(name=DECLINED, defaults={"value": _fields(space)})


def _set(space: EmbeddingSpace, state: State) -> None:
    space.state, space.kept_until = state, None
    space.save(update_fields=["state", "kept_until"])


def _stop_others(identity: EmbedderIdentity) -> None:
    """The configuration names the serving model again. Another build of the same name is no change of mind: a host may be away."""
    InstallationState.objects.filter(name=DECLINED).delete()
    with transaction.atomic():
        hold(SPACES)
        rows = EmbeddingSpace.objects.filter(state=State.BUILDING)
        ids = list(rows.exclude(provider=identity.provider, name=identity.name).values_list("pk", flat=True))
        if ids:
            rows.filter(pk__in=ids).update(state=State.RETIRED)
            outbox.enqueue(MIGRATE, ids)
            InstallationState.objects.filter(name=STATE).delete()


def _note_older(*, answers: bool) -> None:
    """Kept for the dashboard: without the older model words alone serve until the build is done."""
    row = InstallationState.objects.filter(name=STATE).first()
    if bool(row and row.value.get("words_only")) == answers:
        with transaction.atomic():
            row, _ = InstallationState.objects.get_or_create(name=STATE)
            row.value["words_only"] = not answers
            row.save()


def _fields(space: EmbeddingSpace) -> dict[str, Any]:
    return {
        "provider": space.provider,
        "name": space.name,
        "digest": space.digest,
        "dimension": space.dimension,
    }


def _no_space() -> EmbeddingSpace:
    raise ModelUnavailable("The vectors of the configured model were declined.")
