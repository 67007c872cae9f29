"""Entries of the indexes that belong to no message. There should be none; a fault that left some must not keep anybody's words."""

from __future__ import annotations

from collections.abc import Iterator

from django.db import connection, transaction

from memory.backends import vector_index
from memory.index import archival
from memory.index.base import VectorIndex
from memory.models import EmbeddingSpace, Message

SCAN = 5_000


def repair() -> int:
    """Removes entries without a message; returns how many there were.

    The words of one cannot be taken out one by one (FTS5 would have to be told them), so that index is built anew.
    """
    count = vectors(remove=True)
    if strays := words():
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("INSERT INTO memory_message_fts(memory_message_fts) VALUES ('rebuild')")
        count += strays
    return count + _archive()


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
    if connection.vendor != "sqlite":
        return 0
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM memory_message_fts_docsize AS entry "
            "WHERE entry.id > 0 AND NOT EXISTS (SELECT 1 FROM memory_message WHERE key = entry.id)"
        )
        return int(cursor.fetchone()[0])


def _pages(index: VectorIndex) -> Iterator[list[int]]:
    after = -1
    while keys := index.keys(after, SCAN):
        yield keys
        after = keys[-1]


def _without_message(keys: list[int]) -> list[int]:
    there = set(Message.objects.filter(key__gte=keys[0], key__lte=keys[-1]).values_list("key", flat=True))
    return [key for key in keys if key not in there]
