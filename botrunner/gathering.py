"""What is said at about the same time is stored together: a transaction for each message would hold the writer up on a busy day."""

from __future__ import annotations

import asyncio

from botrunner.bridge import Bridge
from memory import capture
from memory.types import IncomingMessage

MOST = 64
"""Messages a transaction, so that nobody waits long for the writer."""

_Waiting = tuple[IncomingMessage, "asyncio.Future[int | None]"]


class Gathering:
    """One message is stored at once; those that come meanwhile wait for it, and are stored in one go after it, in their order."""

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge
        self._waiting: list[_Waiting] = []
        self._work: asyncio.Task[None] | None = None

    async def store(self, message: IncomingMessage) -> int | None:
        """The message's key, or None if it is not stored, as ``capture.record_message`` says. Raises what that raises."""
        future: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()
        self._waiting.append((message, future))
        if self._work is None or self._work.done():
            self._work = asyncio.create_task(self._store_all())
        return await future

    async def _store_all(self) -> None:
        while self._waiting:
            some, self._waiting = self._waiting[:MOST], self._waiting[MOST:]
            try:
                await self._store(some)
            finally:
                for _, future in some:
                    # Only where the bot is being stopped: whoever waits is stopped as well.
                    if not future.done():
                        future.cancel()

    async def _store(self, some: list[_Waiting]) -> None:
        if len(some) > 1:
            try:
                keys = await self._bridge.capture(capture.record_together, [message for message, _ in some])
            except Exception:
                pass  # one of them is at fault, or the moment is: each is tried alone
            else:
                for (_, future), key in zip(some, keys, strict=True):
                    _give(future, key)
                return
        for message, future in some:
            try:
                _give(future, await self._bridge.capture(capture.record_message, message))
            except Exception as error:
                if not future.done():
                    future.set_exception(error)


def _give(future: asyncio.Future[int | None], key: int | None) -> None:
    if not future.done():
        future.set_result(key)
