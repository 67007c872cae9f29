"""Which queue a wake-up takes. What people wait for, and what removes their data, never stands behind the reading of a history.

A worker takes from all three unless it is told which (``worker --queues soon,usual``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kombu import Queue

from memory.errors import InvalidInput

WAKE_TASK = "memory.work"
"""As ``memory.outbox`` has it, which cannot be imported yet where Celery's settings are made."""

PREFIX = "musebot-"
SOON, USUAL, LATER = "soon", "usual", "later"
NAMES = (SOON, USUAL, LATER)
"""In the order in which a worker on Redis looks into them."""

QUEUE_OF = {
    "erase": SOON,
    "clean_files": SOON,
    "forget_channel": SOON,
    "forget_guild": SOON,
    "retention": SOON,
    "embed": USUAL,
    "enrich": USUAL,
    "extract": USUAL,
    "embed_archive": USUAL,
    "history": LATER,
    "respace": LATER,
    "prepare": LATER,
    "ingest": LATER,
    "reindex": LATER,
    "evaluate": LATER,
    "scan_documents": LATER,
    "scan_indexes": LATER,
    "consolidate": LATER,
}
"""By kind of work; a kind that is not named takes the usual one."""


def all_queues() -> list[Queue]:
    return [Queue(PREFIX + name, routing_key=PREFIX + name) for name in NAMES]


def route(
    name: str, args: Sequence[Any], kwargs: Any, options: Any, task: Any = None, **more: Any
) -> dict[str, str]:
    """Celery's router: by the kind that a wake-up names. The sweep, on which everything hangs, goes first."""
    queue = QUEUE_OF.get(str(args[0]), USUAL) if name == WAKE_TASK and args else SOON
    return {"queue": PREFIX + queue}


def named(given: str) -> list[str]:
    """Names of queues as the broker has them, of ``soon,usual``. Raises ``InvalidInput`` for one that there is not."""
    wanted = [one.strip() for one in given.split(",") if one.strip()] or list(NAMES)
    if unknown := [one for one in wanted if one not in NAMES]:
        raise InvalidInput(f"There is no queue {unknown[0]!r}; the queues are {', '.join(NAMES)}.")
    return [PREFIX + one for one in wanted]
