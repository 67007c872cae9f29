"""Messages and tool calls in the form of OpenAI's API."""

from __future__ import annotations

import base64
import json
from typing import Any

from memory.llm.base import ChatMessage, ToolCall
from memory.llm.batches import clean
from memory.llm.vision import image_type

MAX_CALLS = 32


def message_json(message: ChatMessage) -> dict[str, Any]:
    text = clean(message.content)
    if message.role == "tool":
        return {"role": "tool", "content": text, "tool_call_id": message.tool_call_id or message.name}
    if message.tool_calls:
        return {
            "role": message.role,
            "content": text or None,
            "tool_calls": [_call_json(call) for call in message.tool_calls],
        }
    if not message.images:
        return {"role": message.role, "content": text}
    parts: list[dict[str, Any]] = [{"type": "text", "text": text}]
    for image in message.images:
        data = base64.b64encode(image).decode()
        parts.append(
            {
                "type": "image_url",
                "image_url": {"url": f"data:{image_type(image) or 'image/png'};base64,{data}"},
            }
        )
    return {"role": message.role, "content": parts}


def _call_json(call: ToolCall) -> dict[str, Any]:
    arguments = clean(json.dumps(dict(call.arguments), ensure_ascii=False))
    return {
        "id": call.id or call.name,
        "type": "function",
        "function": {"name": call.name, "arguments": arguments},
    }


class CallParts:
    """Puts calls together that come in pieces: the name first, then the arguments bit by bit, by their index."""

    def __init__(self) -> None:
        self._calls: dict[Any, dict[str, str]] = {}

    def feed(self, parts: Any) -> None:
        for part in parts if isinstance(parts, list) else ():
            if not isinstance(part, dict):
                continue
            index = part.get("index")
            key = index if index is not None else part.get("id") or len(self._calls)
            if key not in self._calls and len(self._calls) >= MAX_CALLS:
                continue
            call = self._calls.setdefault(key, {"id": "", "name": "", "arguments": ""})
            function = part.get("function") or {}
            call["id"] = str(part.get("id") or call["id"])
            call["name"] = str(function.get("name") or call["name"])
            piece = function.get("arguments")
            call["arguments"] += piece if isinstance(piece, str) else json.dumps(piece) if piece else ""

    def finish(self) -> tuple[ToolCall, ...]:
        return tuple(_call(entry) for entry in self._calls.values() if entry["name"])


def _call(entry: dict[str, str]) -> ToolCall:
    try:
        arguments = json.loads(entry["arguments"] or "{}")
        if isinstance(arguments, str):  # some servers encode twice
            arguments = json.loads(arguments)
    except ValueError:
        arguments = None
    if not isinstance(arguments, dict):
        return ToolCall(entry["name"], {}, entry["id"], malformed=True)
    return ToolCall(entry["name"], arguments, entry["id"])
