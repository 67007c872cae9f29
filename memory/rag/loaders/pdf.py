"""PDF by pages; headings by the size of their letters. Pictures are never decoded."""

from __future__ import annotations

import io
import logging
import re
from collections import Counter
from typing import Any

from pypdf import PdfReader
from pypdf.errors import DependencyError, FileNotDecryptedError, LimitReachedError, PyPdfError

from memory.rag.errors import RagError, refuse
from memory.rag.loaders.clean import clean, looks_unreadable, one_line
from memory.rag.types import LoadedDocument, LoadLimits, Section

_FAULTS = (
    PyPdfError,
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    AttributeError,
    RecursionError,
    OSError,
    ArithmeticError,
)
_EDGE_LINES = 3
"""Lines at the top and the bottom of a page among which running heads are looked for."""

Line = tuple[str, float]


def load_pdf(data: bytes, limits: LoadLimits) -> LoadedDocument:
    """A section for each page and heading. Raises ``LOAD_FAILED`` for passwords, damage, scans and bombs."""
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    reader = _open(data)
    try:
        count = len(reader.pages)
    except _FAULTS:
        raise refuse("The PDF is damaged or too complex.", "damaged") from None
    if count > limits.pages:
        raise refuse(f"The PDF has {count} pages; at most {limits.pages} are read.", "pages")
    pages, failed = _read(reader, count)
    if not any(text.strip() for lines in pages for text, _ in lines):
        raise _nothing(reader, count, failed)
    sections = _sections(_without_running_heads(pages))
    warnings = _warnings(pages, failed, count, sections)
    return LoadedDocument(sections, "pdf", _title(reader), warnings)


def _open(data: bytes) -> PdfReader:
    try:
        reader = PdfReader(io.BytesIO(data), strict=False)
        if reader.is_encrypted and not reader.decrypt(""):
            raise refuse("The PDF is password-protected. Save it without a password.", "password")
    except FileNotDecryptedError:
        raise refuse("The PDF is password-protected. Save it without a password.", "password") from None
    except DependencyError as error:
        raise RagError(
            "MISSING_DEPENDENCY", "The PDF is encrypted; reading it needs the package cryptography."
        ) from error
    except NotImplementedError:
        raise refuse("The PDF is encrypted in a way that is not read here.", "password") from None
    except _FAULTS:
        raise refuse("The PDF is damaged or too complex.", "damaged") from None
    return reader


def _read(reader: PdfReader, count: int) -> tuple[list[list[Line]], list[int]]:
    """Lines of each page with the size of their letters, and the numbers of pages that could not be read."""
    pages: list[list[Line]] = []
    failed: list[int] = []
    for number in range(count):
        try:
            pages.append(_lines(reader.pages[number]))
        except (*_FAULTS, DependencyError):
            pages.append([])
            failed.append(number + 1)
    return pages, failed


def _lines(page: Any) -> list[Line]:
    sizes: dict[str, float] = {}
    current: list[str] = []
    largest = 0.0

    def visit(text: str, cm: Any, tm: Any, font: Any, size: float) -> None:
        nonlocal current, largest
        scale = (abs(tm[0] * cm[0]) or abs(tm[1] * cm[1]) or 1.0) * float(size or 0)
        for position, piece in enumerate(text.split("\n")):
            if position:
                sizes.setdefault(_key("".join(current)), largest)
                current, largest = [], 0.0
            if piece.strip():
                largest = max(largest, scale)
            current.append(piece)

    text = clean(page.extract_text(visitor_text=visit) or "")
    sizes.setdefault(_key("".join(current)), largest)
    return [(line, round(sizes.get(_key(line), 0.0), 1)) for line in text.split("\n")]


def _key(line: str) -> str:
    return "".join(line.split())


def _without_running_heads(pages: list[list[Line]]) -> list[list[Line]]:
    """Drops lines that stand at the edge of most pages, page numbers in them aside."""
    if len(pages) < 4:
        return pages
    seen: Counter[str] = Counter()
    edges = [_edge(lines) for lines in pages]
    for lines, edge in zip(pages, edges, strict=True):
        seen.update({_masked(lines[i][0]) for i in edge})
    running = {line for line, times in seen.items() if times > len(pages) * 0.6}
    kept = [
        [line for i, line in enumerate(lines) if i not in edge or _masked(line[0]) not in running]
        for lines, edge in zip(pages, edges, strict=True)
    ]
    # Where much would go, it is not a head: a page may hold one sentence that differs by its numbers only.
    return kept if _length(kept) > _length(pages) * 0.7 else pages


