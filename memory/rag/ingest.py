"""From an uploaded file to passages that are found: parse, chunk, embed, ready. Each stage can be seen, cancelled and done again.

The row of a version is the truth; an outbox entry of kind ``ingest`` (subject: the version's id) is the work. The version before
it serves until this one is ready; a first version is found by its words as soon as it has any.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from memory import backends, outbox
from memory.conf import RagSettings, get_config
from memory.errors import MemoryDisabled, ModelError
from memory.index.chunks import vector_tables
from memory.models import Chunk, Document, DocumentVersion, OutboxEntry
from memory.rag import evaluation, parsing, spaces, store
from memory.rag.documents import INGEST as INGEST
from memory.rag.documents import prune
from memory.rag.embedding import BATCH, embed
from memory.rag.errors import RagError
from memory.rag.sandbox import Unwanted
from memory.rag.spaces import Space

logger = logging.getLogger(__name__)

REINDEX = "reindex"
"""Kind of work that builds the vectors of another model; its subject is always 1."""
SECONDS = 15.0
"""How long one go embeds before it gives the work back, so that others get their turn."""
WORDS_ONLY = "No embedding model is configured, so its passages are found by their words alone."

State = DocumentVersion.State


def ingest_entries(entries: Sequence[OutboxEntry], settings: RagSettings | None = None) -> None:
    """Handler of ``ingest``. Every entry is finished or given back; what is wrong with a document stands on its row."""
    settings = settings or get_config().rag
    for entry in entries:
        version = DocumentVersion.objects.select_related("document").filter(pk=entry.subject).first()
        if version is None or not version.busy:
            outbox.finish([entry])
            continue
        try:
            if version.state != State.EMBED and not _read(version, entry, settings):
                outbox.finish([entry])
                continue
            _embed(version, entry)
        except Unwanted:
            outbox.finish([entry])
            logger.info("document %d: reading was stopped", version.document_id)
        except RagError as error:
            _failed(version, entry, error)


def _enter(version: DocumentVersion, state: str, **values: Any) -> bool:
    """The next stage; False if the version was cancelled or deleted meanwhile."""
    busy = DocumentVersion.objects.filter(
        pk=version.pk, state__in=[State.QUEUED, State.PARSE, State.CHUNK, State.EMBED]
    )
    version.state = state
    return bool(busy.update(state=state, stage_at=timezone.now(), **values))


def _read(version: DocumentVersion, entry: OutboxEntry, settings: RagSettings) -> bool:
    """Parses and cuts, with what was written in an earlier try removed first."""
    if not _enter(version, State.PARSE, error="", error_code="", reason=""):
        return False
    document = parsing.load(
        version.stored_name, version.name, settings, wanted=lambda: store.is_busy(version.pk)
    )
    found = {
        "kind": document.kind,
        "title": " ".join(document.title.split())[:300],
        "warnings": list(document.warnings)[:20],
        "sections": len(document.sections),
        "characters": document.characters,
    }
    with transaction.atomic():
        # The words of passages depend on the title, so those of an earlier try go first.
        store.drop([version.pk])
        if not _enter(version, State.CHUNK, chunks_total=0, chunks_done=0, chunks_embedded=0, **found):
            return False
    version.title = str(found["title"])
    rows = store.rows_of(version, parsing.chunk(document, settings))
    DocumentVersion.objects.filter(pk=version.pk).update(chunks_total=len(rows))
    if not outbox.extend([entry]) or not store.write(version, rows):
        return False
    with transaction.atomic():
        # A first version serves by its words while its vectors are made.
        Document.objects.filter(pk=version.document_id, active=None).update(active=version)
        return _enter(version, State.EMBED)


def _embed(version: DocumentVersion, entry: OutboxEntry) -> None:
    until = time.monotonic() + SECONDS
    try:
        embedder = backends.embedder()
        space = Space.of(embedder.identity())
    except MemoryDisabled:
        _ready(version, entry, warning=WORDS_ONLY)
        return
    except ModelError as error:
        _wait(version, entry, error)
        return
    _note_space(space)
    pending = Chunk.objects.filter(version=version, embedding=Chunk.Embedding.PENDING)
    pending = pending.select_related("version").order_by("key")
    while rows := list(pending[:BATCH]):
        if not outbox.extend([entry]) or not store.is_busy(version.pk):
            outbox.finish([entry])
            return
        try:
            embed(version.pk, rows, embedder, space)
        except ModelError as error:
            _wait(version, entry, error)
            return
        if time.monotonic() > until:
            outbox.hold([entry], 0)
            return
    _ready(version, entry)


def _note_space(space: Space) -> None:
    """The first model's vectors serve at once; those of another one when they are complete."""
    served = spaces.serving()
    if served == space:
        return
    with transaction.atomic():
        if served is None or served.index().table not in vector_tables():
            spaces.serve(space)
        else:
            space.index().create()
            outbox.enqueue(REINDEX, [1])


