"""An answer in rounds: the model calls tools, gets their results, and goes on, until it answers or the cap is reached."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from memory.blocks import Toolbox
from memory.chat.budget import Budget
from memory.chat.generation import Generation
from memory.chat.quoting import defuse
from memory.errors import ModelRejected, ModelReplyInvalid
from memory.llm.base import ChatMessage, ChatModel, ToolCall

MAX_ROUNDS = 4
"""Rounds in which tools are offered; then the model has to answer with what it has."""
MAX_CALLS = 8
"""Calls of one round that are carried out."""
TOOLS_SHARE = 0.4
"""Of the prompt's budget, what the descriptions of the tools may take; beyond that fewer are offered, or none."""
ESSENTIAL = frozenset({"core_memory_append", "core_memory_replace", "archival_memory_search"})
WRITES = frozenset(
    {
        "core_memory_append",
        "core_memory_replace",
        "rethink",
        "archival_memory_insert",
        "archival_memory_delete",
    }
)

Schemas = tuple[Mapping[str, Any], ...]


def fitting_tools(toolbox: Toolbox | None, budget: Budget) -> tuple[Schemas, int]:
    """The tools that are offered, and the tokens that their descriptions take."""
    offered = toolbox.schemas() if toolbox else ()
    some = tuple(tool for tool in offered if tool["function"]["name"] in ESSENTIAL)
    for tools in (offered, some):
        tokens = budget.count(json.dumps(tools)) if tools else 0
        if tools and tokens <= TOOLS_SHARE * budget.tokens:
            return tools, tokens
    return (), 0


class Rounds:
    """The rounds of one turn. ``messages`` is the prompt with everything that was called since."""

    def __init__(self, trace_id: str, toolbox: Toolbox | None, tools: Schemas) -> None:
        self.messages: tuple[ChatMessage, ...] = ()
        self.count = 0
        self._trace_id = trace_id
        self._toolbox = toolbox
        self._tools = tools
        self._by_id: dict[str, dict[str, Any]] = {}

    def run(
        self,
        generation: Generation,
        model: ChatModel,
        messages: tuple[ChatMessage, ...],
        budget: Budget,
        reply_tokens: int,
    ) -> Iterator[str]:
        """Pieces of the answer. Never raises."""
        self.messages = messages
        tools = self._tools
        for number in range(MAX_ROUNDS + 1):
            offered = tools if number < MAX_ROUNDS else ()
            yield from generation.run(model, self.messages, reply_tokens, offered)
            if offered and not generation.said and _not_for_tools(generation):
                # The server, its template or the model itself is not up to tools: once more without them.
                tools = ()
                yield from generation.run(model, self.messages, reply_tokens)
            if generation.error or not generation.calls or not offered or self._toolbox is None:
                return
            self.count += 1
            self.messages = _within(budget, self._with_results(generation, budget))

    def _with_results(self, generation: Generation, budget: Budget) -> tuple[ChatMessage, ...]:
        calls = tuple(
            replace(call, id=call.id or f"call_{self.count}_{place}")
            for place, call in enumerate(generation.calls[:MAX_CALLS])
        )
        asked = ChatMessage("assistant", generation.said, tool_calls=calls)
        room = max(200, budget.tokens // (4 * len(calls)))
        results = [
            ChatMessage(
                "tool",
                defuse(_shortened(self._result(given, call), budget, room)),
                name=call.name,
                tool_call_id=call.id,
            )
            for given, call in zip(generation.calls, calls, strict=False)
        ]
        return (*self.messages, asked, *results)

    def _result(self, given: ToolCall, call: ToolCall) -> dict[str, Any]:
        """A call id that was seen before gives what it gave then."""
        if given.id and given.id in self._by_id:
            return self._by_id[given.id]
        assert self._toolbox is not None
        if call.malformed:
            hint = "The arguments could not be read. Send them as one JSON object."
            result: dict[str, Any] = {"ok": False, "error": "empty", "hint": hint}
        else:
            result = self._toolbox.call(call.name, call.arguments, self._lasting_id(call))
        if given.id:
            self._by_id[given.id] = result
        return result

    def _lasting_id(self, call: ToolCall) -> str:
        """The same for the same change in the same turn, also if the turn is done again after a crash. Searches need none."""
        if call.name not in WRITES:
            return ""
        text = json.dumps([call.name, dict(call.arguments)], sort_keys=True, default=str)
        digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:24]
        return f"{self._trace_id}:{digest}"


def _not_for_tools(generation: Generation) -> bool:
    return generation.broken_call or generation.error in (ModelRejected.code, ModelReplyInvalid.code)


def _shortened(result: dict[str, Any], budget: Budget, room: int) -> str:
    """The result as text. Of a search that is too long the last hits are left out, and it says so."""
    text = json.dumps(result, ensure_ascii=False)
    while budget.count(text) > room and len(result.get("results", ())) > 1:
        result = {**result, "results": result["results"][:-1], "shortened": True}
        text = json.dumps(result, ensure_ascii=False)
    return budget.cut_end(text, room)


def _within(budget: Budget, messages: Sequence[ChatMessage]) -> tuple[ChatMessage, ...]:
    """Without the oldest of the conversation where results made the prompt too long; then without older calls."""
    kept = list(messages)
    question = max(place for place, message in enumerate(kept) if message.role == "user")
    while sum(_tokens(budget, message) for message in kept) > budget.tokens and question > 1:
        del kept[1]
        question -= 1
    while sum(_tokens(budget, message) for message in kept) > budget.tokens:
        rounds = [
            place for place, message in enumerate(kept) if place > question and message.role == "assistant"
        ]
        if len(rounds) < 2:
            break
        del kept[rounds[0] : rounds[1]]
    return tuple(kept)


def _tokens(budget: Budget, message: ChatMessage) -> int:
    calls = json.dumps([call.to_json() for call in message.tool_calls]) if message.tool_calls else ""
    return budget.message(message.content + calls)
