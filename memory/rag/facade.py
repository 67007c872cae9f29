"""Retrieval for programs: ``create_rag()`` gives one object with documents, retrieval and the index behind it.

The index is the database, shared with everything else of the installation. Every failure is a ``RagError`` with a code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from django.utils import timezone

from memory import outbox
from memory.conf import DocumentSource, RagSettings, get_config
from memory.errors import MusebotError
from memory.models import Document, DocumentVersion, OutboxEntry
from memory.rag import documents, importing, ingest
from memory.rag.citations import format_context
from memory.rag.documents import INGEST
from memory.rag.errors import RagError
from memory.rag.options import Filters, Found, Hit, Signal, checked
from memory.rag.retriever import DocumentRetriever

__all__ = ["Rag", "create_rag", "format_context"]


class Rag:
    """A retriever over the stored documents that also takes them in. Cheap until it is used."""

    def __init__(
        self, settings: RagSettings, filters: Filters, on_error: Callable[[RagError], object] | None
    ) -> None:
        self.settings = settings
        self.on_error = on_error
        self._retriever = DocumentRetriever(settings, filters)
        self._loaded = False
        self._failed: tuple[float, RagError] | None = None

    def retrieve(
        self,
        query: str,
        top_k: int | None = None,
        min_score: float | None = None,
        signal: Signal | None = None,
        *,
        filters: Filters | None = None,
    ) -> list[Hit]:
        """The best passages. The documents that were given are taken in first; after that failed it fails at once for a while."""
        self._load()
        return self._retriever.retrieve(query, top_k, min_score, signal, filters=filters)

    def search(self, query: str, **options: Any) -> Found:
        """``retrieve`` with what was left out and why."""
        self._load()
        return self._retriever.search(query, **options)

    def add_text(self, text: str, *, source: str = "", id: str = "") -> DocumentVersion:
        """One text as a document under ``id``, or ``source``; the same name again replaces it."""
        name = id or source
        if not name.strip() or not text.strip():
            raise RagError(
                "INVALID_OPTIONS", "A text needs an id or a source, and some words.", reason="text"
            )
        return self._done(
            documents.upload(
                name=name if name.lower().endswith((".txt", ".md")) else f"{name}.txt",
                data=text.encode("utf-8", "replace"),
                origin=Document.Origin.TEXT,
                reference=f"text:{name}"[:300],
                source=source or name,
            )
        )

    def add_files(self, paths: Iterable[str | Path]) -> list[DocumentVersion]:
        """Files, and folders with all below them. The first that cannot be read raises its ``RagError``."""
        found = [file for path in paths for file in importing.paths_of(Path(path).expanduser())]
        return [self._done(importing.take(file, origin=Document.Origin.TEXT)) for file in found]

    def remove_document(self, name: str) -> bool:
        """By id, source or file name. False if there is none."""
        row = (
            Document.objects.filter(reference=f"text:{name}"[:300]).first()
            or Document.objects.filter(name=name).order_by("-pk").first()
            or Document.objects.filter(versions__source=name).order_by("-pk").first()
        )
        if row is None:
            return False
        documents.delete(row.pk)
        return True

    def warmup(self) -> None:
        """Takes in the documents that were given, so that the first question does not wait for it."""
        self._load()

    def save(self) -> None:
        """Nothing to do: every change is in the database when its call returns."""

    def _load(self) -> None:
        if self._loaded:
            return
        now = timezone.now().timestamp()
        if self._failed is not None and now < self._failed[0]:
            raise self._failed[1]
        try:
            for given in self.settings.documents:
                if given.id:
                    self.add_text(given.text, source=given.source, id=given.id)
                else:
                    self.add_files([given.path])
        except RagError as error:
            self._failed = (now + self.settings.retry_delay_ms / 1000, error)
            raise
        self._loaded, self._failed = True, None

    def _done(self, version: DocumentVersion) -> DocumentVersion:
        """Does the work here and now; what the embedder's absence holds up stays for the worker."""
        work_on(version.pk, settings=self.settings)
        version.refresh_from_db()
        if version.state == DocumentVersion.State.FAILED:
            raise RagError(version.error_code, version.error, reason=version.reason)  # type: ignore[arg-type]
        if version.error_code and self.on_error:
            self.on_error(RagError(version.error_code, version.error, reason=version.reason))  # type: ignore[arg-type]
        return version


def work_on(
    version_id: int,
    progress: Callable[[DocumentVersion], object] | None = None,
    settings: RagSettings | None = None,
) -> DocumentVersion | None:
    """Does what is queued for one version, here, until it is ready, failed or has to wait; None if it is gone."""
    while True:
        version = DocumentVersion.objects.select_related("document").filter(pk=version_id).first()
        if version is None or not version.busy:
            return version
        if progress is not None:
            progress(version)
        entry = outbox.claim_one(INGEST, version_id)
        if entry is None:
            return version  # a worker has it, or it waits for the embedder
        try:
            ingest.ingest_entries([entry], settings)
        except MusebotError as error:
            outbox.fail([entry], error)
            raise
        if OutboxEntry.objects.filter(kind=INGEST, subject=version_id, due_at__gt=timezone.now()).exists():
            version.refresh_from_db()
            return version


def create_rag(
    *,
    documents: Iterable[str | Path | dict[str, str]] = (),
    chunk_size: int | None = None,
    chunk_overlap: int | None = None,
    top_k: int | None = None,
    min_score: float | None = None,
    cwd: str | Path | None = None,
    max_file_bytes: int | None = None,
    retry_delay_ms: int | None = None,
    guild_id: int | None = None,
    on_error: Callable[[RagError], object] | None = None,
) -> Rag:
    """A retriever over the documents of this installation, and over those that are given, which are taken in on first use.

    What is not given is as the configuration has it; ``guild_id`` adds what answers on that server alone. Raises ``RagError``
    (``INVALID_OPTIONS``). Embeddings and storage are the installation's.
    """
    base = Path(cwd).expanduser() if cwd is not None else Path.cwd()
    given = []
    for each in documents:
        if isinstance(each, dict):
            given.append(
                DocumentSource(
                    id=each.get("id", ""), text=each.get("text", ""), source=each.get("source", "")
                )
            )
        else:
            given.append(DocumentSource(path=str(base / Path(each).expanduser())))
    settings = checked(
        get_config().rag,
        chunk_size=chunk_size,
        chunk_overlap=chunk_overlap,
        top_k=top_k,
        min_score=min_score,
        max_file_bytes=max_file_bytes,
        retry_delay_ms=retry_delay_ms,
        documents=tuple(one.model_dump() for one in given),
    )
    return Rag(settings, Filters(guild_id=guild_id), on_error)
