"""What makes searches faster and an older index lacks, built a stretch at a time while everything goes on."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import connection, transaction

from memory import backends, outbox
from memory.models import EmbeddingSpace, OutboxEntry

PREPARE = "prepare"
"""Kind of work; the subject is the space's id."""
TURN_SECONDS = 10.0


def prepare_entries(entries: Sequence[OutboxEntry]) -> None:
    """Handler of ``prepare``: some seconds of each space, and again until nothing is left."""
    for entry in entries:
        space = EmbeddingSpace.objects.filter(pk=entry.subject).first()
        if space is None or backends.vector_index(space).prepare(TURN_SECONDS):
            outbox.finish([entry])
        else:
            outbox.hold([entry], 0)


def note_large_guilds() -> None:
    """Notes the building of graphs for guilds that have become large (see ``memory.index.pgvector``)."""
    if connection.vendor != "postgresql":
        return
    from memory.index.pgvector import PgVectorIndex

    for space in EmbeddingSpace.objects.exclude(state=EmbeddingSpace.State.RETIRED):
        noted = OutboxEntry.objects.filter(kind=PREPARE, subject=space.pk)
        if PgVectorIndex(space.pk, space.dimension).large_guilds() and not noted.exists():
            with transaction.atomic():
                outbox.enqueue(PREPARE, [space.pk])
