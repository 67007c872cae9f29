"""Waiting lines: one for each channel, with places that are taken when a message arrives."""

from __future__ import annotations

import asyncio
from collections import deque


class Place:
    """A place in a line. Whoever took it leaves it in the end, whether they waited for their turn or not."""

    def __init__(self, lines: Lines, channel_id: int) -> None:
        self._lines = lines
        self.channel_id = channel_id
        self.left = False
        self.is_first = asyncio.Event()

    async def turn(self) -> None:
        """Waits until everybody before has left."""
        await self.is_first.wait()

    def leave(self) -> None:
        """Leaving twice does nothing."""
        if not self.left:
            self.left = True
            self._lines.move_up(self.channel_id)


class Lines:
    """discord.py handles each message in a task of its own, and what each awaits takes its own time; places keep their order."""

    def __init__(self) -> None:
        self._lines: dict[int, deque[Place]] = {}

    def take(self, channel_id: int) -> Place:
        """The last place of a channel's line. Call it before anything is awaited."""
        place = Place(self, channel_id)
        line = self._lines.setdefault(channel_id, deque())
        line.append(place)
        if len(line) == 1:
            place.is_first.set()
        return place

    def move_up(self, channel_id: int) -> None:
        line = self._lines[channel_id]
        while line and line[0].left:
            line.popleft()
        if line:
            line[0].is_first.set()
        else:
            del self._lines[channel_id]
