"""Passages in a trace: named by key, never copied, and read with the words of today."""

from __future__ import annotations

import uuid
from typing import Any

from memory.models import Chunk, Reply, ReplyChunk
from memory.models.fast import insert
from memory.rag.retriever import hit_of
from memory.types import Citation, TurnResult

MAX_LEFT_OUT = 10


def record_passages(row_id: uuid.UUID, result: TurnResult) -> None:
    """Writes which passages a turn considered; those of other retrievers have no key and leave no trace."""
    ReplyChunk.objects.filter(reply_id=row_id).delete()
    considered = [*result.citations, *result.passages_left_out[:MAX_LEFT_OUT]]
    keyed: dict[int, Citation] = {}
    for one in considered:
        if one.id.isdecimal():
            keyed.setdefault(int(one.id), one)
    there = set(Chunk.objects.filter(key__in=keyed).values_list("key", flat=True))
    insert(
        [
            ReplyChunk(
                reply_id=row_id,
                chunk_id=key,
                rank=one.n or rank,
                score=one.score,
                scores=dict(one.scores),
                injected=bool(one.n),
                cited=one.cited,
                why_excluded=one.why_excluded[:20],
            )
            for rank, (key, one) in enumerate(keyed.items(), 1)
            if key in there
        ]
    )


def passages_of(reply: Reply) -> list[dict[str, Any]]:
    """JSON-ready, the injected ones first. Passages of documents that were deleted are gone from here too."""
    uses = (
        ReplyChunk.objects.filter(reply=reply).select_related("chunk__version").order_by("-injected", "rank")
    )
    return [
        {
            **hit_of(use.chunk, score=use.score, scores=use.scores).to_json(),
            "n": use.rank if use.injected else 0,
            "cited": use.cited,
            "injected": use.injected,
            "why_excluded": use.why_excluded,
        }
        for use in uses
    ]
