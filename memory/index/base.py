"""What every index of memories can do. Keys are those of ``Message``: the guild's ordinal in the high bits."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float32]

GUILD_SHIFT = 40


def key_range(guild: int) -> tuple[int, int]:
    """First and last message key of a guild (by its ordinal), both inclusive."""
    return guild << GUILD_SHIFT, ((guild + 1) << GUILD_SHIFT) - 1


def guild_of(key: int) -> int:
    """Ordinal of the guild that a message key belongs to."""
    return key >> GUILD_SHIFT


@dataclass(frozen=True, slots=True)
class VectorRow:
    key: int
    channel: int
    """Discord's id of the channel: recall filters by it before it ranks."""
    vector: Vector
    """Unit length, shape ``(dimension,)``, float32."""


@dataclass(frozen=True, slots=True)
class VectorHit:
    key: int
    cosine: float


@dataclass(frozen=True, slots=True)
class TextHit:
    key: int
    fielded: float
    """BM25 over all columns with their weights; higher is better."""
    body: float
    """BM25 over the message's own words alone; higher is better."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page of an operator's search: SQL conditions on ``message`` with their values, and the score and key that it begins behind."""

    conditions: Sequence[str] = ()
    values: Sequence[Any] = ()
    after: tuple[float, int] | None = None


class VectorIndex(Protocol):
    """Nearest neighbours within one guild. One index holds the vectors of one embedding space.

    A guild is named by its ordinal; ``None`` looks in all of them, for an operator's search and never for a recall.
    """

    dimension: int

    def create(self) -> None:
        """Makes the index if it is not there yet."""

    def drop(self) -> None:
        """Removes the index with everything in it."""

    def add(self, rows: Sequence[VectorRow]) -> None:
        """Adds or replaces rows. Raises ``ValueError`` for a vector of another dimension or one that is not finite."""

    def remove(self, keys: Iterable[int]) -> None:
        """Removes rows; keys that are not there are no error."""

    def nearest(
        self,
        guild: int | None,
        vector: Vector,
        k: int,
        *,
        channels: Collection[int] | None = None,
        exclude: Collection[int] = (),
    ) -> list[VectorHit]:
        """The ``k`` nearest of a guild, best first, filtered before they are ranked. ``channels=None`` means all."""

    def vectors(self, keys: Sequence[int]) -> dict[int, Vector]:
        """The vectors of those keys that are there."""

    def count(self, guild: int | None = None) -> int:
        """Rows in the index, of one guild or of all."""

    def keys(self, after: int = -1, limit: int = 1000) -> list[int]:
        """Keys in ascending order, for scans that compare the index with the rows."""

    def prepare(self, seconds: float) -> bool:
        """Builds some of what searches are faster with and an older index lacks; True once nothing is left.

        Searches are right before and meanwhile. Writes in short transactions of its own, for about ``seconds``.
        """


class TextIndex(Protocol):
    """Full text within one guild. It is derived from the message table: rows must exist while they are added or removed.

    A guild is named by its ordinal; ``None`` looks in all of them, for an operator's search and never for a recall.
    """

    def add(self, keys: Sequence[int]) -> None:
        """Indexes messages that are in the table and not in the index."""

    def remove(self, keys: Sequence[int], *, merged_later: bool = False) -> None:
        """Takes messages out; call it before the row is changed or deleted.

        ``merged_later`` is much faster for many: they are found no more at once, but their words leave the file only with the
        ``optimize`` that the caller has to see to.
        """

    def search(
        self,
        guild: int | None,
        words: Sequence[str],
        k: int,
        *,
        channels: Collection[int] | None = None,
        exclude: Collection[int] = (),
    ) -> list[TextHit]:
        """The ``k`` best of a guild for any of the words (``terms.tokens``), best first, filtered before they are ranked."""

    def optimize(self) -> None:
        """Merges the index's segments, after which nothing of removed rows is left in it."""

    def page(self, guild: int | None, words: Sequence[str], k: int, page: Page) -> list[tuple[int, float]]:
        """(key, ``fielded``) of the ``k`` best of a page, best first."""

    def rebuild(self) -> None:
        """Makes the index anew from the rows."""

    def strays(self) -> int:
        """Entries that belong to no message. There should be none."""

    def remove_strays(self) -> int:
        """Removes them; returns how many there were."""
