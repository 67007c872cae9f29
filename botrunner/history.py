"""Reads histories for ``memory.capture.backfill``, in turns of some seconds, several channels at a time, a page after the other.

A page is committed together with the cursor that it moves, so that a worker may be killed at any moment: what was committed is
never asked for again, what was not is. Everything that touches the database runs on one thread beside the event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

from django.db import connections

from botrunner.channel_reading import ChannelReading
from botrunner.limits import Limits
from botrunner.listing import Server, list_channels, load_server
from botrunner.raw import Reader
from botrunner.rest import (
    UNKNOWN_CHANNEL,
    DiscordError,
    Forbidden,
    Missing,
    Refused,
    Rest,
    TokenRefused,
    Wait,
)
from memory import capture, outbox
from memory.capture import backfill
from memory.capture.backfill import ChannelWork
from memory.capture.backfill.listing import ListingWork
from memory.conf import get_config
from memory.models import OutboxEntry

logger = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

TURN_SECONDS = 12.0
"""Then other work gets its turn."""
AT_ONCE = 8
"""Channels that are read at the same time; Discord counts each by itself."""
KEEP_SECONDS = 5.0
WAKE_SECONDS = 1.0
NO_TOKEN_SECONDS = 60.0
BUSY_SECONDS = 5.0

_reading = threading.Lock()


def read_entries(entries: Sequence[OutboxEntry]) -> None:
    """Handler of ``history``: reads for a while, and notes when to go on."""
    token = get_config().discord.token
    if token is None or not get_config().memory_enabled:
        outbox.hold(entries, NO_TOKEN_SECONDS)
        return
    if not _reading.acquire(blocking=False):
        outbox.hold(entries, BUSY_SECONDS)
        return
    try:
        least = asyncio.run(Turn(entries[0]).run(token.get_secret_value()))
    finally:
        _reading.release()
    backfill.rest(entries[0], least=least)


class Turn:
    """One turn of reading."""

    def __init__(
        self, entry: OutboxEntry, *, seconds: float = TURN_SECONDS, limits: Limits | None = None
    ) -> None:
        self.entry = entry
        self.limits = limits
        self.deadline = time.monotonic() + seconds
        self._pool = ThreadPoolExecutor(1, "history")
        self._waiting: deque[ChannelWork] = deque()
        self._under_way: set[int] = set()
        self._servers: dict[int, Server] = {}
        self._readers: dict[tuple[int, int], Reader] = {}
        self._bot_id = 0
        self._choosing = asyncio.Lock()
        self._loading = asyncio.Lock()
        self._last_wake = time.monotonic()
        self._rest_seconds = 0.0

    async def run(self, token: str) -> float:
        """Returns the seconds to wait before the next turn, at least."""
        keeping = asyncio.create_task(self._keep_lease())
        try:
            async with Rest(token, get_config().discord.api_base, self.limits) as rest:
                rest.deadline = self.deadline
                await self._read(rest)
        except TokenRefused:
            logger.error("Discord does not accept the token; histories wait")
            self._rest_seconds = NO_TOKEN_SECONDS
        except DiscordError as error:
            logger.warning("Discord cannot be reached (%s); histories wait", error.code)
            self._rest_seconds = error.seconds if isinstance(error, Wait) else BUSY_SECONDS
        finally:
            keeping.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await keeping
            await self._db(connections.close_all)
            self._pool.shutdown()
        return self._rest_seconds

    @property
    def over(self) -> bool:
        return time.monotonic() >= self.deadline

    async def _read(self, rest: Rest) -> None:
        self._bot_id = int((await rest.get("/users/@me", bucket="me"))["id"])
        await self._db(backfill.begin_due)
        for work in await self._db(backfill.due_listings):
            if not self.over:
                await self._list(rest, work)
        readers = [asyncio.create_task(self._channels(rest)) for _ in range(AT_ONCE)]
        try:
            await asyncio.gather(*readers)
        finally:
            for reader in readers:
                reader.cancel()
            await asyncio.gather(*readers, return_exceptions=True)
            await self._db(outbox.wake, "embed")

    async def _db(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.get_running_loop().run_in_executor(
            self._pool, partial(function, *args, **kwargs)
        )

    async def _keep_lease(self) -> None:
        while True:
            if not await self._db(backfill.extend, self.entry):
                self.deadline = 0.0  # somebody else reads now
                return
            await asyncio.sleep(KEEP_SECONDS)

    # -- which channels there are
    async def _list(self, rest: Rest, work: ListingWork) -> None:
        try:
            server = await load_server(rest, work.guild_id, self._bot_id)
            channels = await list_channels(rest, server, archived_since=work.archived_since)
        except (Forbidden, Missing):
            await self._db(backfill.listing_failed, work, "guild_left", final=True)
        except TokenRefused:
            raise
        except DiscordError as error:
            logger.warning("the channels of server %s could not be listed: %s", work.guild_id, error.code)
            await self._db(backfill.listing_failed, work, error.code, final=False)
        else:
            self._servers[work.guild_id] = server
            await self._db(backfill.listed, work, server.info, channels)

    # -- what was said in them
    async def _channels(self, rest: Rest) -> None:
        while not self.over and (work := await self._choose()) is not None:
            try:
                await self._channel(rest, work)
            finally:
                self._under_way.discard(work.id)

    async def _choose(self) -> ChannelWork | None:
        async with self._choosing:
            if not self._waiting:
                more = await self._db(backfill.open_work, limit=4 * AT_ONCE, exclude=tuple(self._under_way))
                self._waiting.extend(more)
            if not self._waiting:
                return None
            work = self._waiting.popleft()
            self._under_way.add(work.id)
            return work

    async def _channel(self, rest: Rest, work: ChannelWork) -> None:
        try:
            steps = ChannelReading(rest, await self._reader(rest, work), self._db)
            following: ChannelWork | None = work
            while following is not None and not self.over:
                work = following
                following = await steps.step(work, self._wakes())
        except Wait as error:
            await self._db(backfill.postpone, work, code=error.code, seconds=error.seconds)
        except Missing as error:
            gone = error.discord_code == UNKNOWN_CHANNEL
            await self._db(backfill.close_channel, work, code="gone" if gone else error.code, gone=gone)
            if gone:
                await self._db(capture.forget_channel, work.channel.id)
        except (Forbidden, Refused) as error:
            await self._db(backfill.close_channel, work, code=error.code)
        except TokenRefused:
            raise
        except DiscordError as error:
            logger.warning("channel %s could not be read for now: %s", work.channel.id, error.code)
            await self._db(backfill.postpone, work, code=error.code)

    async def _reader(self, rest: Rest, work: ChannelWork) -> Reader:
        key = (work.scan_id, work.guild.id)
        async with self._loading:
            if key not in self._readers:
                people = await self._db(backfill.wanted_people, work)
                if work.guild.kind == "dm":
                    self._readers[key] = Reader(self._bot_id, people)
                else:
                    if work.guild.id not in self._servers:
                        self._servers[work.guild.id] = await load_server(rest, work.guild.id, self._bot_id)
                    self._readers[key] = self._servers[work.guild.id].reader(people)
            return self._readers[key]

    def _wakes(self) -> bool:
        """Whoever embeds is woken now and then, not with each page."""
        now = time.monotonic()
        if now - self._last_wake < WAKE_SECONDS:
            return False
        self._last_wake = now
        return True
