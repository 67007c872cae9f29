"""A queue before a host: first come, first served, with a limit. Servers queue without one, and give no sign of life."""

from __future__ import annotations

import threading
from collections import deque

from memory.errors import ModelTimeout
from memory.llm.ollama_errors import HostBusy


class Gate:
    """Lets ``parallel`` callers in at a time and ``waiting`` more wait for their turn."""

    def __init__(self, *, parallel: int, waiting: int) -> None:
        self._parallel = parallel
        self._waiting = waiting
        self._running = 0
        self._queue: deque[object] = deque()
        self._changed = threading.Condition()

    @property
    def load(self) -> int:
        """How many are in or waiting."""
        with self._changed:
            return self._running + len(self._queue)

    def enter(self, timeout: float) -> None:
        """Waits for a turn, for ``timeout`` seconds at most. Raises ``HostBusy`` or ``ModelTimeout``."""
        ticket = object()
        with self._changed:
            if len(self._queue) >= self._waiting and self._running >= self._parallel:
                raise HostBusy(f"{self._waiting} requests are waiting for this model already.")
            self._queue.append(ticket)
            try:
                if not self._changed.wait_for(lambda: self._is_next(ticket), timeout):
                    raise ModelTimeout("The requests before this one took too long.")
                self._running += 1
            finally:
                self._queue.remove(ticket)
                self._changed.notify_all()

    def _is_next(self, ticket: object) -> bool:
        return self._queue[0] is ticket and self._running < self._parallel

    def leave(self) -> None:
        with self._changed:
            self._running -= 1
            self._changed.notify_all()
