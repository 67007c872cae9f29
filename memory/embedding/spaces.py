"""Which vectors are in use. A changed model gets a space of its own, and what an older one embedded is queued again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import transaction

from memory import backends, outbox
from memory.conf import get_config
from memory.errors import MemoryDisabled, ModelError
from memory.llm.base import Embedder
from memory.models import EmbeddingSpace, Member, Message, OutboxEntry

MIGRATE = "respace"
"""Kind of work that takes messages over into a new space; the subject is the new space's id."""
MIGRATE_BATCH = 500


def active_space() -> EmbeddingSpace | None:
    """The space of the configured embedder, made with its index on first use. None while memory is off.

    While the embedder does not answer, the space that was used last with that provider, or None.
    """
    try:
        return space_of(backends.embedder())
    except MemoryDisabled:
        return None
    except ModelError:
        model = get_config().memory.embedding_model
        if model is None:
            return None
        return EmbeddingSpace.objects.filter(
            state=EmbeddingSpace.State.ACTIVE, provider=model.provider
        ).first()


def space_of(embedder: Embedder) -> EmbeddingSpace:
    """May ask the host for the model's identity, so it raises ``ModelError``; never called inside a transaction."""
    identity = embedder.identity()
    wanted: dict[str, Any] = {
        "provider": identity.provider,
        "name": identity.name,
        "digest": identity.digest,
        "dimension": identity.dimension,
    }
    space = EmbeddingSpace.objects.filter(**wanted, state=EmbeddingSpace.State.ACTIVE).first()
    if space is not None:
        return space
    with transaction.atomic():
        space, _ = EmbeddingSpace.objects.get_or_create(**wanted)
        if space.state != EmbeddingSpace.State.ACTIVE:
            backends.vector_index(space).create()
            others = EmbeddingSpace.objects.exclude(id=space.id)
            others.update(state=EmbeddingSpace.State.RETIRED)
            space.state = EmbeddingSpace.State.ACTIVE
            space.save(update_fields=["state"])
            if others.exists():
                outbox.enqueue(MIGRATE, [space.id])
    return space


def migrate_entries(entries: Sequence[OutboxEntry]) -> None:
    """Handler of ``respace``: queues what an older model embedded, in batches, then drops the older indexes."""
    for entry in entries:
        space = EmbeddingSpace.objects.filter(id=entry.subject, state=EmbeddingSpace.State.ACTIVE).first()
        if space is not None:
            _queue_again(space)
            _drop_retired()
        outbox.finish([entry])


def _queue_again(space: EmbeddingSpace) -> None:
    after = -1
    embedded = [Message.Embedding.DONE, Message.Embedding.FAILED]
    while True:
        with transaction.atomic():
            rows = Message.objects.filter(key__gt=after, embedding__in=embedded).exclude(space=space)
            some = list(rows.order_by("key").values_list("key", "member_id")[:MIGRATE_BATCH])
            if not some:
                return
            after = some[-1][0]
            Message.objects.filter(key__in=[key for key, _ in some]).update(
                embedding=Message.Embedding.PENDING, space=None
            )
            epochs = dict(
                Member.objects.filter(user_id__in={owner for _, owner in some}).values_list(
                    "user_id", "epoch"
                )
            )
            for user_id, epoch in epochs.items():
                keys = [key for key, owner in some if owner == user_id]
                outbox.enqueue("embed", keys, user_id=user_id, epoch=epoch)


def _drop_retired() -> None:
    for space in EmbeddingSpace.objects.filter(state=EmbeddingSpace.State.RETIRED):
        index = backends.vector_index(space)
        while keys := index.keys(limit=MIGRATE_BATCH):
            with transaction.atomic():
                index.remove(keys)
        with transaction.atomic():
            # Unless it is in use again.
            if EmbeddingSpace.objects.filter(id=space.id, state=EmbeddingSpace.State.RETIRED).delete()[0]:
                index.drop()
