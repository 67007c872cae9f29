"""Text as it is stored: one Unicode form, so that its length means the same everywhere."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from memory.blocks.errors import EmptyQuery
from memory.index.terms import tokens


def normal(text: str) -> str:
    """NFC, line ends as ``\\n``, without NUL and halves of characters, which cannot be stored."""
    whole = text.encode("utf-8", "replace").decode("utf-8").replace("\0", "")
    return unicodedata.normalize("NFC", whole.replace("\r\n", "\n").replace("\r", "\n"))


def occurrences(text: str, part: str) -> int:
    """How often a part stands in a text, overlapping ones counted."""
    count = start = 0
    while (start := text.find(part, start)) >= 0:
        count += 1
        start += 1
    return count


def query_words(query: str) -> Sequence[str]:
    """What full text looks for. Words that say nothing (``and``) are looked for only where there is no other.

    Raises ``EmptyQuery``.
    """
    words = tokens(query) or tokens(query, stop_words=frozenset())
    if not words:
        raise EmptyQuery()
    return words
