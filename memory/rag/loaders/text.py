"""Plain text: headings where the writer drew them (underlines, numbers, capitals, ``#``)."""

from __future__ import annotations

import re

from memory.rag.loaders.clean import clean, one_line
from memory.rag.types import LoadedDocument, LoadLimits, Section

_RULE = re.compile(r"^\s*([=\-~^*#])\1{2,}\s*$")
_HASHES = re.compile(r"^(#{1,6})\s+(\S.*?)\s*#*$")
_NUMBERED = re.compile(r"^\s*(\d{1,3}(?:\.\d{1,3})*)[.)]\s+(\S.*)$")
_NUMBER_PATH = re.compile(r"^\s*(\d{1,3}(?:\.\d{1,3})+)\.?\s+(\S.*)$")
_LONGEST = 120


def load_text(text: str, limits: LoadLimits) -> LoadedDocument:
    """Sections by what looks like a heading; none where nothing does."""
    del limits
    lines = clean(text).split("\n")
    path: list[tuple[int, str]] = []
    sections: list[Section] = []
    start = 0

    def close(end: int) -> None:
        part = "\n".join(lines[start:end]).strip("\n")
        if part.strip():
            sections.append(Section(part, tuple(name for _, name in path)))

    for number in range(len(lines)):
        found = _heading(lines, number)
        if not found:
            continue
        close(number)
        start = number
        level, name = found
        path = [(depth, other) for depth, other in path if depth < level] + [(level, one_line(name))]
    close(len(lines))
    return LoadedDocument(tuple(sections), "text", _title(lines))


def _heading(lines: list[str], number: int) -> tuple[int, str] | None:
    """(level, name) where the line is a heading."""
    line = lines[number].strip()
    if not line or len(line) > _LONGEST or _RULE.match(line):
        return None
    above = lines[number - 1].strip() if number else ""
    below = lines[number + 1].strip() if number + 1 < len(lines) else ""
    if marked := _HASHES.match(line):
        return len(marked[1]), marked[2]
    rule = _RULE.match(below)
    if rule and len(below) >= len(line) * 0.5 and (not above or _RULE.match(above)):
        return (1 if rule[1] in "=#*" else 2), line
    if above:
        return None
    if numbered := _NUMBER_PATH.match(line):
        return (2 + numbered[1].count("."), line) if not below else None
    if _NUMBERED.match(line) and (not below or line.endswith("?")):
        return 2, line
    return _capitals(line, below)


def _capitals(line: str, below: str) -> tuple[int, str] | None:
    letters = [character for character in line if character.isalpha()]
    if (
        len(letters) >= 4
        and all(character.isupper() for character in letters)
        and not below
        and line[-1] not in ".,;"
    ):
        return 2, line
    return None


def _title(lines: list[str]) -> str:
    """The first line, where it stands alone."""
    for number, line in enumerate(lines[:40]):
        if line.strip() and not _RULE.match(line):
            alone = (
                number + 1 >= len(lines)
                or not lines[number + 1].strip()
                or bool(_RULE.match(lines[number + 1]))
            )
            return one_line(line.strip().lstrip("# ")) if alone and len(line.strip()) <= _LONGEST else ""
    return ""
