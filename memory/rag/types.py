"""Values of document loading and chunking: frozen, JSON-ready, free of Django."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

Kind = Literal["markdown", "text", "json", "csv", "html", "docx", "pdf"]


@dataclass(frozen=True, slots=True)
class Section:
    """A stretch of a document under one heading, on one page, or in one record. ``text`` includes the heading's own line."""

    text: str
    heading_path: tuple[str, ...] = ()
    """Headings from the outermost to the one of this section."""
    page: int | None = None
    """Counted from 1 (PDF)."""
    row: int | None = None
    """Number of the record, counted from 1 (JSON, CSV)."""


@dataclass(frozen=True, slots=True)
class LoadedDocument:
    """What a loader made of a file."""

    sections: tuple[Section, ...]
    kind: Kind
    title: str = ""
    warnings: tuple[str, ...] = ()
    """In plain words, for the document's page; the document is usable all the same."""

    @property
    def characters(self) -> int:
        return sum(len(section.text) for section in self.sections)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> LoadedDocument:
        sections = tuple(
            Section(str(item["text"]), tuple(item["heading_path"]), item["page"], item["row"])
            for item in data["sections"]
        )
        return cls(sections, data["kind"], str(data["title"]), tuple(data["warnings"]))


@dataclass(frozen=True, slots=True)
class LoadLimits:
    """What a loader puts up with; past it the document is refused by name of the limit."""

    file_bytes: int = 20 * 1024 * 1024
    text_characters: int = 20_000_000
    pages: int = 5_000
    sections: int = 200_000
    columns: int = 512
    json_depth: int = 200
    number_digits: int = 1_000
    archive_entries: int = 5_000
    archive_bytes: int = 128 * 1024 * 1024
    """Bytes that the parts of an archive which are read may have when unpacked."""
    archive_ratio: int = 200
    """How many times larger than packed a part above 1 MiB may be."""
