"""The tools as a model is told of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

WRITABLE = ("human", "working_context")

_BLOCK = {
    "type": "string",
    "enum": list(WRITABLE),
    "description": "human: lasting facts about the person you talk to. working_context: the task at hand in this session.",
}
_DAY = {"type": "string", "description": "YYYY-MM-DD"}


def _text(description: str, *, most: int | None = None, least: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "string", "description": description}
    if most:
        found |= {"minLength": least, "maxLength": most}
    return found


def _limit(most: int, default: int) -> dict[str, Any]:
    return {"type": "integer", "minimum": 1, "maximum": most, "default": default}


_TAGS = {"type": "array", "items": {"type": "string"}, "maxItems": 8}
_CURSOR = _text("next_cursor of the page before")

_TOOLS: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "core_memory_append": (
        "Add a line to a block that you always see. Use it for what will still matter in later conversations.",
        {"block": _BLOCK, "content": _text("One short sentence.", most=1000, least=1)},
        ["block", "content"],
    ),
    "core_memory_replace": (
        "Replace a piece of a block, for example what is no longer true.",
        {
            "block": _BLOCK,
            "old_text": _text("The exact text to replace; it has to occur once."),
            "new_text": _text("What stands there instead; empty to delete."),
        },
        ["block", "old_text", "new_text"],
    ),
    "rethink": (
        "Write a whole block anew, to put it in order.",
        {
            "block": _BLOCK,
            "new_content": _text("The whole new text."),
            "version": {"type": "integer", "description": "The version shown with the block."},
            "reason": _text("Why, in a few words."),
        },
        ["block", "new_content", "version"],
    ),
    "archival_memory_insert": (
        "Store something in full in the archive, to be searched for later.",
        {"content": _text("Understandable on its own.", most=4000, least=1), "tags": _TAGS},
        ["content"],
    ),
    "archival_memory_search": (
        "Search the archive of what you stored.",
        {
            "query": _text("Words to look for."),
            "tags": _TAGS,
            "start_date": _DAY,
            "end_date": _DAY,
            "limit": _limit(20, 5),
            "cursor": _CURSOR,
        },
        ["query"],
    ),
    "archival_memory_delete": (
        "Take an entry out of the archive.",
        {"id": _text("The id that a search returned."), "reason": _text("Why, in a few words.")},
        ["id", "reason"],
    ),
    "recall_memory_search": (
        "Search what was said in earlier conversations, by words, by dates, or both.",
        {
            "query": _text("Words to look for."),
            "start_date": _DAY,
            "end_date": _DAY,
            "limit": _limit(20, 10),
            "cursor": _CURSOR,
        },
        [],
    ),
}

NAMES = tuple(_TOOLS)


def offered(names: Iterable[str]) -> tuple[Mapping[str, Any], ...]:
    """These tools, each wrapped as models expect it."""
    return tuple(_wrapped(name) for name in names)


def _wrapped(name: str) -> dict[str, Any]:
    description, properties, required = _TOOLS[name]
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {"type": "object", "properties": properties, "required": required},
        },
    }
