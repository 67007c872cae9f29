"""What a memory provider can do. Both keep the same rows, so that switching between them loses nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Protocol

from memory.blocks import archive, reading, recall_search, writing
from memory.blocks.archive import Inserted
from memory.blocks.errors import Unavailable
from memory.blocks.types import Block, BlockRef, Place, Results, Written

CORE = ("core_memory_append", "core_memory_replace")
ARCHIVE = ("archival_memory_insert", "archival_memory_search")
RECALL = ("recall_memory_search",)


@dataclass(frozen=True, slots=True)
class Said:
    """One message of the session that is gone through, oldest first."""

    key: int
    author: str
    text: str
    at: datetime
    is_bot: bool = False


@dataclass(frozen=True, slots=True)
class Task:
    """What a model is asked for at the end of a session, and what is done with its answer.

    ``apply`` runs inside the transaction that also moves the mark; it raises ``BlockError`` where the answer cannot be used or
    something changed meanwhile, and then nothing is written.
    """

    instructions: str
    material: str
    schema: dict[str, Any]
    apply: Callable[[dict[str, Any]], None]


class MemoryProvider(Protocol):
    name: ClassVar[str]
    tools: ClassVar[tuple[str, ...]]

    def blocks(self, place: Place) -> list[Block]:
        """Blocks that stand in every prompt."""

    def lines(self, place: Place) -> list[str]:
        """Lines of the archive that stand in every prompt, oldest first."""

    def append(self, place: Place, ref: BlockRef, content: str, *, call_id: str = "") -> Written: ...

    def replace(self, place: Place, ref: BlockRef, old: str, new: str, *, call_id: str = "") -> Written: ...

    def rethink(
        self, place: Place, ref: BlockRef, content: str, *, version: int, reason: str = "", call_id: str = ""
    ) -> Written: ...

    def insert(self, place: Place, content: str, tags: Sequence[str], *, call_id: str = "") -> Inserted: ...

    def search(
        self,
        place: Place,
        query: str,
        *,
        tags: Sequence[str] = (),
        start: str = "",
        end: str = "",
        limit: int = 5,
        cursor: str = "",
    ) -> Results: ...

    def delete(self, place: Place, entry_id: int, *, reason: str = "") -> None: ...

    def recall(
        self, place: Place, query: str, *, start: str = "", end: str = "", limit: int = 10, cursor: str = ""
    ) -> Results: ...

    def consolidation(self, place: Place, said: Sequence[Said]) -> Task | None:
        """What to do with a session that ended; None if there is nothing to do."""


class Shared:
    """What is the same for all: blocks, what is inserted, and the conversation."""

    tools: ClassVar[tuple[str, ...]] = ()

    def blocks(self, place: Place) -> list[Block]:
        return reading.blocks_for(place)

    def append(self, place: Place, ref: BlockRef, content: str, *, call_id: str = "") -> Written:
        return writing.append(ref, content, actor=place.actor("model", call_id=call_id))

    def replace(self, place: Place, ref: BlockRef, old: str, new: str, *, call_id: str = "") -> Written:
        return writing.replace(ref, old, new, actor=place.actor("model", call_id=call_id))

    def rethink(
        self, place: Place, ref: BlockRef, content: str, *, version: int, reason: str = "", call_id: str = ""
    ) -> Written:
        if "rethink" not in self.tools:
            raise Unavailable()
        actor = place.actor("model", reason=reason, call_id=call_id)
        return writing.rethink(ref, content, version=version, actor=actor)

    def insert(self, place: Place, content: str, tags: Sequence[str], *, call_id: str = "") -> Inserted:
        return archive.insert(place, content, tags, call_id=call_id)

    def delete(self, place: Place, entry_id: int, *, reason: str = "") -> None:
        if "archival_memory_delete" not in self.tools:
            raise Unavailable()
        archive.delete(place, entry_id, reason=reason)

    def recall(
        self, place: Place, query: str, *, start: str = "", end: str = "", limit: int = 10, cursor: str = ""
    ) -> Results:
        return recall_search.search(place, query, start=start, end=end, limit=limit, cursor=cursor)
