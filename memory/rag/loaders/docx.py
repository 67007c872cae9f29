"""Word documents, read straight from their XML: no entities, no DTD, no hidden or deleted words; both namespaces of the standard."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from lxml import etree

from memory.rag.errors import refuse
from memory.rag.loaders.archive import Archive
from memory.rag.loaders.clean import clean, one_line
from memory.rag.types import LoadedDocument, LoadLimits, Section

_WHAT = "Word document"
_HEADING_NAME = re.compile(
    r"^(?:heading|überschrift|titre|título|titolo|заголовок|標題|标题|見出し)\s*(\d)", re.I
)
_SKIPPED = frozenset(
    ("del", "moveFrom", "delText", "instrText", "object", "pict", "drawing", "AlternateContent")
)


def load_docx(data: bytes, limits: LoadLimits) -> LoadedDocument:
    """Sections by heading style or outline level; table rows as lines."""
    archive = Archive(data, limits, _WHAT)
    document = archive.read("word/document.xml")
    if document is None:
        raise refuse("The Word document is damaged: its main part is missing.", "damaged")
    body = next((child for child in _xml(document) if _name(child) == "body"), None)
    if body is None:
        raise archive.damaged()
    levels = _levels(archive.read("word/styles.xml"))
    sections, title = _sections(body, levels)
    return LoadedDocument(tuple(sections), "docx", title or _core_title(archive))


def _xml(data: bytes) -> Any:
    head = data[:4096].replace(b"\0", b"")
    if b"<!DOCTYPE" in head or b"<!ENTITY" in head:
        raise refuse("The Word document declares entities (a DTD), which is not allowed.", "dtd")
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, remove_comments=True
    )
    try:
        root = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError):
        raise refuse("The Word document is damaged.", "damaged") from None
    if root.getroottree().docinfo.doctype:
        raise refuse("The Word document declares entities (a DTD), which is not allowed.", "dtd")
    return root


def _name(element: Any) -> str:
    return etree.QName(element).localname if isinstance(element.tag, str) else ""


def _value(element: Any, name: str = "val") -> str:
    return next((str(value) for key, value in element.attrib.items() if key.rpartition("}")[2] == name), "")


def _child(element: Any, *names: str) -> Any:
    for name in names:
        if element is None:
            return None
        element = next((child for child in element if _name(child) == name), None)
    return element


def _levels(data: bytes | None) -> dict[str, int]:
    """Level of each heading style by its id; 0 is the title."""
    levels: dict[str, int] = {}
    for style in _xml(data) if data else ():
        if _name(style) != "style":
            continue
        named = _child(style, "name")
        name = _value(named) if named is not None else ""
        outline = _child(style, "pPr", "outlineLvl")
        if name.lower() == "title":
            levels[_value(style, "styleId")] = 0
        elif match := _HEADING_NAME.match(name):
            levels[_value(style, "styleId")] = int(match[1])
        elif outline is not None and _value(outline).isdigit() and int(_value(outline)) < 9:
            levels[_value(style, "styleId")] = int(_value(outline)) + 1
    return levels


def _sections(body: Any, levels: dict[str, int]) -> tuple[list[Section], str]:
    path: list[tuple[int, str]] = []
    sections: list[Section] = []
    lines: list[str] = []
    title = ""

    def close() -> None:
        text = clean("\n\n".join(lines)).strip("\n")
        if text.strip():
            sections.append(Section(text, tuple(name for depth, name in path if depth)))
        lines.clear()

    for block in _blocks(body):
        if _name(block) == "tbl":
            lines.append("\n".join(_rows(block)))
            continue
        text = _paragraph(block)
        level = _level(block, levels) if text.strip() else None
        if level == 0 and not title:
            title = one_line(text)
        if level is not None:
            close()
            path = [(depth, name) for depth, name in path if depth < level] + [(level, one_line(text))]
        if text.strip():
            lines.append(text if level is not None or not _is_item(block) else f"- {text}")
    close()
    return sections, title


def _blocks(body: Any) -> Iterator[Any]:
    """Paragraphs and tables in order, out of content controls too."""
    waiting = list(reversed(body))
    while waiting:
        element = waiting.pop()
        if _name(element) in ("p", "tbl"):
            yield element
        elif _name(element) in ("sdt", "sdtContent", "customXml", "ins", "smartTag"):
            waiting.extend(reversed(element))


def _level(paragraph: Any, levels: dict[str, int]) -> int | None:
    outline = _child(paragraph, "pPr", "outlineLvl")
    if outline is not None and _value(outline).isdigit() and int(_value(outline)) < 9:
        return int(_value(outline)) + 1
    style = _child(paragraph, "pPr", "pStyle")
    return levels.get(_value(style)) if style is not None else None


def _is_item(paragraph: Any) -> bool:
    return _child(paragraph, "pPr", "numPr") is not None


def _paragraph(paragraph: Any) -> str:
    pieces: list[str] = []
    events = etree.iterwalk(paragraph, events=("start",))
    for _, element in events:
        name = _name(element)
        if name in _SKIPPED or (name == "r" and _hidden(element)):
            events.skip_subtree()
        elif name == "t":
            pieces.append(element.text or "")
        elif name in ("tab", "ptab") and _name(element.getparent()) == "r":
            pieces.append("\t")
        elif name in ("br", "cr"):
            pieces.append("\n")
        elif name == "noBreakHyphen":
            pieces.append("-")
    return "".join(pieces)


def _hidden(run: Any) -> bool:
    vanish = _child(run, "rPr", "vanish")
    return vanish is not None and _value(vanish) not in ("0", "false", "off")


def _rows(table: Any) -> Iterator[str]:
    for row in table.iter():
        if _name(row) != "tr":
            continue
        cells = []
        for cell in row:
            if _name(cell) == "tc":
                cells.append(
                    " ".join(" ".join(_paragraph(p) for p in cell.iter() if _name(p) == "p").split())
                )
        if any(cells):
            yield " | ".join(cells)


def _core_title(archive: Archive) -> str:
    data = archive.read("docProps/core.xml")
    found = next((child for child in _xml(data) if _name(child) == "title"), None) if data else None
    return one_line(found.text or "") if found is not None else ""
