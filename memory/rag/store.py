"""Passages in the database: rows, words and vectors of one version, written in short transactions and removed in one."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from django.db import transaction
from django.db.models import F

from memory.index import chunks as index
from memory.index.base import Vector
from memory.index.chunks import ChunkVectors, vector_tables
from memory.models import Chunk, DocumentVersion
from memory.models.documents import VERSION_SHIFT
from memory.models.fast import insert
from memory.models.locks import DOCUMENTS, hold
from memory.rag import nearness, words
from memory.rag.chunking import Chunk as Piece
from memory.rag.context import context, embedded_text
from memory.rag.spaces import Space

ROWS = 250
"""Passages a transaction."""


def context_of(row: Chunk) -> str:
    """The names that a passage stands under: file, title, headings."""
    return context(row.version.name, row.version.title, row.heading_path)


def text_hash(text: str, under: str) -> str:
    """The same for passages that have the same vectors."""
    embedded = embedded_text(text, under)
    return hashlib.sha256(embedded.encode()).hexdigest()[:32]


def rows_of(version: DocumentVersion, pieces: Sequence[Piece]) -> list[Chunk]:
    """The rows of a version's passages, not written yet."""
    base = version.pk << VERSION_SHIFT
    rows = []
    for piece in pieces:
        heading = "\n".join(" ".join(one.split()) for one in piece.heading_path if one.strip())
        rows.append(
            Chunk(
                key=base + piece.index,
                version=version,
                text=piece.text,
                heading=heading,
                page=piece.page,
                row=piece.row,
                section=piece.section,
                start=piece.start,
                end=piece.end,
                text_hash=text_hash(piece.text, context(version.name, version.title, heading.split("\n"))),
            )
        )
    return rows


def write(version: DocumentVersion, rows: Sequence[Chunk]) -> bool:
    """Rows and words, in batches. False if the version was cancelled or deleted meanwhile."""
    for start in range(0, len(rows), ROWS):
        batch = rows[start : start + ROWS]
        with transaction.atomic():
            hold(DOCUMENTS, version.pk)
            if not is_busy(version.pk):
                return False
            insert(batch)
            index.add_words([row.key for row in batch])
    return True


def is_busy(version_id: int) -> bool:
    row = DocumentVersion.objects.filter(pk=version_id).only("state").first()
    return row is not None and row.busy


def write_vectors(
    version_id: int, rows: Sequence[tuple[int, Vector, Vector]], space: Space, *, embedded: int
) -> None:
    """Vectors and states of passages that are still there; ``embedded`` of them are new ones."""
    with transaction.atomic():
        hold(DOCUMENTS, version_id)
        there = set(Chunk.objects.filter(key__in=[row[0] for row in rows]).values_list("key", flat=True))
        known = [row for row in rows if row[0] in there]
        vectors = space.index()
        vectors.create()
        vectors.add(known)
        nearness.note_change()
        Chunk.objects.filter(key__in=there).update(embedding=Chunk.Embedding.DONE, space=space.id)
        DocumentVersion.objects.filter(pk=version_id).update(
            chunks_done=F("chunks_done") + len(known), chunks_embedded=F("chunks_embedded") + embedded
        )


def drop(version_ids: Sequence[int]) -> int:
    """Removes the passages of versions with their words and vectors, in the caller's transaction; returns how many."""
    gone = 0
    with transaction.atomic():
        tables = [ChunkVectors(table.rsplit("_", 1)[1], 1) for table in vector_tables()]
        for version_id in sorted(version_ids):
            hold(DOCUMENTS, version_id)
            rows = list(Chunk.objects.filter(version_id=version_id).select_related("version"))
            keys = [row.key for row in rows]
            index.remove_words(keys)
            for table in tables:
                table.remove(keys)
            gone += len(keys)
            nearness.note_change()
            Chunk.objects.filter(version_id=version_id).delete()
            words.forget(embedded_text(row.text, context_of(row)) for row in rows)
    return gone
