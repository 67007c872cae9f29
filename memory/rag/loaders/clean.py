"""Text as it may be stored and shown: no control characters, no invisible ones that hide or reverse words."""

from __future__ import annotations

import re
import unicodedata

_NEWLINES = re.compile("\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
# Controls but for tab and newline; soft hyphen; zero-width space and word joiner; marks, overrides and isolates of text
# direction; byte-order mark; interlinear annotations; tag characters; Hangul fillers; non-characters. The joiners U+200C and
# U+200D stay: Persian, Indic scripts and emoji need them.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f"
    "\u3164\ufeff\uffa0\ufff0-\ufffb\ufdd0-\ufdef\ufffe\uffff\U000e0000-\U000e0fff]"
)
_SURROGATES = re.compile("[\ud800-\udfff]")
_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*\n){3,}")
_LIGATURES = {code: unicodedata.normalize("NFKC", chr(code)) for code in range(0xFB00, 0xFB07)}


def clean(text: str) -> str:
    """The text with every kind of line end as a newline, and without what cannot be stored, seen or said."""
    text = _NEWLINES.sub("\n", text)
    text = _INVISIBLE.sub("", text)
    text = _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", text)
    return _BLANK_LINES.sub("\n\n\n", text)


def one_line(text: str, limit: int = 200) -> str:
    """A heading or title: one line, at most ``limit`` characters."""
    line = " ".join(clean(text).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def folded(text: str) -> str:
    """The text as it is indexed: ligatures taken apart, joiners out. What is shown keeps them."""
    if text.isascii():
        return text
    return text.translate(_LIGATURES).replace("\u200c", "").replace("\u200d", "")


def looks_unreadable(text: str) -> bool:
    """Whether the letters are probably wrong ones: words that mix alphabets, as fonts without a character map give."""
    mixed = words = 0
    for word in re.findall(r"[^\W\d_]{2,}", text[:200_000]):
        scripts = {_script(character) for character in word} - {""}
        words += 1
        mixed += len(scripts) > 1
    return words >= 20 and mixed > words * 0.04


def _script(character: str) -> str:
    code = ord(character)
    if code < 0x250:
        return "latin"
    if 0x370 <= code < 0x400:
        return "greek"
    if 0x400 <= code < 0x530:
        return "cyrillic"
    if 0x590 <= code < 0x780:
        return "semitic"
    if 0x900 <= code < 0x1100:
        return "indic"
    return ""
