"""How a message reads against a question: which of its words it has, where, and of whom it speaks."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from memory.retrieval.common_words import FIRST_PERSON, SECOND_PERSON

QUESTION_MARKS = ("?", "？", "؟")
MOST_CHARACTERS = 4000
"""Of a message; what is longer is read by its beginning."""

_SENTENCE = re.compile(r"[^.!?…？！。؟\n]+[.!?…？！。؟]*")
_WORD = re.compile(r"[^\W_]+")
_ENDINGS = ("ing", "edly", "ed", "ly", "er", "ment", "ness", "ful", "ation")
_OWN = FIRST_PERSON - {"me", "ben"} | {
    "me",
    "we",
    "our",
    "ours",
    "us",
    "im",
    "ive",
    "wir",
    "unser",
    "nous",
    "notre",
    "nuestro",
}
# A name inside a sentence, or a title between quotation marks.
_NAME = re.compile(r"[a-zà-ÿ,] [A-ZÀ-Þ][a-zà-ÿ]|[\"“„«][^\"”“»]+[\"”“»]")


def stem(word: str) -> str:
    """A word in lower case without its (English) ending. It begins as the word does, but for a last ``y`` in place of ``i``."""
    if len(word) <= 3:
        return word
    if word.endswith("ies") and len(word) > 4:
        word = word[:-3] + "y"
    elif word.endswith("sses") or (word.endswith("es") and len(word) > 5 and word[-3] in "sxzh"):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
                word = word[:-1]
            break
    if word.endswith("e") and len(word) > 3:
        word = word[:-1]
    return word[:-1] + "y" if word.endswith("i") else word


@dataclass(frozen=True, slots=True)
class Reading:
    found: int
    """The question's words that it has, as bits."""
    asked: int
    """Those in its own questions."""
    asks: float = 0.0
    """Share of its characters that stand in questions, from 0 to 1."""
    own: float = 0.0
    """How much it speaks of its author (I, my, we), from 0 to 1."""
    yours: float = 0.0
    """How much it speaks to somebody (you, your), from 0 to 1."""
    names: bool = False
    """Whether it names somebody or something."""


class Reader:
    """Reads messages against the words of one question (``terms.tokens``: pairs of characters for CJK)."""

    def __init__(self, words: Sequence[str]) -> None:
        self._bits: dict[str, int] = {}
        self._pairs: dict[str, int] = {}
        for word in words:
            if " " in word:
                self._pairs.setdefault(word.replace(" ", ""), len(self._bits) + len(self._pairs))
            elif stem(word) not in self._bits:
                self._bits[stem(word)] = len(self._bits) + len(self._pairs)
        self.count = len(self._bits) + len(self._pairs)
        begins = "|".join(re.escape(one[:-1] if one.endswith("y") else one) for one in self._bits)
        self._pattern = re.compile(rf"(?<![^\W_])(?:{begins})[^\W_]*") if begins else None

    def read(self, text: str, captions: str, *, closely: bool = True) -> Reading:
        """Not ``closely`` tells the question's words only, which is all that is needed of what stands around a candidate."""
        text = text[:MOST_CHARACTERS]
        asked, told = _parted(text)
        in_questions = self._found(asked)
        found = in_questions | self._found(told) | self._found(captions[:MOST_CHARACTERS])
        if not closely:
            return Reading(found, in_questions)
        words = _WORD.findall(told.casefold())
        return Reading(
            found,
            in_questions,
            asks=len(asked) / max(1, len(asked) + len(told)),
            own=min(len([word for word in words if word in _OWN]), 4) / 4,
            yours=min(len([word for word in words if word in SECOND_PERSON]), 3) / 3,
            names=bool(_NAME.search(text)),
        )

    def _found(self, text: str) -> int:
        if not text:
            return 0
        text = text.lower()
        bits = 0
        if self._pattern is not None:
            for word in self._pattern.findall(text):
                bit = self._bits.get(stem(word))
                if bit is not None:
                    bits |= 1 << bit
        for pair, bit in self._pairs.items():
            if pair in text:
                bits |= 1 << bit
        return bits


class Coverage:
    """Share of a question's words that a set of them (as bits) makes up, each counted by how few of the messages have it."""

    def __init__(self, count: int, readings: Mapping[int, Reading]) -> None:
        total = len(readings)
        having = [sum(one.found >> bit & 1 for one in readings.values()) for bit in range(count)]
        self._rarity = [math.log1p((total - n + 0.5) / (n + 0.5)) for n in having]
        self._all = sum(self._rarity) or 1.0
        self._known: dict[int, float] = {0: 0.0}

    def of(self, bits: int) -> float:
        """From 0 to 1."""
        if bits not in self._known:
            rarity = (value for bit, value in enumerate(self._rarity) if bits >> bit & 1)
            self._known[bits] = sum(rarity) / self._all
        return self._known[bits]


def is_question(text: str) -> bool:
    return text.rstrip().endswith(QUESTION_MARKS)


def _parted(text: str) -> tuple[str, str]:
    """The sentences that ask, and the others."""
    if not any(mark in text for mark in QUESTION_MARKS):
        return "", text
    sentences = _SENTENCE.findall(text)
    return _joined(s for s in sentences if is_question(s)), _joined(
        s for s in sentences if not is_question(s)
    )


def _joined(sentences: Iterable[str]) -> str:
    return " ".join(sentences)
