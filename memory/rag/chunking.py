"""Sections to chunks: structure first, then paragraphs, lines, sentences, words; each chunk is a slice of its section."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from memory.rag.boundaries import LINE, WORD, Span, pieces, sentences
from memory.rag.errors import RagError
from memory.rag.types import LoadedDocument, Section

Measure = Callable[[str], int]
AIM = 0.7
"""What a chunk of a long section has of ``size``, and is carried over of ``overlap``: shorter ones are told apart better."""


@dataclass(frozen=True, slots=True)
class ChunkOptions:
    """How large chunks are. ``measure`` gives the size of a text: characters, or tokens of the embedding model."""

    size: int = 1000
    """No chunk is larger; long sections are cut into chunks of about ``AIM`` of it."""
    overlap: int = 150
    """At most a quarter of the size; more is cut down to that."""
    measure: Measure = len

    def __post_init__(self) -> None:
        if self.size < 1 or self.overlap < 0:
            raise RagError("INVALID_OPTIONS", "chunk_size has to be at least 1 and chunk_overlap at least 0.")

    @property
    def aim(self) -> int:
        return max(1, round(self.size * AIM))

    @property
    def carried(self) -> int:
        return round(min(self.overlap, self.size // 4) * AIM)


@dataclass(frozen=True, slots=True)
class Chunk:
    """A slice of a section: ``section.text[start:end]``, white space at its edges aside."""

    index: int
    """Its place in the document, from 0."""
    text: str
    heading_path: tuple[str, ...]
    page: int | None
    row: int | None
    section: int
    """Number of its section in the document, from 0."""
    start: int
    end: int
    """Characters in the section."""


_DEFAULT = ChunkOptions()


def chunk_document(document: LoadedDocument, options: ChunkOptions = _DEFAULT) -> tuple[Chunk, ...]:
    """All chunks of a document, in order. Nothing but white space is left out."""
    chunks: list[Chunk] = []
    for number, section in enumerate(document.sections):
        for start, end in _slices(section.text, options):
            chunks.append(_chunk(len(chunks), section, number, start, end))
    return tuple(chunks)


def join(chunks: list[Chunk] | tuple[Chunk, ...]) -> str:
    """The text of neighbouring chunks in order, what they share only once."""
    text = ""
    last: Chunk | None = None
    for chunk in chunks:
        if last is None:
            text = chunk.text
        elif chunk.section == last.section and chunk.start < last.end:
            text += chunk.text[last.end - chunk.start :]
        else:
            text += ("\n" if chunk.section == last.section else "\n\n") + chunk.text
        if last is None or chunk.section != last.section or chunk.end > last.end:
            last = chunk
    return text


def _chunk(index: int, section: Section, number: int, start: int, end: int) -> Chunk:
    return Chunk(
        index, section.text[start:end], section.heading_path, section.page, section.row, number, start, end
    )


def _slices(text: str, options: ChunkOptions) -> list[tuple[int, int]]:
    if not text.strip():
        return []
    if options.measure(text.strip()) <= options.aim:
        return [_trimmed(text, 0, len(text))]
    spans, sizes = _atoms(text, options)
    slices: list[tuple[int, int]] = []
    first = 0
    while first < len(spans):
        last = _last(spans, sizes, first, options)
        start, end = _trimmed(text, spans[first].start, spans[last].end)
        if start < end and (not slices or end > slices[-1][1]):
            while slices and slices[-1][0] >= start:  # the one before is part of this one
                slices.pop()
            slices.append((start, end))
        if last + 1 >= len(spans):
            break
        first = _next(spans, sizes, first, last, options)
    return slices


def _atoms(text: str, options: ChunkOptions) -> tuple[list[Span], list[int]]:
    """Sentences, words of sentences that are too long to carry over, parts of words that are too long for a chunk."""
    longest = max(1, options.carried or options.aim)
    spans: list[Span] = []
    for span in sentences(text):
        if options.measure(text[span.start : span.end]) <= longest:
            spans.append(span)
            continue
        parts = pieces(text, span.start, span.end, longest)
        parts[-1] = Span(parts[-1].start, parts[-1].end, span.strength)
        spans += parts
    return spans, [options.measure(text[span.start : span.end]) for span in spans]


def _last(spans: list[Span], sizes: list[int], first: int, options: ChunkOptions) -> int:
    """The span to end a chunk with: the best cut in the second half of the aim, the furthest of equals."""
    aim, best, best_strength, filled = options.aim, first, -1, 0
    for place in range(first, len(spans)):
        filled += sizes[place]
        if filled > aim and place > first:
            break
        if filled >= aim * 0.5 and spans[place].strength >= min(best_strength, LINE):
            best, best_strength = place, spans[place].strength
        elif best_strength < 0:
            best = place
    return best


def _next(spans: list[Span], sizes: list[int], first: int, last: int, options: ChunkOptions) -> int:
    """Where the next chunk starts: back over what is carried, and no further than leaves room for something new."""
    start, carried = last + 1, 0
    room = options.aim - sizes[last + 1]
    while start - 1 > first and carried + sizes[start - 1] <= min(options.carried, room):
        start -= 1
        carried += sizes[start]
    # A carried piece begins at a sentence or a line where there is one.
    for place in range(start, last + 1):
        if spans[place - 1].strength > WORD:
            return place
    return start


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    part = text[start:end]
    return start + len(part) - len(part.lstrip()), end - (len(part) - len(part.rstrip()))
