"""Why a block or the archive refuses. Each has the stable code that a tool returns, with a hint that says what to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from memory.errors import MusebotError

if TYPE_CHECKING:
    from memory.blocks.types import Block


class BlockError(MusebotError):
    """Base of the refusals here. ``details`` holds figures only."""

    status = 422

    def result(self) -> dict[str, Any]:
        """As a tool returns it."""
        return {"ok": False, "error": self.code, "hint": self.message, **self.extra()}

    def extra(self) -> Mapping[str, Any]:
        return self.details


class UnknownBlock(BlockError):
    """There is no such block; the blocks are human and working_context."""

    code = "unknown_block"
    status = 404


class Empty(BlockError):
    """There is nothing in it. Give some text."""

    code = "empty"


class TextNotFound(BlockError):
    """The old text does not stand in the block. Copy it exactly, with its spaces and line breaks."""

    code = "not_found"


class NoSuchEntry(BlockError):
    """There is no such entry. Use the id that a search returned."""

    code = "not_found"
    status = 404


class Ambiguous(BlockError):
    """The old text occurs more than once. Give a longer piece that occurs once."""

    code = "ambiguous"


class OverLimit(BlockError):
    """It does not fit. Shorten it, or remove something first."""

    code = "over_limit"

    @classmethod
    def of(cls, chars: int, limit: int) -> OverLimit:
        return cls(
            f"That makes {chars:,} characters, and {limit:,} fit. Shorten it by {chars - limit:,}.",
            chars=chars,
            limit=limit,
            overage=chars - limit,
        )


class BlockConflict(BlockError):
    """It was changed in the meantime. Look at what it holds now, and try again with its version."""

    code = "conflict"
    status = 409

    def __init__(self, block: Block) -> None:
        super().__init__(self.__doc__ or "", version=block.version)
        self.block = block
        """As it is now."""

    def extra(self) -> Mapping[str, Any]:
        return {"version": self.block.version, "value": self.block.value}


class Refused(BlockError):
    """That is not for a tool to change."""

    code = "forbidden"
    status = 403


class ReadOnly(BlockError):
    """This block is read-only."""

    code = "read_only"
    status = 403


class InvalidDate(BlockError):
    """Dates are written YYYY-MM-DD, the first not after the last."""

    code = "invalid_date"


class EmptyQuery(BlockError):
    """There is no word in the query to look for. Ask with words."""

    code = "empty_query"


class Unavailable(BlockError):
    """That cannot be done here."""

    code = "unavailable"
    status = 409
