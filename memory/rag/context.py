"""What is indexed of a chunk beyond its own words: the names of the file, the document and the headings it stands under."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from memory.index.terms import split_cjk
from memory.rag.loaders.clean import folded


def file_words(name: str) -> str:
    """A file's name as words: ``server-rules.de.md`` is ``server rules de``."""
    return " ".join(re.sub(r"[._\-]+", " ", PurePosixPath(name.replace("\\", "/")).stem).split())


def context(name: str, title: str, heading_path: Sequence[str]) -> str:
    """The names a chunk stands under, outermost first, none twice."""
    parts: list[str] = []
    for part in (file_words(name), title, *heading_path):
        if part and part.casefold() not in (other.casefold() for other in parts):
            parts.append(part)
    return " › ".join(parts)


def embedded_text(text: str, context: str) -> str:
    """What the vector of a chunk in its context is made of; the plain vector is that of the text alone."""
    return f"{context}\n{text}" if context else text


def full_text(text: str, name: str, title: str, heading_path: Sequence[str]) -> tuple[str, str, str]:
    """Columns of the full-text index: the chunk's words, its headings, the document's names."""
    headings = " ".join(heading_path)
    return (
        split_cjk(folded(text)),
        split_cjk(folded(headings)),
        split_cjk(folded(f"{file_words(name)} {title}")),
    )


def citation(name: str, heading_path: Sequence[str], page: int | None = None, row: int | None = None) -> str:
    """How a source is named: ``faq.md › Shipping``, ``manual.pdf › p. 12``, ``prices.csv › row 3``."""
    if page is not None:
        return f"{name} › p. {page}"
    if heading_path:
        return f"{name} › {heading_path[-1]}"
    return f"{name} › row {row}" if row is not None else name
