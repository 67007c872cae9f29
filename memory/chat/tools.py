"""Tool calls that a model writes as text, found while its answer streams in.

Many models write ``{"name": …, "arguments": …}`` where they should call. An answer that begins like that is held back until it is
clear what it is; anything else streams as it comes. Only an answer that *is* a call counts: prose about calls is prose.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from memory.llm.base import ToolCall

MAX_HELD = 24_000
_KEYS = frozenset(
    [
        "name",
        "function",
        "tool",
        "tool_name",
        "tool_call",
        "tool_calls",
        "arguments",
        "parameters",
        "type",
        "id",
        "action",
        "function_call",
    ]
)
_TAGS = (
    "<tool_call>",
    "<tool_calls>",
    "<function_call>",
    "<tools>",
    "<|tool_call|>",
    "<|python_tag|>",
    "[tool_calls]",
)
_FENCE = re.compile(r"```(?:json|tool_call|tool_code|tool|xml)?\s*")
_FENCE_BEGUN = re.compile(r"`{1,2}|```[a-z_]{0,10}")
_KEY = re.compile(r'\s*["\']([A-Za-z_]*)(["\']?)')
_NOISE = re.compile(
    r"\s*(```|</?[a-z_|]+>|<\|[a-z_]+\|>|\[/?TOOL_CALLS\]|[,;\]]|\[(?=\s*\{))\s*", re.IGNORECASE
)
_TRAILING_COMMA = re.compile(r",(\s*[}\]])")
_NAMES = ("name", "tool_name", "tool", "action", "function", "function_name")
_ARGUMENTS = ("arguments", "parameters", "args", "input", "action_input", "params", "tool_input")


@dataclass(frozen=True, slots=True)
class Parsed:
    calls: tuple[ToolCall, ...] = ()
    broken: bool = False
    """It names a tool that there is, but cannot be read."""


class CallFilter:
    """Fed with pieces of an answer; gives back what may be shown. At the end it tells which calls were written as text."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = frozenset(names)
        self._held = ""
        self._passing = not names

    def feed(self, piece: str) -> str:
        if self._passing:
            return piece
        self._held += piece
        if len(self._held) < MAX_HELD and may_become_call(self._held.lstrip()):
            return ""
        self._passing = True
        shown, self._held = self._held, ""
        return shown

    def finish(self) -> tuple[str, Parsed]:
        """Text that was held back and is none, and the calls."""
        held, self._held = self._held, ""
        parsed = parse(held, self._names) if held.strip() else Parsed()
        return ("" if parsed.calls or parsed.broken else held), parsed


def may_become_call(text: str) -> bool:
    """Whether an answer that begins like this may turn out to be a call."""
    if not text:
        return True
    low = text.lower()
    if any(low.startswith(tag) or tag.startswith(low) for tag in _TAGS):
        return True
    if _FENCE_BEGUN.fullmatch(low):
        return True
    if fence := _FENCE.match(low):
        rest = text[fence.end() :]
        return not rest or may_become_call(rest)
    if text[0] == "[":
        rest = text[1:].lstrip()
        return not rest or (rest[0] == "{" and may_become_call(rest))
    if text[0] != "{":
        return False
    rest = text[1:]
    if not rest.strip():
        return True
    key = _KEY.match(rest)
    if key is None:
        return False
    if not key[2]:  # not at its end yet
        return key.end() == len(rest)
    return key[1] in _KEYS or "_memory_" in key[1] or key[1] == "rethink"


def parse(text: str, names: Collection[str]) -> Parsed:
    """The calls that a text consists of; none if it is anything else."""
    calls: list[ToolCall] = []
    rest = text
    while True:
        rest = _strip_noise(rest)
        if not rest.startswith("{"):
            break
        value, length = _object(rest)
        if value is None:
            mentioned = any(re.search(rf"\b{re.escape(name)}\b", rest[:200]) for name in names)
            return Parsed(tuple(calls), broken=mentioned and not calls)
        found = list(_calls(value, names))
        if not found:
            return Parsed(tuple(calls))
        calls += found
        rest = rest[length:]
    return Parsed(tuple(calls))


def _strip_noise(text: str) -> str:
    text = text.lstrip()
    while True:
        if fence := _FENCE.match(text):
            text = text[fence.end() :]
        elif noise := _NOISE.match(text):
            text = text[noise.end() :]
        else:
            return text.lstrip()


def _object(text: str) -> tuple[dict[str, Any] | None, int]:
    """The object that a text begins with, and its length. Line breaks in strings, trailing commas and single quotes are forgiven."""
    decoder = json.JSONDecoder(strict=False)
    length = _balanced(text)
    for candidate in (text, _TRAILING_COMMA.sub(r"\1", text[:length])):
        try:
            value, end = decoder.raw_decode(candidate)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            return value, end if candidate is text else length
    try:
        value = ast.literal_eval(text[:length])
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None, 0
    return (value, length) if isinstance(value, dict) else (None, 0)


def _balanced(text: str) -> int:
    """Length up to the brace that closes the first one; strings are skipped."""
    depth, quote, escaped = 0, "", False
    for place, char in enumerate(text):
        if quote:
            if escaped:
                escaped = False
            elif char == "\\":
                escaped = True
            elif char == quote:
                quote = ""
        elif char == '"':
            quote = char
        elif char == "{":
            depth += 1
        elif char == "}":
            depth -= 1
            if not depth:
                return place + 1
    return len(text)


def _calls(value: Mapping[str, Any], names: Collection[str]) -> Iterator[ToolCall]:
    several = value.get("tool_calls")
    if isinstance(several, list):
        for one in several:
            if isinstance(one, dict):
                yield from _calls(one, names)
        return
    for wrapper in ("function", "tool_call", "function_call"):
        inner = value.get(wrapper)
        if isinstance(inner, dict):
            yield from _calls(inner, names)
            return
    name = next((value[key] for key in _NAMES if isinstance(value.get(key), str)), None)
    if name in names:
        arguments = next((value[key] for key in _ARGUMENTS if key in value), None)
        if arguments is None:  # the arguments stand beside the name
            arguments = {key: item for key, item in value.items() if key not in (*_NAMES, "type", "id")}
        yield _call(str(name), arguments)
    elif len(value) == 1 and (only := next(iter(value))) in names:
        yield _call(only, value[only])


def _call(name: str, arguments: Any) -> ToolCall:
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments, strict=False)
        except ValueError:
            return ToolCall(name, {}, malformed=True)
    if not isinstance(arguments, dict) or not all(isinstance(key, str) for key in arguments):
        return ToolCall(name, {}, malformed=True)
    return ToolCall(name, arguments)
