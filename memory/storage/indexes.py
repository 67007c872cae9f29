"""The indexes: vectors are copied, not made again; words are indexed anew from the rows.

Each function reads from the default connection; what it is given to write with writes to the target.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper

from memory import backends
from memory.blocks.audience import partition
from memory.index import archival, chunks
from memory.index.base import VectorRow
from memory.models import ArchivalEntry, Chunk, EmbeddingSpace, Message
from memory.storage.rows import Sum
from memory.storage.target import serving

PAGE = 1_000


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vectors of one table: its name, pages of what is in it, and what writes a page in the storage that serves then."""

    name: str
    pages: Callable[[], Iterator[list[tuple[Any, ...]]]]
    """Rows of (key, …, vector, …), as ``write`` takes them."""
    create: Callable[[], None]
    write: Callable[[list[tuple[Any, ...]]], None]


def all_vectors() -> list[Vectors]:
    """Every table of vectors of the storage that serves."""
    found = [_of_messages(space) for space in EmbeddingSpace.objects.order_by("pk")]
    found += [one for space in EmbeddingSpace.objects.order_by("pk") if (one := _of_archive(space))]
    return found + [one for name in sorted(chunks.vector_tables()) if (one := _of_chunks(name))]


def copy(vectors: Vectors, target: BaseDatabaseWrapper, progress: Callable[[int], None]) -> Sum:
    """Copies a table; returns the sum of what was read."""
    found = Sum()
    with serving(target):
        vectors.create()
    for page in vectors.pages():
        for row in page:
            found.add(*map(_hashable, row))
        with serving(target):
            vectors.write(page)
        progress(found.rows)
    return found


def sum_of(vectors: Vectors) -> Sum:
    found = Sum()
    for page in vectors.pages():
        for row in page:
            found.add(*map(_hashable, row))
    return found


def rebuild_words() -> None:
    """Indexes the words of the storage that serves."""
    backends.text_index().rebuild()
    chunks.rebuild_words()
    archival.rebuild_words()


def _hashable(value: Any) -> Any:
    return value.astype("<f4").tobytes() if hasattr(value, "astype") else value


def _of_messages(space: EmbeddingSpace) -> Vectors:
    def pages() -> Iterator[list[tuple[Any, ...]]]:
        index, after = backends.vector_index(space), -1
        while keys := index.keys(after, PAGE):
            after = keys[-1]
            channels = dict(Message.objects.filter(key__in=keys).values_list("key", "channel_id"))
            found = index.vectors(keys)
            # A vector without a message belongs to nobody; the re-scan of an erasure would remove it.
            yield [(key, channels[key], found[key]) for key in sorted(found) if key in channels]

    return Vectors(
        f"memory_vectors_{space.pk}",
        pages,
        lambda: backends.vector_index(space).create(),
        lambda page: backends.vector_index(space).add([VectorRow(*row) for row in page]),
    )


def _of_archive(space: EmbeddingSpace) -> Vectors | None:
    if not archival.ArchivalVectors(space.pk, space.dimension).exists():
        return None

    def pages() -> Iterator[list[tuple[Any, ...]]]:
        table = archival.ArchivalVectors(space.pk, space.dimension)
        for rows in _pages(
            ArchivalEntry.objects.filter(deleted_at=None), ("pk", "scope", "scope_key", "private")
        ):
            found = table.vectors([row[0] for row in rows])
            yield [
                (pk, partition(scope, key, private=private), found[pk])
                for pk, scope, key, private in rows
                if pk in found
            ]

    return Vectors(
        f"{archival.__name__.rpartition('.')[2]} vectors {space.pk}",
        pages,
        lambda: archival.ArchivalVectors(space.pk, space.dimension).create(),
        lambda page: archival.ArchivalVectors(space.pk, space.dimension).add(page),
    )


def _of_chunks(table: str) -> Vectors | None:
    space = table.rpartition("_")[2]
    dimension = _dimension(space)
    if dimension is None:
        return None

    def pages() -> Iterator[list[tuple[Any, ...]]]:
        for rows in _pages(Chunk.objects.all(), ("pk",)):
            found = chunks.ChunkVectors(space, 1).vectors([row[0] for row in rows])
            yield [(key, *found[key]) for key in sorted(found)]

    return Vectors(
        table,
        pages,
        lambda: chunks.ChunkVectors(space, dimension).create(),
        lambda page: chunks.ChunkVectors(space, dimension).add(page),
    )


def _dimension(space: str) -> int | None:
    """That of the first vector; an empty table is not moved: it is made when it is needed."""
    for rows in _pages(Chunk.objects.all(), ("pk",)):
        for vector, _ in chunks.ChunkVectors(space, 1).vectors([row[0] for row in rows]).values():
            return len(vector)
    return None


def _pages(rows: Any, names: Sequence[str]) -> Iterator[list[tuple[Any, ...]]]:
    after: Any = -1
    while page := list(rows.filter(pk__gt=after).order_by("pk").values_list(*names)[:PAGE]):
        yield page
        after = page[-1][0]
