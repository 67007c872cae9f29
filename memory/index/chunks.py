"""Indexes of passages: words, and vectors in one table an embedding model. Which storage serves is decided here, call by call.

The caller passes the versions that may be found; they are filtered before they are ranked. A key has its version in the high bits.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt
from django.db import connection

from memory.index.base import Vector

Vectors = npt.NDArray[np.float32]

SHIFT = 20
"""As ``memory.models.documents.VERSION_SHIFT``."""


def version_keys(version: int) -> tuple[int, int]:
    """First and last key of a version's passages, both inclusive."""
    return version << SHIFT, ((version + 1) << SHIFT) - 1


class VectorTable(Protocol):
    """The vectors of one model. A passage has one in its context, and one of its own."""

    dimension: int
    table: str

    def create(self) -> None: ...
    def drop(self) -> None: ...
    def exists(self) -> bool: ...
    def add(self, rows: Sequence[tuple[int, Vector, Vector]]) -> None:
        """Adds or replaces (key, vector in context, vector alone). Raises ``ValueError`` for a vector of another form."""

    def remove(self, keys: Iterable[int]) -> None: ...
    def nearest(self, vector: Vector, versions: Collection[int], k: int) -> list[tuple[int, float]]:
        """(key, cosine) of the nearest passages of these versions, best first."""

    def vectors(self, keys: Sequence[int]) -> dict[int, tuple[Vector, Vector]]:
        """Both vectors of those passages that have them."""

    def everything(self) -> tuple[npt.NDArray[np.int64], Vectors, Vectors]:
        """Keys, and both vectors of each as rows of a matrix."""

    def count(self) -> int: ...
    def keys_without_rows(self, limit: int = 1000) -> list[int]:
        """Vectors whose passage is gone."""

    def rows_without_vectors(self, space: str, limit: int = 1000) -> list[int]:
        """Passages that are said to have a vector here and have none."""


class Storage(Protocol):
    """What ``sqlite_chunks`` and ``pg_chunks`` both are."""

    def add_words(self, keys: Sequence[int]) -> None: ...
    def remove_words(self, keys: Sequence[int]) -> None: ...
    def search_words(
        self, words: Sequence[str], versions: Collection[int], k: int
    ) -> list[tuple[int, float]]: ...
    def search_bodies(self, words: Sequence[str], versions: Collection[int], k: int) -> list[int]: ...
    def count_with(self, word: str) -> int: ...
    def optimize(self) -> None: ...
    def word_keys_without_rows(self, limit: int = 1000) -> list[int]: ...
    def rows_without_words(self, limit: int = 1000) -> list[int]: ...
    def rebuild_words(self) -> None: ...
    def sound_words(self) -> bool: ...
    def vector_tables(self) -> list[str]: ...
    def vector_table(self, space: str, dimension: int) -> VectorTable: ...


Terms = Callable[[str, str, str, str], tuple[str, str, str]]
_terms: list[Terms] = []


def register_terms(function: Terms) -> None:
    """Says what is indexed of a passage: (title, heading, body) of the document's name and title, the headings and the text.

    SQLite's view has the same as functions of the database.
    """
    _terms[:] = [function]


def terms_of(name: str, title: str, heading: str, text: str) -> tuple[str, str, str]:
    return _terms[0](name, title, heading, text)


def _storage() -> Storage:
    if connection.vendor == "postgresql":
        from memory.index import pg_chunks

        return pg_chunks
    from memory.index import sqlite_chunks

    return sqlite_chunks


def add_words(keys: Sequence[int]) -> None:
    """Indexes passages that are in the table and not in the index."""
    _storage().add_words(keys)


def remove_words(keys: Sequence[int]) -> None:
    """Takes passages out; call it before their rows, or those of their version, are changed or deleted."""
    _storage().remove_words(keys)


def search_words(words: Sequence[str], versions: Collection[int], k: int) -> list[tuple[int, float]]:
    """(key, BM25) of the ``k`` best passages of these versions for any of the words (``terms.tokens``); higher is better."""
    return _storage().search_words(words, versions, k)


def search_bodies(words: Sequence[str], versions: Collection[int], k: int) -> list[int]:
    """Keys by the passages' own words alone, best first."""
    return _storage().search_bodies(words, versions, k)


def count_with(word: str) -> int:
    """In how many passages a word (or its stem) stands."""
    return _storage().count_with(word)


def optimize() -> None:
    """Merges the index of words, after which nothing of removed passages is left in it."""
    _storage().optimize()


def word_keys_without_rows(limit: int = 1000) -> list[int]:
    """Entries of the words whose passage is gone."""
    return _storage().word_keys_without_rows(limit)


def rows_without_words(limit: int = 1000) -> list[int]:
    """Passages that the words do not know."""
    return _storage().rows_without_words(limit)


def rebuild_words() -> None:
    """Makes the index of words anew from the rows: where entries are left whose rows are gone, their words are not known."""
    _storage().rebuild_words()


def sound_words() -> bool:
    """The index's own check against the rows."""
    return _storage().sound_words()


def vector_tables() -> list[str]:
    """The tables of all models whose vectors are stored."""
    return _storage().vector_tables()


def ChunkVectors(space: str, dimension: int) -> VectorTable:
    """The vectors of one model, named by ``space``: hexadecimal digits."""
    return _storage().vector_table(space, dimension)
