"""Keeps requests within Discord's limits: the global one before it is hit, each route's as its answers tell."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping

PER_SECOND = 40.0
"""Discord allows 50 a second for a token; the bot's own process needs some of them."""
MOST_BUCKETS = 5_000


class Limits:
    """For one event loop. ``bucket`` names what Discord counts together: a route and its channel or server."""

    def __init__(self, per_second: float = PER_SECOND) -> None:
        self._gap = 1.0 / per_second
        self._next = 0.0
        self._closed_until = 0.0
        self._free_at: dict[str, float] = {}
        self._unlimited = False

    def delay(self, bucket: str) -> float:
        """Seconds until a request may be sent."""
        return max(max(self._free_at.get(bucket, 0.0), self._closed_until) - time.monotonic(), 0.0)

    async def wait(self, bucket: str) -> None:
        """Waits for a place; call it right before the request."""
        while (delay := self.delay(bucket)) > 0:
            await asyncio.sleep(delay)
        if self._unlimited:
            return
        now = time.monotonic()
        self._next = max(self._next, now - self._gap) + self._gap
        if self._next > now:
            await asyncio.sleep(self._next - now)

    def note(self, bucket: str, headers: Mapping[str, str]) -> None:
        """Takes over what an answer says of its bucket."""
        if "X-RateLimit-Remaining" not in headers:
            # Discord says it with every answer; a server that never does has no limits.
            self._unlimited = not self._free_at and self._closed_until == 0.0
            return
        self._unlimited = False
        if headers["X-RateLimit-Remaining"] == "0":
            self._close(bucket, _seconds(headers.get("X-RateLimit-Reset-After"), 1.0))
        else:
            self._free_at.setdefault(bucket, 0.0)

    def refused(self, bucket: str, seconds: float, *, everywhere: bool) -> None:
        """Discord answered 429."""
        self._unlimited = False
        if everywhere:
            self._closed_until = max(self._closed_until, time.monotonic() + seconds)
        else:
            self._close(bucket, seconds)

    def _close(self, bucket: str, seconds: float) -> None:
        now = time.monotonic()
        if len(self._free_at) >= MOST_BUCKETS:
            self._free_at = {name: at for name, at in self._free_at.items() if at > now}
        self._free_at[bucket] = max(self._free_at.get(bucket, 0.0), now + seconds)


def _seconds(text: str | None, default: float) -> float:
    try:
        return max(float(text), 0.0) if text is not None else default
    except ValueError:
        return default
