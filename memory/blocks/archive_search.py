"""Searching the archive: by words and by meaning, fused; and by literal text, line by line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from django.db.models import QuerySet

from memory.blocks.archive import between, clean_tags, days
from memory.blocks.audience import own_entries, partition
from memory.blocks.embedding import queue_outdated
from memory.blocks.errors import EmptyQuery
from memory.blocks.text import normal, query_words
from memory.blocks.types import Found, Place, Results
from memory.index import archival
from memory.index.archival import ArchivalVectors
from memory.index.base import Vector
from memory.models import ArchivalEntry, EmbeddingSpace, Scope
from memory.retrieval.vectors import Question, active_space

T = TypeVar("T")

CANDIDATES = 200
RANK_CONSTANT = 60
"""Of the fusion: 1 / (60 + rank) from each list."""
SECONDS = 3.0


def wanted(place: Place, tags: Sequence[str], start: str, end: str) -> QuerySet[ArchivalEntry]:
    """Entries that may be found here, with all of the tags, of those days."""
    since, until = days(place, start, end)
    rows = own_entries(place).filter(between(since, until, "event_time"))
    for tag in clean_tags(tags):
        # As it stands in the JSON: quotes around it make it a whole tag.
        ids = [pk for pk, held in rows.values_list("pk", "tags") if tag in held]
        rows = rows.filter(pk__in=ids)
    return rows


def fused(
    place: Place,
    query: str,
    *,
    tags: Sequence[str] = (),
    start: str = "",
    end: str = "",
    limit: int = 5,
    cursor: str = "",
) -> Results:
    """Words and the vectors of the current model; without vectors it says that it is degraded. Raises ``EmptyQuery``, ``InvalidDate``."""
    rows = wanted(place, tags, start, end)
    if not query.strip():
        if not (clean_tags(tags) or start.strip() or end.strip()):
            raise EmptyQuery()
        return listed(place, rows, limit=limit, cursor=cursor)
    words = query_words(query)
    allowed = set(rows.values_list("pk", flat=True))
    space = active_space()
    question = Question(query) if allowed else None
    ranked = [archival.search_words(words, allowed, CANDIDATES)]
    vector = question.wait(SECONDS)[0] if question else None
    degraded = bool(allowed) and vector is None
    if vector is not None and space is not None and len(vector.vector) == space.dimension:
        ranked.append(_nearest(place, space, vector.vector, allowed))
        degraded = rows.exclude(embedding=ArchivalEntry.Embedding.DONE, space=space).exists()
        if degraded:
            queue_outdated()
    scores: dict[int, float] = {}
    for hits in ranked:
        for rank, (pk, _) in enumerate(hits):
            scores[pk] = scores.get(pk, 0.0) + 1.0 / (RANK_CONSTANT + rank + 1)
    best = sorted(scores, key=lambda pk: (-scores[pk], -pk))
    page = paged(best, limit, cursor)
    texts = {row.pk: row for row in rows.filter(pk__in=page[0])}
    hits_here = [_found(texts[pk], scores[pk]) for pk in page[0] if pk in texts]
    return Results(tuple(hits_here), page[1], degraded, place.zone)


def _nearest(
    place: Place, space: EmbeddingSpace, vector: Vector, allowed: set[int]
) -> list[tuple[int, float]]:
    index = ArchivalVectors(space.pk, space.dimension)
    if not index.exists():
        return []
    kinds = (False, True) if place.private else (False,)
    scopes = [partition(Scope.USER, place.user_id, private=private) for private in kinds]
    return [hit for hit in index.nearest(scopes, vector, allowed, CANDIDATES) if hit[1] > 0.0]


def literal(
    place: Place,
    query: str,
    *,
    tags: Sequence[str] = (),
    start: str = "",
    end: str = "",
    limit: int = 5,
    cursor: str = "",
) -> Results:
    """Lines that hold the query as it is, whatever the case; newest first. It is never read as a pattern."""
    rows = wanted(place, tags, start, end)
    if not query.strip():
        if not (clean_tags(tags) or start.strip() or end.strip()):
            raise EmptyQuery()
        return listed(place, rows, limit=limit, cursor=cursor)
    needle = " ".join(normal(query).split()).casefold()
    lines = rows.order_by("-event_time", "-pk")
    hits = [row for row in lines if needle in line_of(row, place).casefold()]
    some, following = paged(hits, limit, cursor)
    return Results(tuple(_found(row, 1.0) for row in some), following, False, place.zone)


def listed(place: Place, rows: QuerySet[ArchivalEntry], *, limit: int, cursor: str) -> Results:
    found = list(rows.order_by("-event_time", "-pk"))
    some, following = paged(found, limit, cursor)
    return Results(tuple(_found(row, 0.0) for row in some), following, False, place.zone)


def line_of(row: ArchivalEntry, place: Place) -> str:
    """An entry as a line of the blob: ``2026-03-01: text [tags]``."""
    tags = f" [{', '.join(row.tags)}]" if row.tags else ""
    return f"{row.event_time.astimezone(place.zone):%Y-%m-%d}: {' '.join(row.text.split())}{tags}"


def paged(found: Sequence[T], limit: int, cursor: str) -> tuple[list[T], str | None]:
    """A page of a list, and the cursor of the next one; a cursor that says nothing means the beginning."""
    start = int(cursor) if cursor.isascii() and cursor.isdecimal() and len(cursor) < 9 else 0
    some = list(found[start : start + limit])
    return some, str(start + limit) if start + limit < len(found) else None


def _found(row: ArchivalEntry, score: float) -> Found:
    return Found(str(row.pk), row.event_time, row.text, score)
