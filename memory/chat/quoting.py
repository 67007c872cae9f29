"""Text by other people inside a prompt: it stays data, whatever stands in it, and its marks never reach a reader."""

from __future__ import annotations

import json
import re
import secrets
import unicodedata
from dataclasses import dataclass, field

MARK = "memories"
_MARK_LIKE = re.compile(rf"<(?=[\s/]*{MARK})", re.IGNORECASE)
_ECHO = re.compile(rf"</?{MARK}-[0-9a-f]*>", re.IGNORECASE)
_ECHO_MAX = len(MARK) + 3 + 32
_JOINERS = "\u200c\u200d"
"""Invisible, but part of how some scripts and emoji are written."""


def clean(text: str) -> str:
    """The text without what cannot be sent or only hides things: NUL and other controls, direction marks, lone surrogates."""
    if all(map(str.isprintable, text.split("\n"))):
        return text  # nearly every text is, and looking at each character takes a hundred times as long
    sendable = text.encode("utf-8", "replace").decode("utf-8")
    return "".join(
        char
        for char in sendable
        if char in "\n\t" or char in _JOINERS or unicodedata.category(char) not in {"Cc", "Cf"}
    )


def defuse(text: str) -> str:
    """The text without anything that could pass for a mark of the block of memories."""
    return _MARK_LIKE.sub("‹", clean(text))


def one_line(text: str, limit: int = 0) -> str:
    """Cleaned, defused, white space collapsed; at most ``limit`` characters if that is given."""
    line = defuse(" ".join(clean(text).split()))
    return line if not limit or len(line) <= limit else line[: limit - 1].rstrip() + "…"


def quoted(text: str, limit: int = 0) -> str:
    """As a string of JSON on one line, for names and topics: its own quotes cannot end it."""
    return json.dumps(one_line(text, limit), ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Fence:
    """The marks around one block of data. The number is new in each turn, so nobody can have written it before."""

    number: str = field(default_factory=lambda: secrets.token_hex(8))

    @property
    def opening(self) -> str:
        return f"<{MARK}-{self.number}>"

    @property
    def closing(self) -> str:
        return f"</{MARK}-{self.number}>"

    def around(self, lines: list[str]) -> str:
        """The block. It is escaped as a whole, so that no combination of lines makes a mark either."""
        return f"{self.opening}\n{defuse(chr(10).join(lines))}\n{self.closing}"


class EchoFilter:
    """Takes the marks out of an answer while it streams in; what may become a mark is held back until it is clear."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        """What may be shown of the text so far and was not yet."""
        text = _ECHO.sub("", self._held + piece)
        start = text.rfind("<")
        if start >= 0 and _may_become_mark(text[start:]):
            self._held = text[start:]
            return text[:start]
        self._held = ""
        return text

    def flush(self) -> str:
        """The rest, at the end of the answer."""
        held, self._held = self._held, ""
        return held


def _may_become_mark(tail: str) -> bool:
    if len(tail) > _ECHO_MAX:
        return False
    name = tail[1:].removeprefix("/").lower()
    if len(name) <= len(MARK) + 1:
        return f"{MARK}-".startswith(name)
    return re.fullmatch(rf"{MARK}-[0-9a-f]*", name) is not None
