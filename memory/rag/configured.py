"""Documents that the configuration names (``rag.documents``): read when the worker starts, and again when a file changes."""

from __future__ import annotations

import hashlib
import logging
from pathlib import Path

from memory.conf import DocumentSource, get_config
from memory.models import Document
from memory.rag import documents, importing
from memory.rag.errors import RagError

logger = logging.getLogger(__name__)

_seen: dict[str, tuple[int, int]] = {}
"""Modification time and size by path, as this process last read it."""


def note_if_due() -> None:
    """For the sweep: takes in what is new or changed."""
    if get_config().rag.documents:
        take_in()


def take_in() -> list[str]:
    """Queues new and changed documents of the configuration and deletes those that it does not name any more; problems in words."""
    problems: list[str] = []
    wanted: set[str] = set()
    for given in get_config().rag.documents:
        try:
            wanted |= _text(given) if given.id else _files(Path(given.path))
        except RagError as error:
            problems.append(f"{error.code}: {error.message}")
            logger.warning("a document of the configuration was refused: %s %s", error.code, error.reason)
            before = Document.objects.filter(reference__startswith=f"config:{given.path}")
            wanted |= {str(row.reference) for row in before}
    gone = Document.objects.filter(origin=Document.Origin.CONFIG).exclude(reference__in=wanted)
    for document_id in gone.values_list("pk", flat=True):
        documents.delete(document_id)
    return problems


def _text(given: DocumentSource) -> set[str]:
    reference = f"config:{given.id}"[:300]
    documents.upload(
        name=_as_text(given.id),
        data=given.text.encode(),
        origin=Document.Origin.CONFIG,
        reference=reference,
        source=given.source or given.id,
    )
    return {reference}


def _as_text(name: str) -> str:
    return name if name.lower().endswith((".txt", ".md")) else f"{name}.txt"


def _files(path: Path) -> set[str]:
    found = set()
    for file in importing.paths_of(path):
        reference = f"config:{file}"
        if len(reference) > 300:
            reference = f"config:{hashlib.sha256(str(file).encode()).hexdigest()}"
        found.add(reference)
        state = file.stat()
        stamp = (state.st_mtime_ns, state.st_size)
        if _seen.get(reference) == stamp and Document.objects.filter(reference=reference).exists():
            continue
        source = file.name if file == path else str(file.relative_to(path.parent))
        importing.take(file, origin=Document.Origin.CONFIG, reference=reference, source=source)
        _seen[reference] = stamp
    return found
