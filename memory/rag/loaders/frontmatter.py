"""The head of a Markdown file: only its title is of use, and nothing in it is ever constructed or expanded."""

from __future__ import annotations

import re

from memory.rag.loaders.clean import one_line

_BLOCK = re.compile(r"\A\s*(---|\+\+\+)[ \t]*\n(.*?)\n(?:\1|\.\.\.)[ \t]*(?:\n|\Z)", re.S)
_TITLE = re.compile(r"^title\s*[:=]\s*(.+?)\s*$", re.M | re.I)
_KEY = re.compile(r"^\s*(?:[\w-]+\s*[:=]|#|-\s|\[|$)")


def split_front_matter(text: str) -> tuple[str, str, tuple[str, ...]]:
    """(the text without its YAML or TOML head, the title in it, warnings)."""
    match = _BLOCK.match(text)
    if not match or not _KEY.match(match[2].split("\n", 1)[0]):
        return text, "", ()
    head = match[2]
    found = _TITLE.search(head)
    title = found[1] if found else ""
    if len(title) > 1 and title[0] == title[-1] and title[0] in "\"'":
        title = title[1:-1]
    odd = bool(re.search(r":\s*(?:!!|&\w)", head))
    warnings = ("Tags and anchors in the front matter were ignored.",) if odd else ()
    return text[match.end() :], one_line(title), warnings
