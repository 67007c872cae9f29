"""The archive's indexes: words, and vectors in one table an embedding space. Which storage serves is decided here, call by call.

Both hold live entries only. Vectors are partitioned by a number that stands for the scope and names nobody; which entries may be
found is decided by the caller, who passes their ids: they are filtered before they are ranked.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Protocol

from django.db import connection

from memory.index.base import Vector


class VectorTable(Protocol):
    """The vectors of one embedding space."""

    dimension: int
    table: str

    def create(self) -> None: ...
    def drop(self) -> None: ...
    def exists(self) -> bool: ...
    def add(self, rows: Sequence[tuple[int, int, Vector]]) -> None:
        """Adds or replaces (id, number of the scope, unit vector). Raises ``ValueError`` for a vector of another form."""

    def nearest(
        self, scopes: Collection[int], vector: Vector, allowed: Collection[int], k: int
    ) -> list[tuple[int, float]]:
        """(id, cosine) of the nearest allowed entries of these scopes, best first."""

    def vectors(self, ids: Sequence[int]) -> dict[int, Vector]:
        """The vectors of those entries that have one."""

    def count(self) -> int: ...


class Storage(Protocol):
    """What ``sqlite_archival`` and ``pg_archival`` both are."""

    def add_words(self, ids: Sequence[int]) -> None: ...
    def remove(self, ids: Sequence[int]) -> None: ...
    def rebuild_words(self) -> None: ...
    def search_words(
        self, words: Sequence[str], allowed: Collection[int], k: int
    ) -> list[tuple[int, float]]: ...
    def optimize(self) -> None: ...
    def holding(self, word: str) -> int: ...
    def vector_tables(self) -> list[str]: ...
    def strays(self) -> tuple[int, int]: ...
    def remove_strays(self) -> int: ...
    def vector_table(self, space_id: int, dimension: int) -> VectorTable: ...


def _storage() -> Storage:
    if connection.vendor == "postgresql":
        from memory.index import pg_archival

        return pg_archival
    from memory.index import sqlite_archival

    return sqlite_archival


def add_words(ids: Sequence[int]) -> None:
    """Indexes the words of entries that are in the table and not in the index."""
    _storage().add_words(ids)


def remove(ids: Sequence[int]) -> None:
    """Takes entries out of all indexes; call it before their rows are changed or deleted. Others are no error."""
    _storage().remove(ids)


def forget(sender: Any, instance: Any, **kwargs: Any) -> None:
    """Receiver of ``pre_delete``: whatever deletes a row, by a cascade too, its words and vectors go first."""
    remove([instance.pk])


def rebuild_words() -> None:
    """Makes the index of words anew from the rows, where it holds what belongs to none of them."""
    _storage().rebuild_words()


def search_words(words: Sequence[str], allowed: Collection[int], k: int) -> list[tuple[int, float]]:
    """(id, BM25) of the allowed entries that hold any of the words, best first; higher is better."""
    return _storage().search_words(words, allowed, k)


def optimize() -> None:
    """Merges the index of words, after which nothing of removed entries is left in it."""
    _storage().optimize()


def holding(word: str) -> int:
    """How many entries hold a word, whosever they are; for the re-scan of an erasure."""
    return _storage().holding(word)


def vector_tables() -> list[str]:
    """The tables of all spaces, those of models that are not in use any more included: their vectors are no less personal."""
    return _storage().vector_tables()


def strays() -> tuple[int, int]:
    """Entries of the words and of the vectors that belong to no live entry. There should be none."""
    return _storage().strays()


def remove_strays() -> int:
    """Removes vectors that belong to no live entry; returns how many."""
    return _storage().remove_strays()


def ArchivalVectors(space_id: int, dimension: int) -> VectorTable:
    """The vectors of one embedding space."""
    return _storage().vector_table(space_id, dimension)
