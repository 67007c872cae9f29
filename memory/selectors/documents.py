"""Documents with their versions, for lists and pages."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from django.db.models import Prefetch, Q, QuerySet
from django.utils import timezone

from memory.models import (
    Chunk,
    Document,
    DocumentVersion,
    EvaluationQuestion,
    EvaluationRun,
    OutboxEntry,
    ReplyChunk,
)
from memory.selectors.paging import Page, keyset_page

BUSY = ("queued", "parse", "chunk", "embed")


@dataclass(frozen=True, slots=True)
class DocumentFilters:
    text: str = ""
    guild_id: int | None = None
    """What answers on this server: its own and everywhere's."""
    state: str = ""
    """ready, busy, failed or off; empty for all."""


def documents(filters: DocumentFilters, *, limit: int, cursor: str | None = None) -> Page[Document]:
    """Changed last first. Each row has ``newest`` (its newest version) and ``places`` (the servers it is limited to)."""
    rows = _documents()
    if filters.text:
        rows = rows.filter(name__icontains=filters.text)
    if filters.guild_id is not None:
        here = Document.guilds.through.objects.filter(guild__discord_id=filters.guild_id)
        rows = rows.filter(Q(everywhere=True) | Q(pk__in=here.values("document_id")))
    if filters.state == "off":
        rows = rows.filter(enabled=False)
    elif filters.state == "busy":
        rows = rows.filter(versions__state__in=BUSY).distinct()
    elif filters.state == "failed":
        rows = rows.filter(versions__state="failed").distinct()
    elif filters.state == "ready":
        rows = rows.filter(enabled=True, active__state="ready")
    found = keyset_page(rows, moment="updated_at", key="id", limit=limit, cursor=cursor)
    for row in found.rows:
        _complete(row)
    return found


def document(document_id: int) -> Document | None:
    row = _documents().filter(pk=document_id).first()
    return _complete(row) if row is not None else None


def _documents() -> QuerySet[Document]:
    versions = DocumentVersion.objects.order_by("-number")
    return Document.objects.select_related("active").prefetch_related(
        Prefetch("versions", versions, to_attr="all_versions"), "guilds"
    )


def _complete(row: Document) -> Document:
    versions: list[DocumentVersion] = row.all_versions  # type: ignore[attr-defined]
    row.newest = versions[0] if versions else None  # type: ignore[attr-defined]
    row.places = [] if row.everywhere else list(row.guilds.all())  # type: ignore[attr-defined]
    return row


def ingest_wait(version: DocumentVersion) -> float | None:
    """Seconds until a version that waits for the embedder is tried again; None where it does not wait."""
    entry = OutboxEntry.objects.filter(kind="ingest", subject=version.pk).first()
    if entry is None or entry.due_at <= timezone.now():
        return None
    return (entry.due_at - timezone.now()).total_seconds()


def passages(version_id: int, *, after: int = -1, limit: int = 100) -> list[Chunk]:
    """Passages of a version in order, those with a key above ``after``."""
    return list(Chunk.objects.filter(version_id=version_id, key__gt=after).order_by("key")[:limit])


def passage(key: int) -> Chunk | None:
    return Chunk.objects.select_related("version__document").filter(key=key).first()


def reply_passages(trace_id: uuid.UUID) -> list[ReplyChunk]:
    """What a reply considered, the injected ones first."""
    rows = ReplyChunk.objects.filter(reply_id=trace_id).select_related("chunk__version__document")
    return list(rows.order_by("-injected", "rank"))


def documents_failed() -> int:
    """Documents whose newest upload could not be read."""
    failed = DocumentVersion.objects.filter(state="failed").values("document_id").distinct()
    return failed.count()


def evaluation_runs(limit: int = 20) -> list[EvaluationRun]:
    """The newest first."""
    return list(EvaluationRun.objects.order_by("-created_at", "-id")[:limit])


def evaluation_run(run_id: int) -> EvaluationRun | None:
    return EvaluationRun.objects.filter(pk=run_id).first()


def evaluation_questions() -> list[EvaluationQuestion]:
    return list(EvaluationQuestion.objects.select_related("guild").order_by("-created_at", "-id"))
