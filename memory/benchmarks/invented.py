"""Invented talk with the statistics of real talk: few common words, many rare ones, topics that come back, vectors in clusters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
import numpy.typing as npt

from memory.benchmarks.people import WORDS
from memory.llm.base import Vectors

DIMENSION = 512
TOPICS = 3_000
FIELDS = 60
"""Topics lie near the middle of one of so many fields."""
VOCABULARY = 20_000
WORDS_OF_A_TOPIC = 40
LITTLE = [
    "the",
    "a",
    "to",
    "and",
    "of",
    "i",
    "it",
    "is",
    "in",
    "that",
    "for",
    "on",
    "you",
    "we",
    "was",
    "with",
    "my",
    "so",
    "at",
    "be",
    "have",
    "this",
    "are",
    "not",
    "do",
]
SYLLABLES = [
    "ba",
    "ro",
    "ki",
    "len",
    "sta",
    "mo",
    "tu",
    "ver",
    "shi",
    "nal",
    "pe",
    "do",
    "ga",
    "rim",
    "os",
    "fel",
    "qua",
    "tin",
    "ju",
    "hap",
]

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Said:
    """Some messages: what they say, what they are about, and their vectors (unit length, one a row)."""

    texts: list[str]
    vectors: Vectors


class Talk:
    """The same for the same seed."""

    def __init__(self, seed: int = 1, vocabulary: int = VOCABULARY) -> None:
        self.chance = np.random.default_rng(seed)
        self._size = vocabulary
        fixed = np.random.default_rng(7)
        fields = unit(fixed.normal(size=(FIELDS, DIMENSION)))
        own = unit(fixed.normal(size=(TOPICS, DIMENSION)))
        self._centres = unit(fields[fixed.integers(FIELDS, size=TOPICS)] * 0.7 + own * 0.7)
        self._of_topics = fixed.integers(len(WORDS), vocabulary, size=(TOPICS, WORDS_OF_A_TOPIC))
        frequency = 1 / (np.arange(vocabulary) + 10.0)
        self._cumulative = np.cumsum(frequency / frequency.sum())

    @cached_property
    def vocabulary(self) -> npt.NDArray[np.object_]:
        """Real words first, then made-up ones; the little words of every sentence at the end."""
        made = ["".join(one) for one in product(SYLLABLES, repeat=4)]
        wanted = self._size - len(WORDS)
        return np.array([*WORDS, *made[:: len(made) // wanted][:wanted], *LITTLE], object)

    def say(self, count: int) -> Said:
        """``count`` messages of some twelve words each."""
        topics = self.chance.integers(TOPICS, size=count)
        lengths = np.clip(self.chance.lognormal(2.3, 0.6, count), 2, 60).astype(int)
        words = self.vocabulary[self._numbers(np.repeat(topics, lengths))]
        ends = np.cumsum(lengths)
        texts = [" ".join(words[end - length : end]) for end, length in zip(ends, lengths, strict=True)]
        own = unit(self.chance.normal(size=(count, DIMENSION)))
        return Said(texts, unit(self._centres[topics] * 0.65 + own * 0.75))

    def _numbers(self, topics: Integers) -> Integers:
        """A word for each place: little, general, or of the message's topic."""
        size = len(topics)
        kind = self.chance.random(size)
        general = np.searchsorted(self._cumulative, self.chance.random(size)).clip(0, self._size - 1)
        little = self._size + self.chance.integers(len(LITTLE), size=size)
        topical = self._of_topics[topics, self.chance.integers(WORDS_OF_A_TOPIC, size=size)]
        found: Integers = np.where(kind < 0.4, little, np.where(kind < 0.75, general, topical))
        return found

    def ask(self, text: str) -> str:
        """A question that has some words of a message, and one that many have."""
        said = [word for word in dict.fromkeys(text.split()) if word not in LITTLE]
        some = list(self.chance.permutation(said)[:4]) if said else []
        common = WORDS[int(self.chance.integers(10))]
        return f"What did we say about {' '.join([*map(str, some), common])}?"

    def near(self, vector: Vectors) -> Vectors:
        """The vector of a question about a message that has ``vector``: a cosine of about .74."""
        return unit(vector + unit(self.chance.normal(size=DIMENSION)) * 0.9)

    def pick(self, items: Sequence[int], count: int) -> list[int]:
        return [int(one) for one in self.chance.choice(np.asarray(items), count)]


def unit(array: npt.NDArray[np.generic]) -> Vectors:
    """Rows of unit length."""
    lengths = np.linalg.norm(array, axis=-1, keepdims=True)
    return np.asarray(array / lengths, np.float32)
