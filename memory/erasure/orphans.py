"""Entries of the indexes that belong to no message. There should be none; a fault that left some must not keep anybody's words."""

from __future__ import annotations

from collections.abc import Iterator

from django.db import connection

from memory.backends import text_index, vector_index
from memory.index import archival
from memory.index.base import VectorIndex
from memory.index.sql import among, array
from memory.models import EmbeddingSpace, Message

SCAN = 5_000


def repair() -> int:
    """Removes entries without a message; returns how many there were."""
    count = vectors(remove=True)
    return count + text_index().remove_strays() + _archive()


def _archive() -> int:
    words_left, vectors_left = archival.strays()
    if words_left:
        archival.rebuild_words()
    return words_left + (archival.remove_strays() if vectors_left else 0)


def vectors(*, remove: bool) -> int:
    """Counts vectors without a message, and removes them if asked to."""
    count = 0
    for space in EmbeddingSpace.objects.all():
        index = vector_index(space)
        for keys in _pages(index):
            missing = _without_message(keys)
            # A message may have been removed between the two looks: then its vector is gone as well.
            there = list(index.vectors(missing)) if missing else []
            count += len(there)
            if remove and there:
                index.remove(there)
    return count


def words() -> int:
    """Counts entries of the full-text index without a message."""
    return text_index().strays()


def _pages(index: VectorIndex) -> Iterator[list[int]]:
    after = -1
    while keys := index.keys(after, SCAN):
        yield keys
        after = keys[-1]


def _without_message(keys: list[int]) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT value FROM {among()} WHERE NOT EXISTS "
            f"(SELECT 1 FROM {Message._meta.db_table} WHERE key = wanted.value)",
            [array(keys)],
        )
        return [int(row[0]) for row in cursor.fetchall()]
