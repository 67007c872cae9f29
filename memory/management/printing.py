"""How commands show memories."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from memory.types import RecalledMemory


def memory_json(memory: RecalledMemory) -> dict[str, Any]:
    """As the API gives it; ids are strings."""
    return {
        "id": str(memory.key),
        "discord_id": None if memory.discord_message_id is None else str(memory.discord_message_id),
        "text": memory.text,
        "author": memory.author_name,
        "user_id": str(memory.author_id),
        "channel_id": str(memory.channel_id),
        "channel": memory.channel_name,
        "sent_at": memory.sent_at.isoformat(),
        "score": memory.score,
        "scores": dict(memory.scores),
        "line": memory.line,
        "injected": memory.injected,
        "why_excluded": memory.why_excluded,
    }


def memory_lines(memories: Iterable[RecalledMemory]) -> Iterator[str]:
    """One line each: rank, score, its parts, where from, and the memory as it enters the prompt."""
    for rank, memory in enumerate(memories, 1):
        parts = " ".join(f"{name} {value:.3f}" for name, value in memory.scores.items())
        why = f" ({memory.why_excluded})" if memory.why_excluded else ""
        text = " ".join((memory.line or memory.text).split())
        yield f"{rank:>3}. {memory.score:.3f}  {text}{why}"
        yield f"            #{memory.channel_name or memory.channel_id}  {parts}"


def milliseconds(timings: Mapping[str, float]) -> str:
    """The stages of a turn, the whole first."""
    total = timings.get("total", 0.0)
    rest = ", ".join(f"{name} {value:.0f}" for name, value in timings.items() if name != "total")
    return f"{total:.0f} ms" + (f" ({rest})" if rest else "")
