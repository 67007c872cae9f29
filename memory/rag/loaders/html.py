"""HTML as a reader sees it: headings, paragraphs, list items, table rows; nothing hidden, no scripts, nothing fetched."""

from __future__ import annotations

import re
from typing import Any

from lxml import etree, html

from memory.rag.errors import refuse
from memory.rag.loaders.clean import clean, one_line
from memory.rag.loaders.encoding import decode
from memory.rag.types import LoadedDocument, LoadLimits, Section

_SKIPPED = frozenset(
    [
        "script",
        "style",
        "template",
        "noscript",
        "svg",
        "math",
        "iframe",
        "object",
        "embed",
        "canvas",
        "head",
        "nav",
        "button",
        "select",
    ]
)
_BLOCKS = frozenset(
    [
        "address",
        "article",
        "aside",
        "blockquote",
        "body",
        "caption",
        "center",
        "dd",
        "details",
        "dialog",
        "div",
        "dl",
        "dt",
        "fieldset",
        "figcaption",
        "figure",
        "footer",
        "form",
        "header",
        "hr",
        "html",
        "legend",
        "li",
        "main",
        "ol",
        "p",
        "pre",
        "section",
        "summary",
        "table",
        "tbody",
        "tfoot",
        "thead",
        "tr",
        "ul",
    ]
)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_DECLARED = re.compile(rb"""(?:charset|encoding)\s*=\s*["']?([\w.:-]+)""", re.I)
_HIDDEN = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*[01](?:px|pt|em)?\s*(?:;|$)|(?:left|top|text-indent)\s*:\s*-\d{3,}"
    r"|opacity\s*:\s*0(?:\.0+)?\s*(?:;|$)",
    re.I,
)


def load_html(data: bytes, limits: LoadLimits) -> LoadedDocument:
    """Sections by heading. Raises ``LOAD_FAILED`` where the parser gave up on nesting."""
    del limits
    declared = _DECLARED.search(data[:2048])
    text, warnings = decode(data, declared[1].decode("ascii", "replace") if declared else "")
    text = re.sub(r"\A\s*<\?xml[^>]*\?>", "", text.replace("\0", ""))
    parser = html.HTMLParser(no_network=True, huge_tree=False, remove_comments=True, remove_pis=True)
    try:
        root = html.document_fromstring(text, parser=parser)
    except (etree.ParserError, etree.XMLSyntaxError, ValueError):
        raise refuse("No text was found in this page.", "no_text") from None
    walker = _Walker()
    walker.walk(root)
    sections = walker.finish()
    if any(
        "depth" in entry.message.lower() for entry in parser.error_log
    ):  # the parser drops the rest without an error
        raise refuse("The page is nested too deeply.", "depth")
    found = root.find(".//title")
    title = one_line(found.text_content()) if found is not None else ""
    return LoadedDocument(sections, "html", title or _first(sections), warnings)


def _first(sections: tuple[Section, ...]) -> str:
    return next((section.heading_path[0] for section in sections if section.heading_path), "")


class _Walker:
    """Walks the tree without recursion: ``iterwalk`` keeps its own stack."""

    def __init__(self) -> None:
        self.path: list[tuple[int, str]] = []
        self.sections: list[Section] = []
        self.pieces: list[str] = []
        self.preformatted = 0

    def walk(self, root: Any) -> None:
        events = etree.iterwalk(root, events=("start", "end"))
        for event, element in events:
            if event == "start" and (not isinstance(element.tag, str) or _unseen(element)):
                events.skip_subtree()
                continue  # its end event still comes
            if event == "start":
                self.open(element)
            else:
                self.close(element)

    def open(self, element: Any) -> None:
        tag = element.tag
        if tag in _HEADINGS:
            self.flush()
            name = heading(element)
            level = _HEADINGS[tag]
            self.path = [(depth, other) for depth, other in self.path if depth < level] + (
                [(level, name)] if name else []
            )
        elif tag in ("td", "th") and element.getprevious() is not None:
            self.pieces.append(" | ")
        elif tag in _BLOCKS:
            self.pieces.append("\n\n" if tag in ("p", "pre", "table", "dt", "blockquote") else "\n")
        if tag == "li":
            self.pieces.append("- ")
        if tag == "br":
            self.pieces.append("\n")
        self.preformatted += tag == "pre"
        self.add(element.text)

    def close(self, element: Any) -> None:
        tag = element.tag
        if isinstance(tag, str) and not _unseen(element):
            self.preformatted -= tag == "pre"
            if tag in _BLOCKS or tag in _HEADINGS:
                self.pieces.append("\n")
        self.add(element.tail)

    def add(self, text: str | None) -> None:
        if text:
            self.pieces.append(text if self.preformatted > 0 else re.sub(r"\s+", " ", text))

    def flush(self) -> None:
        lines = (
            line.strip() if not line.startswith("    ") else line.rstrip()
            for line in "".join(self.pieces).split("\n")
        )
        text = re.sub(r"\n{3,}", "\n\n", clean("\n".join(lines))).strip("\n")
        if text.strip():
            self.sections.append(Section(text, tuple(name for _, name in self.path)))
        self.pieces = []

    def finish(self) -> tuple[Section, ...]:
        self.flush()
        return tuple(self.sections)


def heading(element: Any) -> str:
    return one_line("".join(element.itertext())).strip("¶# ")


def _unseen(element: Any) -> bool:
    tag = element.tag
    if tag in _SKIPPED or element.get("hidden") is not None or element.get("aria-hidden") == "true":
        return True
    style = element.get("style")
    return bool(style and _HIDDEN.search(style))
