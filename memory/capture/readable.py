"""A program of its own: HTML in, ``{"title", "text"}`` out, as JSON. ``webpage`` runs it and ends it when it takes too long.

It imports nothing of Musebot, so that it starts fast and knows no secrets.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from typing import Any

MEMORY_BYTES = 1_500_000_000
CPU_SECONDS = 20
_BLOCKS = frozenset(
    [
        "address",
        "article",
        "aside",
        "blockquote",
        "br",
        "dd",
        "div",
        "dl",
        "dt",
        "figcaption",
        "figure",
        "footer",
        "form",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "header",
        "hr",
        "li",
        "main",
        "nav",
        "ol",
        "p",
        "pre",
        "section",
        "table",
        "td",
        "th",
        "tr",
        "ul",
    ]
)
_SILENT = frozenset({"script", "style", "noscript", "template", "head"})


def limit_resources() -> None:
    """A second fence, where the system has one: the parent's time-out is the first."""
    try:
        import resource
    except ImportError:  # Windows
        return
    for what, most in ((resource.RLIMIT_AS, MEMORY_BYTES), (resource.RLIMIT_CPU, CPU_SECONDS)):
        try:
            resource.setrlimit(what, (most, most))
        except (OSError, ValueError):
            continue


def readable(html: str, most: int) -> dict[str, str]:
    """Title and main text, ``most`` characters of it; both may be empty."""
    from lxml.etree import HTMLParser
    from lxml.html import fromstring
    from readability import Document

    logging.disable(logging.CRITICAL)
    document = Document(html)
    title = " ".join((document.short_title() or "").split())
    try:
        body = document.summary(html_partial=True)
    except Exception:  # it finds nothing to read, and says so in several ways
        body = html
    if not body.strip():
        return {"title": title, "text": ""}
    parser = HTMLParser(huge_tree=False, no_network=True, remove_comments=True, remove_pis=True)
    return {
        "title": "" if title == "[no-title]" else title,
        "text": text_of(fromstring(body, parser=parser), most),
    }


def text_of(tree: Any, most: int) -> str:
    """Text with a line for each block. It walks without recursion, however deep a page is nested."""
    from lxml.etree import iterwalk

    pieces: list[str] = []
    length = silent = 0
    for event, element in iterwalk(tree, events=("start", "end")):
        name = element.tag if isinstance(element.tag, str) else "script"
        begins = event == "start"
        if name in _BLOCKS:
            pieces.append("\n")
        if name in _SILENT:
            silent += 1 if begins else -1
        text = element.text if begins else element.tail
        if text and not silent and (begins or element is not tree):
            # Line ends inside a paragraph are those of the source.
            pieces.append(re.sub(r"\s+", " ", text))
            length += len(pieces[-1])
            if length > most * 2:
                break
    text = re.sub(r" {2,}", " ", "".join(pieces))
    return re.sub(r" ?\n\s*", "\n", text).strip()[:most]


def main() -> None:
    limit_resources()
    html = sys.stdin.buffer.read().decode("utf-8", "replace")
    json.dump(readable(html, int(sys.argv[1])), sys.stdout)


if __name__ == "__main__":
    main()
