"""Passages of documents in a turn: found for the question, numbered in the prompt, checked in the answer, named below it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from memory.chat.quoting import clean
from memory.chat.sections import Section
from memory.conf import get_config
from memory.rag import citations, service
from memory.rag.citations import CitationFilter
from memory.rag.options import Filters, Found, Hit
from memory.rag.retriever import DocumentRetriever
from memory.types import Citation, TurnRequest

NAME = "passages"


@dataclass(slots=True)
class Passages:
    """What retrieval gave to a turn, and what became of it."""

    found: Found | None = None
    """None: there is nothing to look in, and the answer is left as it is."""
    locale: str = ""
    allowed: dict[int, Hit] = field(default_factory=dict)
    """The injected ones, by their numbers."""
    cited: list[int] = field(default_factory=list)
    shown: str = ""
    """The answer as it was shown so far."""

    @classmethod
    def of(cls, request: TurnRequest, *, use_vectors: bool) -> Passages:
        """Never raises. Somebody who has not opted in is not embedded, unless that is done here and kept nowhere."""
        on_server = request.guild is not None and request.guild.kind == "guild"
        filters = Filters(
            guild_id=request.guild.id if on_server and request.guild else None,
            use_vectors=use_vectors or service.is_in_process(),
        )
        return cls(service.find(request.question, filters), request.locale)

    @property
    def hits(self) -> Sequence[Hit]:
        return self.found.hits if self.found else ()

    def sections(self) -> list[Section]:
        """The numbered block, as a section of the prompt."""
        if not self.hits:
            return []
        intro = f"{get_config().rag.instructions.strip() or citations.INSTRUCTIONS} {citations.DATA}"
        lines = tuple(citations.passage(number, hit) for number, hit in enumerate(self.hits, 1))
        return [Section(NAME, intro, lines)]

    def inject(self, positions: frozenset[int]) -> None:
        """Notes which of them are in the prompt."""
        self.allowed = {number: hit for number, hit in enumerate(self.hits, 1) if number - 1 in positions}

    def quote(self, most: int) -> tuple[Citation, ...]:
        """The best ones for an answer without a model: nobody judges there, so only those that likely answer."""
        least = max(get_config().rag.min_score, DocumentRetriever.recommended_min_score())
        custom = bool(get_config().rag.retriever)
        good = [place for place, hit in enumerate(self.hits) if custom or hit.score >= least][:most]
        self.inject(frozenset(good))
        self.cited = list(self.allowed)
        return self.citations()

    def through(self, pieces: Iterator[str]) -> Iterator[str]:
        """The answer without numbers that were not given. Closing it closes the source."""
        self.shown, self.cited = "", []
        if self.found is None:
            for piece in pieces:
                self.shown += piece
                yield piece
            return
        marks = CitationFilter(self.allowed)
        try:
            for piece in pieces:
                if shown := marks.feed(piece):
                    self.shown += shown
                    yield shown
            if shown := marks.flush().rstrip():
                self.shown += shown
                yield shown
        finally:
            self.cited = marks.cited
            if (close := getattr(pieces, "close", None)) is not None:
                close()

    def sources(self) -> str:
        """What is appended to the answer; the last piece where it streams."""
        return citations.sources_line(self.allowed, self.cited, locale=self.locale)

    def citations(self) -> tuple[Citation, ...]:
        return tuple(
            _citation(hit, number, cited=number in self.cited) for number, hit in self.allowed.items()
        )

    def left_out(self) -> tuple[Citation, ...]:
        """Those that did not fit, then those that retrieval itself left out."""
        dropped = [hit for number, hit in enumerate(self.hits, 1) if number not in self.allowed]
        rest = self.found.left_out if self.found else ()
        return (
            *(_citation(hit, 0, why="budget") for hit in dropped),
            *(_citation(hit, 0, why=hit.why_excluded) for hit in rest),
        )

    def took(self) -> dict[str, float]:
        """Milliseconds by stage."""
        return (
            {f"retrieve_{stage}": value for stage, value in self.found.timings.items()} if self.found else {}
        )


def _citation(hit: Hit, number: int, *, cited: bool = False, why: str = "") -> Citation:
    return Citation(
        n=number,
        text=clean(hit.text),
        citation=citations.label(hit),
        source=hit.source,
        section=hit.section,
        score=hit.score,
        scores=hit.scores,
        id=hit.id,
        document_id=hit.document_id,
        index=hit.index,
        cited=cited,
        why_excluded=why,
        url=citations.url_of(hit),
    )


def timed(request: TurnRequest, timings: dict[str, float], *, use_vectors: bool) -> Passages:
    """``Passages.of`` with the time it took."""
    since = time.perf_counter()
    found = Passages.of(request, use_vectors=use_vectors)
    if found.found is not None:
        timings["passages"] = (time.perf_counter() - since) * 1000
        timings.update(found.took())
    return found
