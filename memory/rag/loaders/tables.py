"""CSV: a record for each row, each cell after the name of its column."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from memory.rag.errors import refuse
from memory.rag.loaders.clean import clean, one_line
from memory.rag.loaders.records import record_heading
from memory.rag.types import LoadedDocument, LoadLimits, Section

_DELIMITERS = ",;\t|"


def load_csv(text: str, limits: LoadLimits) -> LoadedDocument:
    """A section for each row below the header. Raises ``LOAD_FAILED`` with the line where a quote is left open."""
    csv.field_size_limit(10_000_000)
    rows = [row for row in _rows(text) if any(cell.strip() for cell in row)]
    if not rows:
        return LoadedDocument((), "csv")
    widest = max(map(len, rows))
    if widest > limits.columns:
        raise refuse(f"The table has {widest} columns; at most {limits.columns} are read.", "columns")
    header, body = ([one_line(cell, 80) for cell in rows[0]], rows[1:]) if len(rows) > 1 else ([], rows)
    ragged = any(len(row) != len(header) for row in body) if header else False
    warnings = ("Some rows have more or fewer cells than the header.",) if ragged else ()
    sections = tuple(_section(header, row, number) for number, row in enumerate(body, start=1))
    return LoadedDocument(sections, "csv", "", warnings)


def _rows(text: str) -> Iterator[list[str]]:
    if text[:4].lower() == "sep=":
        text = text.split("\n", 1)[-1]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text), strict=True)
    try:
        yield from reader
    except csv.Error as error:
        line = reader.line_num
        raise refuse(
            f"The table is damaged near line {line}: {error}. Is a quote left open?", "syntax", line=line
        ) from None


def _delimiter(text: str) -> str:
    """The separator that is most frequent in the first lines, outside quotes."""
    sample = "\n".join(text.split("\n")[:20])
    outside = "".join(sample.split('"')[::2])
    return max(_DELIMITERS, key=lambda mark: (outside.count(mark), -_DELIMITERS.index(mark)))


def _section(header: list[str], row: list[str], number: int) -> Section:
    named = [(header[i] if i < len(header) else "", clean(cell).strip()) for i, cell in enumerate(row)]
    text = "\n".join(f"{name}: {cell}" if name else cell for name, cell in named if cell)
    heading = record_heading({name: cell for name, cell in named if name})
    return Section(text, (heading or one_line(next((cell for _, cell in named if cell), "")),), row=number)
