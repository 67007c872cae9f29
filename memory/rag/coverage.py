"""How much of a question's words a text has: as written, misspelt or inflected, and by meaning (also across languages)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log
from os.path import commonprefix

import numpy as np
import numpy.typing as npt

from memory.index.terms import CJK, tokens
from memory.rag.loaders.clean import folded
from memory.rag.stopwords import ALL

Vectors = npt.NDArray[np.float32]
WordVectors = Callable[[Sequence[str]], Vectors]
"""Unit vectors of single words, in order; zeros where there is none."""

_WORD = re.compile(f"[^\\W_{CJK}]+")
_ASCII_WORD = re.compile("[a-z0-9]+")
_CJK = re.compile(f"[{CJK}]")
LEAST_COSINE = 0.6
"""Words whose vectors are further apart have nothing to do with each other."""
NEAREST = 15
"""So many words of the candidates may stand for one of the question."""
LONGEST = 40
"""Letters; longer words are numbers, addresses and the like."""
SHARPNESS = 3
"""A likeness counts with this power: .8 for half, .6 for a fifth."""


@dataclass(frozen=True, slots=True)
class Frequencies:
    """In how many chunks of the whole index a word is. ``of`` may know stems only; unknown words are 0."""

    of: Callable[[str], int]
    total: int

    def rarity(self, word: str, found: int) -> float:
        """Inverse document frequency; a word that only has likenesses counts as often as those are."""
        count = self.of(word) or max(1, min(found, 50))
        return log(1 + (self.total - count + 0.5) / (count + 0.5)) if count <= self.total else 0.01


def question_words(text: str) -> list[str]:
    """The words of a question that say what it is about; pairs of characters where there are no spaces."""
    return [word for word in tokens(folded(text)) if word not in ALL]


@dataclass(frozen=True, slots=True)
class Coverage:
    """``matches[w, c]``: how well the word ``w`` is in the text ``c``, 0 to 1. ``weights``: how much each word says."""

    words: Sequence[str]
    matches: Vectors
    weights: Vectors

    def best(self, texts: Sequence[int] | slice) -> Vectors:
        """How well these texts have each word between them."""
        found: Vectors = self.matches[:, texts].max(axis=1)
        return found

    def share(self, texts: Sequence[int] | slice) -> float:
        """The share of the question's words, by weight, that these texts have between them; 0 to 1."""
        if not self.weights.size:
            return 0.0
        return float((self.best(texts) * self.weights).sum() / self.weights.sum())

    def each(self) -> Vectors:
        if not self.weights.size:
            return np.zeros(self.matches.shape[1], dtype=np.float32)
        each: Vectors = self.weights @ self.matches / self.weights.sum()
        return each


def cover(
    question: str, texts: Sequence[str], frequencies: Frequencies, vectors: WordVectors | None = None
) -> Coverage:
    """How the texts cover the question. Without ``vectors`` only spelling counts."""
    words = question_words(question)
    owned = [_words(text) for text in texts]
    vocabulary = sorted(set().union(*owned)) if owned else []
    place = {word: i for i, word in enumerate(vocabulary)}
    present = np.zeros((len(vocabulary), len(texts)), dtype=np.float32)
    for column, own in enumerate(owned):
        present[[place[word] for word in own], column] = 1
    likeness = _likeness(words, vocabulary, vectors)
    matches = np.zeros((len(words), len(texts)), dtype=np.float32)
    weights = np.zeros(len(words), dtype=np.float32)
    for row, word in enumerate(words):
        if " " in word or _CJK.search(word):
            pair = word.replace(" ", "")
            matches[row] = [float(pair in text) for text in texts]
            weights[row] = 0.5 * frequencies.rarity(word, int(matches[row].sum()))
            continue
        if likeness[row]:
            alike = np.array(list(likeness[row].values()), dtype=np.float32) ** SHARPNESS
            standing = present[[place[other] for other in likeness[row]]]
            matches[row] = (alike[:, None] * standing).max(axis=0)
        weights[row] = frequencies.rarity(word, int((matches[row] > 0).sum()))
    return Coverage(words, matches, weights)


