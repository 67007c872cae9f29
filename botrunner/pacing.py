"""When a streamed reply is shown again."""

from __future__ import annotations

FIRST_INTERVAL = 1.2
"""Seconds between edits: Discord allows five in five seconds in a channel, for everything the bot sends there."""
LONGEST_INTERVAL = 6.0
SLOW = 0.8
"""Seconds; a request that takes longer was held back by a rate limit (or a slow network, which asks for the same)."""


class Pace:
    """The first piece at once, then at intervals that grow while requests are held back and shrink again after."""

    def __init__(self) -> None:
        self.interval = FIRST_INTERVAL
        self._last: float | None = None

    def wait(self, now: float) -> float:
        """Seconds until the next edit is due."""
        return 0.0 if self._last is None else max(0.0, self._last + self.interval - now)

    def shown(self, started: float, ended: float) -> None:
        """Notes that an edit was made, and how long it took."""
        self._last = ended
        if ended - started > SLOW:
            self.interval = min(self.interval * 2, LONGEST_INTERVAL)
        else:
            self.interval = max(self.interval * 0.8, FIRST_INTERVAL)
