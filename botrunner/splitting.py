"""Splits a long text into messages of Discord's length, with code blocks kept whole in each."""

from __future__ import annotations

import re

LIMIT = 2000
"""Characters in a message."""

_FENCE = re.compile(r"`{3,}")
_LANGUAGE = re.compile(r"[A-Za-z0-9_+\-.#]{1,30}(?=\n)")
_CLOSING = "```"


def split(text: str, limit: int = LIMIT) -> list[str]:
    """Parts of at most ``limit`` characters, none of them blank.

    A part that ends within a code block closes it, and the next one opens it again in the same language. Cuts fall
    between paragraphs, lines or words where there are any. Parts before the last do not change when text is appended.
    """
    if limit < 80:
        raise ValueError("limit has to be at least 80 characters")
    parts: list[str] = []
    rest, prefix = text.strip(), ""
    while rest:
        part, rest, prefix = _next_part(rest, prefix, limit)
        if part.replace("`", "").strip():
            parts.append(part)
    return parts


def _next_part(rest: str, prefix: str, limit: int) -> tuple[str, str, str]:
    """The next part, what is left, and what the part after it has to begin with."""
    whole = _closed(prefix + rest)
    if len(whole) <= limit:
        return whole, "", ""
    cut = _cut(rest, prefix, limit - len(prefix) - len(_CLOSING) - 1)
    chunk, rest = rest[:cut], rest[cut:]
    language = _open_language(prefix + chunk)
    if language is None:
        return (prefix + chunk).rstrip(), rest.lstrip(), ""
    # Within code only the line break at the cut goes; indentation stays.
    return _closed(prefix + chunk), rest.removeprefix("\n"), f"{_CLOSING}{language}\n"


def _cut(text: str, prefix: str, room: int) -> int:
    """Where to cut: at most ``room`` characters in, and never within a row of backticks that could be kept whole."""
    window = text[:room]
    for separator in ("\n\n", "\n", " "):
        at = window.rfind(separator, room // 2)
        if at > 0:
            return _before_bare_fence(text, prefix, at)
    at = room
    while at > 0 and text[at - 1] == "`" and text[at] == "`":
        at -= 1
    return _before_bare_fence(text, prefix, at or room)


def _before_bare_fence(text: str, prefix: str, cut: int) -> int:
    """Moves a cut that would leave the first line of a code block alone at the end to before that block."""
    chunk = text[:cut]
    fences = list(_FENCE.finditer(chunk))
    if _open_language(prefix + chunk) is None or not fences:
        return cut
    opening = fences[-1]
    after = chunk[opening.end() :]
    language = _LANGUAGE.match(text[opening.end() :])
    bare = not after.strip() or (language is not None and after.strip() == language.group())
    return opening.start() if bare and opening.start() > 0 else cut


def _open_language(text: str) -> str | None:
    """The language of the code block that the text ends in (empty for none given); None outside of code."""
    fences = list(_FENCE.finditer(text))
    if len(fences) % 2 == 0:
        return None
    language = _LANGUAGE.match(text[fences[-1].end() :])
    return language.group() if language else ""


def _closed(text: str) -> str:
    """The text with its last code block closed."""
    if _open_language(text) is None:
        return text
    return text + ("" if text.endswith("\n") else "\n") + _CLOSING
