"""Carrying out what a model calls. The scope comes from the place of the turn; no argument can name one.

Every call gives a result, also one that is wrong: ``{"ok": false, "error", "hint"}``. The same call id gives the first result.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from django.db import DatabaseError

from memory.blocks import reading
from memory.blocks.errors import (
    BlockConflict,
    BlockError,
    Empty,
    NoSuchEntry,
    Refused,
    Unavailable,
    UnknownBlock,
)
from memory.blocks.providers import MemoryProvider, provider
from memory.blocks.schemas import offered
from memory.blocks.types import HUMAN, PERSONA, WORKING_CONTEXT, BlockRef, Found, Place
from memory.errors import ConsentMissing, MusebotError, StaleEpoch

logger = logging.getLogger(__name__)

Arguments = Mapping[str, Any]


class Toolbox:
    """The tools of one turn."""

    def __init__(self, place: Place, chosen: MemoryProvider | None = None) -> None:
        self.place = place
        self.provider = chosen or provider()
        self.found: list[Found] = []
        """Messages that searches of the conversation gave to the model."""
        self._results: dict[str, dict[str, Any]] = {}
        self._calls: dict[str, Callable[[Arguments, str], dict[str, Any]]] = {
            "core_memory_append": self._append,
            "core_memory_replace": self._replace,
            "rethink": self._rethink,
            "archival_memory_insert": self._insert,
            "archival_memory_search": self._search,
            "archival_memory_delete": self._delete,
            "recall_memory_search": self._recall,
        }

    def schemas(self) -> tuple[Mapping[str, Any], ...]:
        return offered(self.provider.tools)

    def call(self, name: str, arguments: Arguments, call_id: str) -> dict[str, Any]:
        """The result of a call, JSON-ready. Never raises for anything that the model did wrong, or for a store that fails."""
        if call_id and call_id in self._results:
            return self._results[call_id]
        result = self._result(name, arguments, call_id)
        if call_id:
            self._results[call_id] = result
        return result

    def _result(self, name: str, arguments: Arguments, call_id: str) -> dict[str, Any]:
        if name not in self._calls or name not in self.provider.tools:
            return Unavailable("There is no such tool.").result()
        try:
            return self._calls[name](arguments, call_id)
        except BlockError as error:
            return error.result()
        except (ConsentMissing, StaleEpoch):
            return Refused("The person no longer wants anything to be remembered.").result()
        except (MusebotError, DatabaseError) as error:
            logger.warning("the tool %s failed: %s", name, type(error).__name__)
            return Unavailable("The memory does not answer. Go on without it.").result()

    def _append(self, arguments: Arguments, call_id: str) -> dict[str, Any]:
        ref = self._block(arguments)
        return self.provider.append(self.place, ref, text(arguments, "content"), call_id=call_id).result()

    def _replace(self, arguments: Arguments, call_id: str) -> dict[str, Any]:
        ref = self._block(arguments)
        if "new_text" not in arguments:
            raise Empty("Give new_text; leave it empty to delete the old text.")
        # Whether it stands there would tell everybody in the channel what the block holds: one guess, one answer.
        self._require_shown(ref)
        old, new = text(arguments, "old_text"), text(arguments, "new_text")
        return self.provider.replace(self.place, ref, old, new, call_id=call_id).result()

    def _rethink(self, arguments: Arguments, call_id: str) -> dict[str, Any]:
        ref = self._block(arguments)
        self._require_shown(ref)  # a conflict would tell everybody in the channel what it holds
        version = whole(arguments.get("version"))
        if version is None:
            raise BlockConflict(reading.get(ref))
        if "new_content" not in arguments:
            raise Empty("Give new_content.")
        return self.provider.rethink(
            self.place,
            ref,
            text(arguments, "new_content"),
            version=version,
            reason=text(arguments, "reason"),
            call_id=call_id,
        ).result()

    def _insert(self, arguments: Arguments, call_id: str) -> dict[str, Any]:
        content = text(arguments, "content")
        return self.provider.insert(self.place, content, tags(arguments), call_id=call_id).result()

    def _search(self, arguments: Arguments, call_id: str) -> dict[str, Any]:
        return self.provider.search(
            self.place,
            text(arguments, "query"),
            tags=tags(arguments),
            start=text(arguments, "start_date"),
            end=text(arguments, "end_date"),
            limit=limit(arguments, 5),
            cursor=text(arguments, "cursor"),
        ).result()

    def _delete(self, arguments: Arguments, call_id: str) -> dict[str, Any]:
        entry = whole(arguments.get("id"))
        if entry is None or not 0 < entry < 2**63:
            raise NoSuchEntry()
        self.provider.delete(self.place, entry, reason=text(arguments, "reason"))
        return {"ok": True, "id": str(entry)}

    def _recall(self, arguments: Arguments, call_id: str) -> dict[str, Any]:
        results = self.provider.recall(
            self.place,
            text(arguments, "query"),
            start=text(arguments, "start_date"),
            end=text(arguments, "end_date"),
            limit=limit(arguments, 10),
            cursor=text(arguments, "cursor"),
        )
        self.found += results.hits
        return results.result()

    def _require_shown(self, ref: BlockRef) -> None:
        if ref.label == HUMAN and not self.place.shows_human:
            raise Refused(
                "This block is not shown here. Append to it, or change it in a private conversation."
            )

    def _block(self, arguments: Arguments) -> BlockRef:
        label = text(arguments, "block").strip().lower()
        if label == PERSONA:
            raise Refused("The persona is written by admins alone.")
        if label == HUMAN:
            return self.place.human()
        if label == WORKING_CONTEXT:
            return self.place.working_context()
        raise UnknownBlock()


def text(arguments: Arguments, name: str) -> str:
    """A text; numbers are taken as one, anything else as none."""
    value = arguments.get(name)
    if isinstance(value, bool):
        return ""
    return value if isinstance(value, str) else str(value) if isinstance(value, int | float) else ""


def whole(value: Any) -> int | None:
    """A whole number, also as digits; None for anything else."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, str) and value.strip().lstrip("-").isdecimal() and len(value.strip()) < 20:
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def limit(arguments: Arguments, default: int, most: int = 20) -> int:
    found = whole(arguments.get("limit"))
    return default if found is None else max(1, min(found, most))


def tags(arguments: Arguments) -> list[str]:
    value = arguments.get("tags")
    if isinstance(value, str):
        value = value.split(",")
    return [tag for tag in value if isinstance(tag, str)][:8] if isinstance(value, list | tuple) else []