def _likeness(
    words: Sequence[str], vocabulary: Sequence[str], vectors: WordVectors | None
) -> list[Mapping[str, float]]:
    """What stands for each word, and how well. Nothing is like a number but itself: 46 is not 45."""
    by_first: dict[str, list[str]] = {}
    wanted = {word[0] for word in words}
    for known in vocabulary:
        if known[0] in wanted:
            by_first.setdefault(known[0], []).append(known)
    found: list[dict[str, float]] = []
    exact = [" " in word or any(letter.isdigit() for letter in word) for word in words]
    for word, as_it_is in zip(words, exact, strict=True):
        if as_it_is:
            found.append({})
            continue
        # Nearly all are of another length; asking for each of them would take longer than all the rest.
        apart = _length_apart(word)
        least, most = len(word) - apart, len(word) + apart
        alike = {
            other: 0.95 * likeness
            for other in (by_first.get(word[0], ()) if apart else ())
            if least <= len(other) <= most and (likeness := _alike(word, other))
        }
        found.append(alike)
    if vectors is not None and vocabulary and words:
        cosines = vectors(words) @ vectors(vocabulary).T
        for row, alike in enumerate(found):
            if exact[row]:
                continue
            near = np.flatnonzero(cosines[row] >= LEAST_COSINE)
            for column in near[np.argsort(-cosines[row, near], kind="stable")[:NEAREST]]:
                alike[vocabulary[column]] = max(
                    alike.get(vocabulary[column], 0.0), float(cosines[row, column])
                )
    present = set(vocabulary)
    for word, alike in zip(words, found, strict=True):
        if word in present:
            alike[word] = 1.0
    return list(found)


def _length_apart(word: str) -> float:
    """How many letters more or fewer a word may have that is spelled alike."""
    return max(3, 0.4 * len(word)) if len(word) >= 4 else 0


def spelled_alike(word: str, other: str) -> float:
    """0 to 1: the same beginning (inflections) or most letters in order (slips); 0 where it is neither."""
    if len(word) < 4 or abs(len(word) - len(other)) > _length_apart(word):
        return 1.0 if word == other else 0.0
    return _alike(word, other)


@lru_cache(maxsize=65536)
def _alike(word: str, other: str) -> float:
    """``spelled_alike`` for words of about the same length."""
    best = 0.0
    if word[:4] == other[:4]:
        longest = max(len(word), len(other))
        shared = len(commonprefix((word, other)))
        best = 0.6 + 0.4 * shared / longest if shared >= 0.6 * longest else 0.0
    mine, theirs = _trigrams(word), _trigrams(other)
    dice = 2 * len(mine & theirs) / (len(mine) + len(theirs))
    return max(best, 0.4 + 0.6 * dice if dice >= 0.5 else 0.0)


@lru_cache(maxsize=65536)
def _trigrams(word: str) -> frozenset[str]:
    padded = f" {word} "
    return frozenset(padded[i : i + 3] for i in range(len(padded) - 2))


@lru_cache(maxsize=8192)
def _words(text: str) -> frozenset[str]:
    """Distinct words of a text, lower case; runs without spaces are looked at by their characters instead."""
    # The names that a passage stands under are many passages' and seldom plain ASCII; what it says itself mostly is.
    first, _, rest = text.partition("\n")
    return _of_line(first) | _found(rest)


@lru_cache(maxsize=2048)
def _of_line(text: str) -> frozenset[str]:
    return _found(text)


def _found(text: str) -> frozenset[str]:
    lower = folded(text).lower()
    found = frozenset((_ASCII_WORD if lower.isascii() else _WORD).findall(lower))
    if max(map(len, found), default=0) < LONGEST:
        return found
    return frozenset(word for word in found if len(word) < LONGEST)
