"""Files and folders of this machine as documents."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path

from memory.conf import get_config
from memory.models import Document, DocumentVersion
from memory.rag import documents
from memory.rag.documents import Same
from memory.rag.errors import RagError

SUFFIXES = {
    ".md",
    ".markdown",
    ".mdx",
    ".txt",
    ".text",
    ".json",
    ".pdf",
    ".html",
    ".htm",
    ".docx",
    ".csv",
    ".tsv",
}
"""Endings that are taken out of folders."""


def paths_of(path: Path) -> Iterator[Path]:
    """The files to read, those of a folder in order and without what is hidden. Raises ``RagError`` where there is nothing.

    A file that is named itself is always among them; what a folder holds of other kinds is passed over.
    """
    yield from (file for file in everything_in(path) if file == path or is_readable(file))


def is_readable(file: Path) -> bool:
    """By its ending."""
    return file.suffix.lower() in SUFFIXES


def everything_in(path: Path) -> Iterator[Path]:
    """All files below a folder, whatever they are, without what is hidden; or the one that is named."""
    if path.is_file():
        yield path
        return
    if not path.is_dir():
        raise RagError("LOAD_FAILED", f"There is no file or folder {path}.", reason="missing")
    for folder, names, found in os.walk(path):
        names[:] = sorted(name for name in names if not name.startswith("."))
        for name in sorted(found):
            file = Path(folder) / name
            if not name.startswith(".") and file.is_file():
                yield file


def take(
    path: Path,
    *,
    guild_ids: Collection[int] | None = None,
    same: Same = "replace",
    origin: str = Document.Origin.COMMAND,
    reference: str | None = None,
    source: str = "",
) -> DocumentVersion:
    """One file as a document, queued. Raises ``RagError``."""
    most = get_config().rag.max_file_bytes
    try:
        with path.open("rb") as file:
            data = file.read(most + 1)
    except OSError as error:
        raise RagError(
            "LOAD_FAILED", f"{path.name} cannot be read: {error.strerror}.", reason="unreadable"
        ) from error
    return documents.upload(
        name=path.name,
        data=data,
        guild_ids=guild_ids,
        same=same,
        origin=origin,
        reference=reference,
        source=source,
    )
