"""What a file is: by its bytes first, by its name only among kinds of text."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import PurePosixPath

from memory.rag.errors import refuse, unsupported
from memory.rag.types import Kind

BY_SUFFIX: dict[str, Kind] = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".mdx": "markdown",
    ".txt": "text",
    ".text": "text",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "csv",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".docx": "docx",
    ".pdf": "pdf",
}
NAMES: dict[str, str] = {
    "markdown": "Markdown",
    "text": "plain text",
    "json": "JSON",
    "csv": "CSV",
    "html": "HTML",
    "docx": "Word (.docx)",
    "pdf": "PDF",
}
_SIGNATURES = (
    (b"\x7fELF", "a program"),
    (b"MZ\x90", "a program"),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"GIF8", "a picture"),
    (b"\x1f\x8b", "an archive"),
    (b"7z\xbc\xaf", "an archive"),
    (b"Rar!", "an archive"),
    (b"BZh", "an archive"),
    (b"\xd0\xcf\x11\xe0", "an old Office file; save it as .docx"),
    (b"SQLite format 3", "a database"),
    (b"{\\rtf", "rich text; save it as .docx"),
)
_ZIPPED = (b"PK\x03\x04", b"PK\x05\x06")
_HTML = re.compile(rb"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html[\s>])", re.I | re.S)


def suffix(name: str) -> str:
    return PurePosixPath(name.replace("\\", "/")).suffix.lower()


def glance(head: bytes, name: str) -> None:
    """Refuses what no loader would take, by its name and first bytes alone: nothing is unpacked. ``head`` is 1 kB or more of it.

    Raises as ``sniff`` does; what passes may still be refused by that.
    """
    if not head or (head.startswith(_ZIPPED) and suffix(name) in ("", ".docx")):
        return
    if head.startswith(_ZIPPED):
        raise unsupported(f"This file is an archive. Readable are {', '.join(NAMES.values())}.", "binary")
    sniff(head, name)


def sniff(data: bytes, name: str) -> Kind:
    """The kind of a file. Raises ``UNSUPPORTED_FORMAT`` where its bytes are of no kind that is read, or belie its name."""
    if not data:
        raise refuse("The file is empty.", "empty")
    named = BY_SUFFIX.get(suffix(name))
    found = _binary(data, named)
    if found in ("pdf", "docx"):
        kind: Kind = "pdf" if found == "pdf" else "docx"
        if named not in (None, kind):
            raise unsupported(
                f"The file is named {suffix(name)} but its content is {NAMES[kind]}.", "mismatch"
            )
        return kind
    if found:
        raise unsupported(f"This file is {found}. Readable are {', '.join(NAMES.values())}.", "binary")
    if named in ("pdf", "docx"):
        raise unsupported(f"The file is named {suffix(name)} but it is not {NAMES[named]}.", "mismatch")
    if named is None and suffix(name):
        raise unsupported(
            f"Files of type {suffix(name)} are not read. Readable are {', '.join(NAMES.values())}."
        )
    if named is None:
        return "html" if _HTML.match(data[:2048]) else "text"
    return named


def _binary(data: bytes, named: Kind | None) -> Kind | str:
    """``pdf``, ``docx``, the name of another binary kind, or nothing for text."""
    if data.startswith(_ZIPPED):
        return _archive(data, named)
    for signature, what in _SIGNATURES:
        if data.startswith(signature):
            return what
    if b"%PDF-" in data[: 1024 if named in (None, "pdf") else 5]:
        return "pdf"
    controls = sum(1 for byte in data[:8192] if byte < 9 or 13 < byte < 32 and byte != 27)
    zeros = data[:8192].count(0)
    # Zeros alone may be UTF-16, which the decoder settles.
    return "binary data" if controls - zeros > len(data[:8192]) * 0.1 else ""


def _archive(data: bytes, named: Kind | None) -> Kind | str:
    try:
        names = set(zipfile.ZipFile(io.BytesIO(data)).namelist())
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError, RuntimeError):
        if named == "docx":
            raise refuse("The Word document is damaged or cut off.", "damaged") from None
        return "a damaged archive"
    if "word/document.xml" in names:
        return "docx"
    if named == "docx" and "[Content_Types].xml" in names:
        raise refuse("The Word document is damaged: its main part is missing.", "damaged")
    if named == "docx":
        raise unsupported("The file is named .docx but it is not a Word document.", "mismatch")
    return "an archive"
