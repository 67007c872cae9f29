"""Markdown (and MDX) by heading sections; the text stays as it was written, but for HTML that nobody is to see."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

from markdown_it import MarkdownIt

from memory.rag.loaders.clean import clean, one_line
from memory.rag.loaders.frontmatter import split_front_matter
from memory.rag.types import LoadedDocument, LoadLimits, Section

Path = tuple[str, ...]

_UNSEEN = re.compile(
    r"(?<!`)<!--.*?-->|^ {0,3}<!--(?:(?!-->).)*\Z|(?<!`)<(script|style|svg|template)\b[^>]*>.*?</\1\s*>",
    re.I | re.S | re.M,
)
_TAG_LINE = re.compile(r"^[ \t]*(?:</?[A-Za-z][\w.-]*(?:\s[^<>\n]*)?/?>[ \t]*)+$", re.M)
_MODULE_LINE = re.compile(
    r"^(?:import\s.+\sfrom\s+['\"].*|import\s+['\"].*|export\s+(?:const|default|function)\s.*)$", re.M
)
_QUESTION = re.compile(r"<(Q|Question|summary)\b[^>]*>(.+?)(?:</\1\s*>|(?=<(?:A|Answer)\b))", re.S)
_JSX = re.compile(r"^import\s.+\sfrom\s+['\"]", re.M)
_HEADING_ID = re.compile(r"\s*\\?\{#[^}]*\}\s*$")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_INDENT = re.compile(r"^[ \t]+(?=\S)", re.M)


def load_markdown(text: str, limits: LoadLimits) -> LoadedDocument:
    """Sections by heading. Only blocks are parsed: what is inside them is kept as written, so no nesting can slow it down."""
    del limits
    text, title, warnings = split_front_matter(clean(text))
    lines = text.split("\n")
    components = bool(_JSX.search(text))
    sections: list[Section] = []
    for path, part, code in _parts(lines, components):
        sections += _questions(_seen(part, code, components), path)
    title = title or next((section.heading_path[0] for section in sections if section.heading_path), "")
    return LoadedDocument(
        tuple(section for section in sections if section.text.strip()), "markdown", title, warnings
    )


def heading_text(raw: str) -> str:
    """A heading in plain words: no anchors, links, emphasis, tags."""
    raw = _TAG.sub("", _LINK.sub(r"\1", _HEADING_ID.sub("", raw)))
    return one_line(re.sub(r"[*`]+|(?<!\w)_+|_+(?!\w)", "", raw).replace("\\", ""))


def _parts(lines: list[str], components: bool) -> Iterator[tuple[Path, list[str], list[bool]]]:
    """(heading path, lines, which of them are code) of each section, the heading's own line first."""
    parser = MarkdownIt("commonmark", {"maxNesting": 100})
    parser.core.ruler.enableOnly(["normalize", "block"])
    tokens = parser.parse("\n".join(lines))
    fences = ("fence",) if components else ("fence", "code_block")
    code = [False] * len(lines)
    for token in tokens:
        if token.type in fences and token.map:
            code[token.map[0] : token.map[1]] = [True] * (token.map[1] - token.map[0])
    path: list[tuple[int, str]] = []
    start = 0
    for position, token in enumerate(tokens):
        if token.type != "heading_open" or token.level or not token.map:
            continue
        yield tuple(name for _, name in path if name), lines[start : token.map[0]], code[start : token.map[0]]
        depth = int(token.tag[1])
        path = [(level, name) for level, name in path if level < depth]
        path.append((depth, heading_text(tokens[position + 1].content)))
        start = token.map[0]
    yield tuple(name for _, name in path if name), lines[start:], code[start:]


def _seen(lines: list[str], code: list[bool], components: bool) -> str:
    """What a reader of the page would see of the lines; code stays untouched."""
    parts: list[str] = []
    for is_code, group in groupby(zip(lines, code, strict=True), key=lambda pair: pair[1]):
        part = "\n".join(line for line, _ in group)
        if not is_code:
            part = _UNSEEN.sub("", part)
            if components:
                part = _INDENT.sub("", _MODULE_LINE.sub("", part))
        parts.append(part)
    return "\n".join(parts)


def _questions(text: str, path: Path) -> Iterator[Section]:
    """Questions that are elements, not headings (``<Q>``, ``<summary>``), open a section of their own."""
    found = [match for match in _QUESTION.finditer(text) if not match[2].strip().startswith("`")]
    starts = [0, *(match.start() for match in found), len(text)]
    names = [None, *(heading_text(match[2]) for match in found)]
    for name, start, end in zip(names, starts, starts[1:], strict=False):
        part = _TAG_LINE.sub("", text[start:end])
        part = re.sub(r"</?(?:Q|Question|A|Answer|summary|details)\b[^>]*>", "", part) if found else part
        yield Section(clean(part).strip("\n"), (*path, name) if name else path)
