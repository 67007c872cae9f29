"""Chunks to passages: a chunk with as much of its neighbours as fits, nothing twice."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from memory.rag.boundaries import sentences

ALIKE = 0.8
"""Chunks that share so much of their words are the same passage pasted twice."""
_LEAST = 60
"""Characters below which it is not worth to take part of a neighbour in."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A chunk as the ranking sees it: whose it is, where it stands, and what it says."""

    key: int
    document: int
    index: int
    """Its place in the document; neighbours differ by one."""
    section: int
    start: int
    end: int
    """Characters in the section."""
    text: str


@dataclass(frozen=True, slots=True)
class Grown:
    """A passage: positions in the list of pieces, of the one it grew from and of all that are wholly in it."""

    head: int
    members: tuple[int, ...]
    text: str


def grow(pieces: Sequence[Piece], scores: Sequence[float], *, characters: int, limit: int) -> list[Grown]:
    """Passages from the best piece down. No piece is in two, and none is nearly the same as one before."""
    places = {(piece.document, piece.index): i for i, piece in enumerate(pieces)}
    taken: set[int] = set()
    found: list[Grown] = []
    for head in sorted(range(len(pieces)), key=lambda i: -scores[i]):
        if len(found) >= limit:
            break
        if head in taken or _seen(head, pieces, taken):
            continue
        members = _whole(head, pieces, scores, places, taken, characters)
        taken.update(members)
        found.append(Grown(head, tuple(members), _filled(members, pieces, scores, places, characters)))
    return found


def following(first: Piece, second: Piece) -> str:
    """What the second of two neighbours adds after the first."""
    if first.section == second.section and second.start < first.end:
        return second.text[first.end - second.start :]
    return ("\n" if first.section == second.section else "\n\n") + second.text


def _seen(head: int, pieces: Sequence[Piece], taken: set[int]) -> bool:
    mine = words_of(pieces[head].text)
    size = len(mine)
    for other in taken:
        theirs = words_of(pieces[other].text)
        if len(theirs) > ALIKE * size and size > ALIKE * len(theirs):
            shared = len(mine & theirs)
            if shared > ALIKE * (size + len(theirs) - shared):
                return True
    return False


@lru_cache(maxsize=8192)
def words_of(text: str) -> frozenset[str]:
    """Distinct words of a text, lower case."""
    return frozenset(re.findall(r"\w+", text.lower()))


def _whole(
    head: int,
    pieces: Sequence[Piece],
    scores: Sequence[float],
    places: dict[tuple[int, int], int],
    taken: set[int],
    characters: int,
) -> list[int]:
    """The head and whole neighbours, the better scored side first, while they fit."""
    members = [head]
    length = len(pieces[head].text)
    while True:
        sides: list[tuple[float, int, int, int]] = []
        first, last = pieces[members[0]], pieces[members[-1]]
        before = places.get((first.document, first.index - 1))
        after = places.get((last.document, last.index + 1))
        if before is not None and before not in taken:
            added = len(pieces[before].text) + len(following(pieces[before], first)) - len(first.text)
            sides.append((scores[before], 0, before, added))
        if after is not None and after not in taken:
            sides.append((scores[after], 1, after, len(following(last, pieces[after]))))
        sides = [side for side in sides if length + side[3] <= characters]
        if not sides:
            return members
        _, end, chosen, added = max(sides)
        members.insert(len(members) if end else 0, chosen)
        length += added


def _filled(
    members: Sequence[int],
    pieces: Sequence[Piece],
    scores: Sequence[float],
    places: dict[tuple[int, int], int],
    characters: int,
) -> str:
    """The text of the members, and sentences of what stands beside them up to the limit."""
    text = pieces[members[0]].text
    for one, other in zip(members, members[1:], strict=False):
        text += following(pieces[one], pieces[other])
    first, last = pieces[members[0]], pieces[members[-1]]
    before = places.get((first.document, first.index - 1))
    after = places.get((last.document, last.index + 1))
    ends = [(scores[after], 1)] if after is not None else []
    ends += [(scores[before], 0)] if before is not None else []
    for _, end in sorted(ends, reverse=True):
        room = characters - len(text)
        if room < _LEAST:
            break
        if end and after is not None:
            text += _head_of(following(last, pieces[after]), room)
        elif before is not None:
            text = _tail_of(_leading(pieces[before], first), room) + text
    return text.strip()


def _leading(first: Piece, second: Piece) -> str:
    """What the first of two neighbours says before the second."""
    if first.section == second.section and second.start < first.end:
        return first.text[: second.start - first.start]
    return first.text + ("\n" if first.section == second.section else "\n\n")


def _head_of(text: str, room: int) -> str:
    end = max((span.end for span in sentences(text) if span.end <= room), default=0)
    return text[:end]


def _tail_of(text: str, room: int) -> str:
    start = min((span.start for span in sentences(text) if len(text) - span.start <= room), default=len(text))
    return text[start:]
