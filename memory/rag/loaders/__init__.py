"""Files to sections of text. Pure functions over bytes; ``memory.rag.sandbox`` runs them where they can be killed."""

from __future__ import annotations

from memory.rag.errors import refuse
from memory.rag.loaders.encoding import decode
from memory.rag.loaders.sniff import sniff
from memory.rag.types import LoadedDocument, LoadLimits

_DEFAULT = LoadLimits()


def load(data: bytes, name: str, limits: LoadLimits = _DEFAULT) -> LoadedDocument:
    """Reads a file of any kind that is known. ``name`` is what it was called; only its ending is used.

    Raises ``RagError``: ``UNSUPPORTED_FORMAT``, or ``LOAD_FAILED`` with the cause in words and as ``reason``.
    """
    if len(data) > limits.file_bytes:
        raise refuse(
            f"The file has {len(data):,} bytes; at most {limits.file_bytes:,} are read.", "file_size"
        )
    kind = sniff(data, name)
    document = _load(data, kind, limits)
    if document.characters > limits.text_characters:
        raise refuse(f"The file has more than {limits.text_characters:,} characters of text.", "text_size")
    if len(document.sections) > limits.sections:
        raise refuse(f"The file has more than {limits.sections:,} sections or records.", "sections")
    if not any(character.isalnum() for section in document.sections for character in section.text):
        raise refuse("No text was found in the file.", "no_text")
    return document


def _load(data: bytes, kind: str, limits: LoadLimits) -> LoadedDocument:
    """Parsers are imported where they are needed: most files need one of them."""
    if kind == "pdf":
        from memory.rag.loaders.pdf import load_pdf

        return load_pdf(data, limits)
    if kind == "docx":
        from memory.rag.loaders.docx import load_docx

        return load_docx(data, limits)
    if kind == "html":
        from memory.rag.loaders.html import load_html

        return load_html(data, limits)
    text, warnings = _text(data, kind)
    if kind == "markdown":
        from memory.rag.loaders.markdown import load_markdown as parse
    elif kind == "json":
        from memory.rag.loaders.records import load_json as parse
    elif kind == "csv":
        from memory.rag.loaders.tables import load_csv as parse
    else:
        from memory.rag.loaders.text import load_text as parse
    found = parse(text, limits)
    return LoadedDocument(found.sections, found.kind, found.title, (*warnings, *found.warnings))


def _text(data: bytes, kind: str) -> tuple[str, tuple[str, ...]]:
    text, warnings = decode(data)
    if kind == "json" and warnings:
        raise refuse("JSON has to be UTF-8 (or UTF-16 with a byte-order mark). Save it as UTF-8.", "encoding")
    return text, warnings
