"""Where a text may be cut, and how good a place it is. Every language with or without spaces; nothing is left out."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

PARAGRAPH, LINE, SENTENCE, WORD, ANYWHERE = 4, 3, 2, 1, 0

_BLANK_LINE = re.compile(r"\n[^\S\n]*\n")
_MARKER = re.compile(r"[-*+•·▪‣○●|>#]|\d{1,3}[.)]|[A-Za-z][.)]\s|[（(]?\d+[)）]|・")
_CUT = re.compile(
    r"(?P<paragraph>\n[^\S\n]*\n\s*)"
    r"|(?P<line>\n(?=[^\S\n]*(?:[-*+•·▪‣○●|>#]|\d{1,3}[.)]|[A-Za-z][.)]\s|[（(]?\d+[)）]|・)))"
    r"|(?P<sentence>[.!?…]+[\"'”’»)\]*_]*\s+|[。！？｡]+[」』”’）)]*\s*|[؟۔।॥]+\s*)"
    r"|(?P<word>\s+|[、，；：​]\s*)"
)
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\[])(?:[A-ZÀ-ÞА-Я]|e\.g|i\.e|etc|vs|cf|ca|no|nr|mr|mrs|ms|dr|prof|st|fig|sec|vol|bzw|z\.B|usw|ggf|p\.ej|sr|sra|"
    r"núm|pág|c\.-à-d|т\.е|т\.д|др|см)\.\s+$|(?:^|\n)\s*\d{1,3}\.\s+$",
    re.I,
)
_JOINERS = "\u200c\u200d\ufe0e\ufe0f"


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of text that is not cut unless it must be; ``strength`` is that of the cut at its end."""

    start: int
    end: int
    strength: int


def sentences(text: str) -> list[Span]:
    """The text as sentences (or lines of a list, or paragraphs without any), white space after them included."""
    return _spans(text, SENTENCE)


def pieces(text: str, start: int, end: int, longest: int) -> list[Span]:
    """A stretch cut into words, and words over ``longest`` characters into parts that split no letter from its marks."""
    found: list[Span] = []
    for span in _spans(text[start:end], WORD):
        first, last = start + span.start, start + span.end
        while last - first > longest:
            cut = _safe(text, first, first + longest)
            found.append(Span(first, cut, ANYWHERE))
            first = cut
        found.append(Span(first, last, span.strength))
    return found


def _spans(text: str, weakest: int) -> list[Span]:
    found: list[Span] = []
    start = 0
    for match in _CUT.finditer(text):
        if weakest > WORD and match.lastgroup == "word" and "\n" not in match[0]:
            continue  # nearly all: the white space between two words of a sentence
        strength = _strength(text, match)
        if strength < weakest or match.end() == start:
            continue
        if strength == SENTENCE and _ABBREVIATION.search(text, max(start, match.end() - 12), match.end()):
            continue
        found.append(Span(start, match.end(), strength))
        start = match.end()
    if start < len(text):
        found.append(Span(start, len(text), PARAGRAPH))
    return found


def _strength(text: str, match: re.Match[str]) -> int:
    """The white space after a sentence or a word may hold the end of a line or paragraph too."""
    space = match[0]
    if _BLANK_LINE.search(space):
        return PARAGRAPH
    if "\n" in space and _MARKER.match(text, match.end()):
        return LINE
    return _STRENGTHS[match.lastgroup or "word"]


_STRENGTHS = {"paragraph": PARAGRAPH, "line": LINE, "sentence": SENTENCE, "word": WORD}


def _safe(text: str, first: int, cut: int) -> int:
    """The nearest place at or before ``cut`` that is not within a letter and its marks."""
    for place in range(cut, max(first, cut - 16), -1):
        following = text[place]
        joined = (
            following in _JOINERS or text[place - 1] == "\u200d" or "\U0001f3fb" <= following <= "\U0001f3ff"
        )
        if (
            not joined
            and unicodedata.category(following) not in ("Mn", "Mc", "Me")
            and text[place - 1] not in "เแโใไ"
        ):
            return place
    return cut
