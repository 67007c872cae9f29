"""The only place where the event loop meets synchronous code.

``memory`` blocks: on the database, on models. Each kind of work has a few threads of its own, so that answers that take a
minute never hold up the storing of what is being said.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, ParamSpec, TypeVar

from django.db import close_old_connections

from memory.models.locks import retried

P = ParamSpec("P")
T = TypeVar("T")

CAPTURE_THREADS = 2
"""SQLite has one writer; the second thread reads while the first writes."""
COMMAND_THREADS = 2
REPLY_THREADS = 20
"""Also the largest number of turns at once; see ``cogs.chat``."""


class Bridge:
    """Runs synchronous functions on threads. ``capture``, ``command`` and ``stream`` never wait for one another."""

    def __init__(self, reply_threads: int = REPLY_THREADS) -> None:
        self.reply_threads = reply_threads
        self._capture = ThreadPoolExecutor(CAPTURE_THREADS, "capture")
        self._command = ThreadPoolExecutor(COMMAND_THREADS, "command")
        self._reply = ThreadPoolExecutor(reply_threads, "reply")
        self._busy = 0
        self._count = threading.Lock()

    async def capture(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Short work for what is being said: storing, editing, deleting."""
        return await self._run(self._capture, partial(function, *args, **kwargs))

    async def command(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Work that may take seconds: commands, snapshots, health."""
        return await self._run(self._command, partial(function, *args, **kwargs))

    async def _run(self, pool: ThreadPoolExecutor, call: Callable[[], T]) -> T:
        # What is said and asked does no harm twice: a message that is stored is found, a consent that is given stays.
        return await asyncio.get_running_loop().run_in_executor(pool, self._guarded, partial(retried, call))

    async def stream(
        self, function: Callable[P, Iterator[T]], *args: P.args, **kwargs: P.kwargs
    ) -> AsyncGenerator[T, None]:
        """What a synchronous iterator yields, as it comes. Closing this closes the iterator after its current step."""
        loop = asyncio.get_running_loop()
        items: asyncio.Queue[tuple[str, Any]] = asyncio.Queue()
        stop = threading.Event()

        def put(kind: str, value: Any = None) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody listens any more
                loop.call_soon_threadsafe(items.put_nowait, (kind, value))

        def work() -> None:
            iterator: Iterator[T] | None = None
            try:
                iterator = function(*args, **kwargs)
                for item in iterator:
                    put("item", item)
                    if stop.is_set():
                        break
            except Exception as error:
                put("error", error)
            finally:
                close = getattr(iterator, "close", None)
                if close is not None:
                    close()
                put("end")

        future = self._reply.submit(self._guarded, work)
        try:
            while True:
                kind, value = await items.get()
                if kind == "end":
                    return
                if kind == "error":
                    raise value
                yield value
        finally:
            stop.set()
            future.cancel()

    def _guarded(self, call: Callable[[], T]) -> T:
        """Runs ``call`` on this thread with a usable database connection (Django keeps one a thread)."""
        with self._count:
            self._busy += 1
        try:
            close_old_connections()
            return call()
        finally:
            close_old_connections()
            with self._count:
                self._busy -= 1

    @property
    def busy(self) -> bool:
        """Whether any thread is at work."""
        return self._busy > 0

    async def close(self, seconds: float = 3.0) -> bool:
        """Takes no more work and waits for what is running; False if something still runs after ``seconds``."""
        for pool in (self._capture, self._command, self._reply):
            pool.shutdown(wait=False, cancel_futures=True)
        deadline = asyncio.get_running_loop().time() + seconds
        while self.busy and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(0.05)
        return not self.busy