def _ready(version: DocumentVersion, entry: OutboxEntry, *, warning: str = "") -> None:
    refused = Chunk.objects.filter(version=version, embedding=Chunk.Embedding.FAILED).count()
    with transaction.atomic():
        row = DocumentVersion.objects.select_related("document__active").filter(pk=version.pk).first()
        if row is None or not row.busy:
            outbox.finish([entry])
            return
        row.state, row.stage_at, row.ready_at = State.READY, timezone.now(), timezone.now()
        row.error = row.error_code = row.reason = ""
        if refused:
            warning = f"{refused} passages could not be embedded; they are found by their words alone."
        if warning:
            row.warnings = [*row.warnings, warning]
        row.save(update_fields=["state", "stage_at", "ready_at", "error", "error_code", "reason", "warnings"])
        document = row.document
        if document.active is None or document.active.number <= row.number:
            Document.objects.filter(pk=document.pk).update(active=row, updated_at=timezone.now())
        prune(document.pk)
        outbox.finish([entry])
        evaluation.note_change(f"{document.name}, version {row.number}")
    logger.info("document %d, version %d is ready: %d passages", document.pk, row.number, row.chunks_total)


def _failed(version: DocumentVersion, entry: OutboxEntry, error: RagError) -> None:
    """What is wrong with the document is told on its page; nothing of it stays behind, and trying again is up to people."""
    with transaction.atomic():
        store.drop([version.pk])
        Document.objects.filter(pk=version.document_id, active=version).update(active=None)
        _enter(
            version,
            State.FAILED,
            error_code=error.code,
            reason=error.reason[:40],
            error=error.message[:500],
            chunks_total=0,
            chunks_done=0,
        )
        outbox.finish([entry])
    logger.info("document %d was refused: %s %s", version.document_id, error.code, error.reason)


def _wait(version: DocumentVersion, entry: OutboxEntry, error: ModelError) -> None:
    """The embedder does not answer: tried again after ``retryDelayMs``; until then the reason can be seen."""
    DocumentVersion.objects.filter(pk=version.pk).update(
        error_code="EMBEDDING_FAILED", reason=error.code[:40], error=error.message[:500]
    )
    outbox.hold([entry], get_config().rag.retry_delay_ms / 1000)
    logger.warning("document %d waits for the embedder: %s", version.document_id, error.code)


def reindex_entries(entries: Sequence[OutboxEntry]) -> None:
    """Handler of ``reindex``: the passages' vectors of the configured model, then the switch to them."""
    try:
        embedder = backends.embedder()
        space = Space.of(embedder.identity())
        if not _reindex(entries, embedder, space):
            return
    except MemoryDisabled:
        pass
    except ModelError as error:
        logger.warning("the documents' index waits for the embedder: %s", error.code)
        outbox.hold(entries, get_config().rag.retry_delay_ms / 1000)
        return
    outbox.finish(entries)


def _reindex(entries: Sequence[OutboxEntry], embedder: Any, space: Space) -> bool:
    until = time.monotonic() + SECONDS
    space.index().create()
    while rows := list(_without(space)[:BATCH]):
        if not outbox.extend(entries):
            return False
        embed(0, rows, embedder, space)
        if time.monotonic() > until:
            outbox.hold(entries, 0)
            return False
    if spaces.serving() != space:
        with transaction.atomic():
            spaces.serve(space)
            evaluation.note_change(f"embedding model {space}")
        logger.info("the documents' index was rebuilt with %s", space)
    return True


def _without(space: Space) -> QuerySet[Chunk]:
    """Passages with vectors of another model, and those of finished documents that never got one."""
    older = Q(embedding=Chunk.Embedding.DONE) & ~Q(space=space.id)
    never = Q(embedding=Chunk.Embedding.PENDING, version__state=State.READY)
    return Chunk.objects.filter(older | never).select_related("version").order_by("key")


def note_if_due() -> None:
    """For the sweep: queues the rebuild where the configured model is not the one that serves; asks no host."""
    if not get_config().memory_enabled or OutboxEntry.objects.filter(kind=REINDEX).exists():
        return
    never = Chunk.objects.filter(embedding=Chunk.Embedding.PENDING, version__state=State.READY).exists()
    if never or (Chunk.objects.exists() and _model_changed()):
        with transaction.atomic():
            outbox.enqueue(REINDEX, [1])


def _model_changed() -> bool:
    model, served = get_config().memory.embedding_model, spaces.serving()
    if model is None or served is None:
        return False
    named = model.name.removesuffix(":latest") == served.name.removesuffix(":latest")
    return model.provider != served.provider or not (named or model.provider in {"local", "hash"})


def rebuild_progress() -> tuple[int, int] | None:
    """(done, total) of the passages while another model's vectors are built; None otherwise."""
    if not OutboxEntry.objects.filter(kind=REINDEX).exists():
        return None
    served = spaces.serving()
    rows = Chunk.objects.filter(embedding=Chunk.Embedding.DONE)
    total = rows.count()
    return (total - rows.filter(space=served.id).count() if served else 0, total)
