"""Reading from Discord's REST API without a gateway connection: what the worker needs for histories.

discord.py gives up at a 503 and at a broken connection; here everything that may pass is tried again, and only what cannot pass
is an error. Nothing but GET is ever sent.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from types import TracebackType
from typing import Any

import aiohttp

from botrunner.limits import Limits
from memory import measures
from memory.errors import MusebotError

logger = logging.getLogger(__name__)

USER_AGENT = "DiscordBot (https://github.com/Rapptz/discord.py, 2)"
DISCORD = "https://discord.com/api/v10"
TIMEOUT = aiohttp.ClientTimeout(total=30, connect=10)
BACK_OFF = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Seconds between tries of one request; after the last one it is for the caller to come again later."""
UNKNOWN_CHANNEL = 10003
UNKNOWN_MESSAGE = 10008


class DiscordError(MusebotError):
    """Discord did not do what it was asked to."""

    code = "discord"


class Unavailable(DiscordError):
    """Discord does not answer, or not properly; later it may."""

    code = "discord_unavailable"
    retryable = True


class Wait(DiscordError):
    """Discord wants nothing to be sent for longer than anybody can stand here and wait."""

    code = "rate_limited"
    retryable = True

    def __init__(self, seconds: float) -> None:
        super().__init__(f"Discord asks to wait for {seconds:.0f} seconds.")
        self.seconds = seconds


class TokenRefused(DiscordError):
    """Discord does not accept the token."""

    code = "token_refused"


class Forbidden(DiscordError):
    """The bot may not see that."""

    code = "forbidden"


class Missing(DiscordError):
    """There is no such thing. ``discord_code`` says what is missing."""

    code = "missing"

    def __init__(self, discord_code: int) -> None:
        super().__init__()
        self.discord_code = discord_code


class Refused(DiscordError):
    """Discord refuses the request; it would refuse it again."""

    code = "refused"


class Rest:
    """A login of its own. Used as a context manager, in one event loop."""

    def __init__(self, token: str, base: str = "", limits: Limits | None = None) -> None:
        self._base = (base or DISCORD).rstrip("/")
        self._headers = {"Authorization": f"Bot {token}", "User-Agent": USER_AGENT}
        self._limits = limits or Limits()
        self._session: aiohttp.ClientSession | None = None
        self.deadline = float("inf")
        """In ``time.monotonic``: no wait goes beyond it (``Wait`` is raised instead), and no new try begins after it."""

    async def __aenter__(self) -> Rest:
        connector = aiohttp.TCPConnector(limit=16, keepalive_timeout=30)
        self._session = aiohttp.ClientSession(
            headers=self._headers, timeout=TIMEOUT, connector=connector, trust_env=True
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    async def get(self, path: str, *, bucket: str, **query: str | int) -> Any:
        """The JSON of an answer. Raises ``Unavailable``, ``Wait``, ``TokenRefused``, ``Forbidden``, ``Missing``, ``Refused``."""
        tries = 0
        while True:
            await self._wait_for_place(bucket)
            try:
                status, headers, body = await self._once(path, query)
            except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
                status, headers, body = 0, {}, type(error).__name__
            if status == 429:
                self._note_refusal(bucket, headers, body)
                continue
            if status == 200:
                self._limits.note(bucket, headers)
                return body
            if 0 < status < 500:
                raise _refusal(status, body)
            if tries >= len(BACK_OFF):
                raise Unavailable(f"Discord did not answer properly ({status or body}).")
            await self._sleep(BACK_OFF[tries] * random.uniform(0.75, 1.25))
            tries += 1

    async def _once(self, path: str, query: dict[str, str | int]) -> tuple[int, Any, Any]:
        assert self._session is not None, "used outside of its context"
        async with self._session.get(self._base + path, params=query) as response:
            if response.status == 200:
                return 200, response.headers, await response.json()
            try:
                body = await response.json(content_type=None)
            except ValueError:
                body = None
            return response.status, response.headers, body

    async def _wait_for_place(self, bucket: str) -> None:
        if time.monotonic() + self._limits.delay(bucket) > self.deadline:
            raise Wait(max(self._limits.delay(bucket), 0.1))
        await self._limits.wait(bucket)

    async def _sleep(self, seconds: float) -> None:
        if time.monotonic() + seconds > self.deadline:
            raise Unavailable("Discord did not answer properly, and the time for trying was over.")
        await asyncio.sleep(seconds)

    def _note_refusal(self, bucket: str, headers: Any, body: Any) -> None:
        if isinstance(body, dict) and "retry_after" in body:
            seconds, everywhere = float(body["retry_after"]), bool(body.get("global"))
        else:
            # Not Discord but what stands before it: this address sent too much.
            seconds, everywhere = float(headers.get("Retry-After") or 60), True
        measures.rate_limits.inc()
        logger.info("Discord asks to wait for %.1f s%s", seconds, " with everything" if everywhere else "")
        self._limits.refused(bucket, seconds, everywhere=everywhere)


def _refusal(status: int, body: Any) -> DiscordError:
    code = int(body.get("code", 0)) if isinstance(body, dict) else 0
    if status == 401:
        return TokenRefused()
    if status == 403:
        return Forbidden()
    if status == 404:
        return Missing(code)
    return Refused(f"Discord refuses the request ({status}, {code}).")