def _length(pages: list[list[Line]]) -> int:
    return sum(len(text) for lines in pages for text, _ in lines)


def _edge(lines: list[Line]) -> set[int]:
    filled = [i for i, (text, _) in enumerate(lines) if text.strip()]
    return {*filled[:_EDGE_LINES], *filled[-_EDGE_LINES:]}


def _masked(line: str) -> str:
    return re.sub(r"\d+", "#", " ".join(line.split()))


def _sections(pages: list[list[Line]]) -> tuple[Section, ...]:
    body = _body_size(pages)
    path: list[tuple[float, str]] = []
    sections: list[Section] = []
    for number, lines in enumerate(pages, start=1):
        part: list[str] = []
        previous = 0.0  # size of the line above where that was a heading, which this one may continue
        for text, size in [*lines, ("", -1.0)]:
            starts = _is_heading(text, size, body)
            if (starts and not previous) or size < 0:
                if any(line.strip() for line in part):
                    sections.append(
                        Section("\n".join(part).strip("\n"), tuple(name for _, name in path), page=number)
                    )
                part = []
            if starts and previous == size and path and len(path[-1][1]) <= 90:
                path[-1] = (size, one_line(f"{path[-1][1]} {text}"))
            elif starts:
                path = [(other, name) for other, name in path if other > size][-2:] + [(size, one_line(text))]
            previous = size if starts else (previous if not text.strip() else 0.0)
            part.append(text)
    return tuple(sections)


def _body_size(pages: list[list[Line]]) -> float:
    """The size that most letters have."""
    weights: Counter[float] = Counter()
    for lines in pages:
        for text, size in lines:
            weights[size] += len(text.strip())
    return weights.most_common(1)[0][0] if weights else 0.0


def _is_heading(text: str, size: float, body: float) -> bool:
    line = text.strip()
    letters = sum(character.isalpha() for character in line)
    return (
        body > 0
        and size >= body * 1.12
        and 2 < len(line) <= 90
        and letters * 2 > len(line)
        and "...." not in line
    )


def _nothing(reader: PdfReader, count: int, failed: list[int]) -> RagError:
    """Why there is no text: a stream over the limits, damage, or pictures of pages."""
    for number in range(min(count, 20)):
        try:
            contents = reader.pages[number].get_contents()
            if contents is not None:
                contents.get_data()
        except LimitReachedError:
            return refuse("A page of the PDF is far too large when unpacked.", "size")
        except (*_FAULTS, DependencyError):
            continue
    if _bomb(reader, count):
        return refuse("A page of the PDF is far too large when unpacked.", "size")
    if failed and len(failed) == count:
        return refuse("No page of the PDF could be read; it is damaged or too complex.", "damaged")
    return refuse(
        "No text was found in the PDF. If it is a scan, run text recognition (OCR) first.", "no_text"
    )


def _bomb(reader: PdfReader, count: int) -> bool:
    """Whether the content of a page has packed bytes and yet unpacks to nothing: its limit was hit without an error."""
    for number in range(min(count, 20)):
        try:
            contents = reader.pages[number].get("/Contents")
            streams = contents.get_object() if contents is not None else []
            for stream in streams if isinstance(streams, list) else [streams]:
                part = stream.get_object()
                if len(part._data) > 512 and not part.get_data():
                    return True
        except LimitReachedError:
            return True
        except (*_FAULTS, DependencyError):
            continue
    return False


def _title(reader: PdfReader) -> str:
    try:
        found = reader.metadata.title if reader.metadata else ""
    except _FAULTS:
        return ""
    return one_line(found) if isinstance(found, str) else ""


def _warnings(
    pages: list[list[Line]], failed: list[int], count: int, sections: tuple[Section, ...]
) -> tuple[str, ...]:
    warnings: list[str] = []
    if failed:
        listed = ", ".join(map(str, failed[:10])) + (" …" if len(failed) > 10 else "")
        warnings.append(f"{len(failed)} of {count} pages could not be read: {listed}.")
    empty = sum(1 for lines in pages if not any(text.strip() for text, _ in lines)) - len(failed)
    if empty > count * 0.2:
        warnings.append(f"{empty} of {count} pages have no text; scanned pages need text recognition (OCR).")
    if looks_unreadable("\n".join(section.text for section in sections)):
        warnings.append(
            "Much of the text looks unreadable: the PDF's fonts do not say which letters they show."
        )
    return tuple(warnings)
