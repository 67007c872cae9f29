"""The built-in retriever: words and vectors of the passages that may be found, ranked together."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, TimeoutError
from dataclasses import replace

from memory.conf import RagSettings, get_config
from memory.errors import MusebotError
from memory.index import chunks as index
from memory.index.base import Vector
from memory.index.terms import tokens
from memory.models import Chunk
from memory.rag import answering, nearness, scope, spaces, words
from memory.rag.coverage import question_words
from memory.rag.frequencies import telling
from memory.rag.options import Filters, Found, Hit, Signal
from memory.rag.ordering import Asked, order
from memory.rag.ranking import PASSAGE_CHARACTERS, RankedPassage
from memory.rag.spaces import Space

logger = logging.getLogger(__name__)

DEPTH = 100
"""Chunks that words and vectors each bring up."""
LEFT_OUT = 10
"""Passages below the chosen ones that are told with the reason."""

SECTION_LIMIT = 80
"""Characters of a heading in a citation."""

_pool = ThreadPoolExecutor(max_workers=4, thread_name_prefix="embed-passages")
_Embedded = tuple[Vector, dict[str, Vector]] | None


class DocumentRetriever:
    """Finds passages of the stored documents. ``filters`` say where the question is asked; by default everywhere's alone."""

    def __init__(self, settings: RagSettings | None = None, filters: Filters | None = None) -> None:
        self._settings = settings
        self.filters = filters or Filters()

    @staticmethod
    def recommended_min_score() -> float:
        """What it costs and gains is told in ``answering.MEASURED``."""
        return answering.RECOMMENDED

    @property
    def settings(self) -> RagSettings:
        return self._settings or get_config().rag

    def retrieve(
        self,
        query: str,
        top_k: int | None = None,
        min_score: float | None = None,
        signal: Signal | None = None,
        *,
        filters: Filters | None = None,
    ) -> list[Hit]:
        """The best passages, best first; empty where nothing is good enough or ``signal`` was set meanwhile."""
        return list(self.search(query, top_k, min_score, signal, filters=filters).hits)

    def search(
        self,
        query: str,
        top_k: int | None = None,
        min_score: float | None = None,
        signal: Signal | None = None,
        *,
        filters: Filters | None = None,
        deadline: float | None = None,
    ) -> Found:
        """The same with what was left out and why. ``deadline`` is of ``time.monotonic``."""
        filters = filters or self.filters
        started = time.perf_counter()
        timings: dict[str, float] = {}

        def took(stage: str, since: float) -> float:
            now = time.perf_counter()
            timings[stage] = (now - since) * 1000
            return now

        allowed = scope.versions(filters)
        if not allowed or not query.strip() or _stopped(signal):
            return Found()
        # The question is embedded beside the search for words.
        space = spaces.serving() if filters.use_vectors else None
        future = _pool.submit(_embed, space, query, question_words(query)) if space is not None else None
        now = time.perf_counter()
        by_words = dict(index.search_words(telling(tokens(query)), allowed, DEPTH))
        now = took("words", now)
        asked, degraded = _wait(query, future, space, deadline)
        now = took("embed", now)
        near = asked.near.nearest(allowed, DEPTH) if asked.near is not None else {}
        now = took("vectors", now)
        if _stopped(signal):
            return Found(degraded="timeout", timings=timings)
        most = self.settings.top_k if top_k is None else max(top_k, 0)
        ranked, rows = order(asked, by_words, near, top_k=most + LEFT_OUT, characters=PASSAGE_CHARACTERS)
        took("rank", now)
        found = self._chosen(ranked, rows, most, min_score)
        took("total", started)
        return replace(found, degraded=degraded, timings=timings)

    def _chosen(
        self, ranked: Sequence[RankedPassage], rows: Mapping[int, Chunk], most: int, min_score: float | None
    ) -> Found:
        least = self.settings.min_score if min_score is None else min_score
        hits: list[Hit] = []
        left: list[Hit] = []
        for one in ranked:
            hit = hit_of(rows[one.head.key], score=one.score, scores=one.scores, text=one.text)
            if one.score < least:
                left.append(replace(hit, why_excluded="score"))
            elif len(hits) >= most:
                left.append(replace(hit, why_excluded="top_k"))
            else:
                hits.append(hit)
        return Found(tuple(hits), tuple(left[:LEFT_OUT]))


def _stopped(signal: Signal | None) -> bool:
    return signal is not None and signal.is_set()


def _embed(space: Space, text: str, single: Sequence[str]) -> _Embedded:
    """The question's vector, and those of its words where single words are embedded."""
    embedder = spaces.embedder_of(space)
    if Space.of(embedder.identity()) != space:
        return None  # another build of the model: its vectors must not be compared with these
    vector: Vector = embedder.embed_query(text)
    plain = [word for word in single if " " not in word] if words.serves(space) else []
    return vector, dict(zip(plain, embedder.embed_documents(plain), strict=True)) if plain else {}


def _wait(
    text: str, future: Future[_Embedded] | None, space: Space | None, deadline: float | None
) -> tuple[Asked, str]:
    """The question as it was embedded, and why it was not."""
    if future is None:
        return Asked(text), "no_vectors"
    try:
        left = None if deadline is None else max(deadline - time.monotonic(), 0.0)
        found = future.result(timeout=left)
    except TimeoutError:
        future.cancel()
        return Asked(text), "timeout"
    except MusebotError as error:
        logger.info("documents are found by words alone: %s", error.code)
        return Asked(text), "no_vectors"
    if found is None or space is None:
        return Asked(text), "no_vectors"
    return Asked(text, space, nearness.of(space, found[0]), found[1]), ""


def hit_of(row: Chunk, *, score: float, scores: Mapping[str, float], text: str = "") -> Hit:
    """A passage as it is told to callers; its version has to be loaded with it. ``text``: with what stands around it."""
    section, source = section_of(row), row.version.source
    return Hit(
        text=text or row.text,
        score=score,
        scores=scores,
        source=source,
        section=section,
        citation=f"{source} › {section}" if section else source,
        id=str(row.key),
        document_id=str(row.version.document_id),
        index=row.index,
    )


def section_of(row: Chunk) -> str:
    """Where in its document a passage stands: the page of a PDF, the innermost heading, or the record."""
    if row.page is not None:
        return f"p. {row.page}"
    if row.heading_path:
        last = row.heading_path[-1]
        return last if len(last) <= SECTION_LIMIT else f"{last[: SECTION_LIMIT - 1].rstrip()}…"
    return f"row {row.row}" if row.row is not None else ""
