"""How far each channel was seen, in this process, until it is written."""

from __future__ import annotations

Seen = dict[int, dict[int, int]]
"""By server, by channel, the newest message."""


class Marks:
    """Raised with every message, whoever wrote it; taken every few seconds.

    Frozen until what was missed before is noted as work: a mark that is written before then would hide the gap. A message that
    could not be stored keeps its channel's mark below it until the next start.
    """

    def __init__(self) -> None:
        self._seen: Seen = {}
        self._ceilings: dict[int, int] = {}
        self._frozen = True

    def freeze(self) -> None:
        self._frozen = True

    def thaw(self) -> None:
        self._frozen = False
        self._ceilings.clear()

    def saw(self, guild_id: int, channel_id: int, message_id: int) -> None:
        """Once a message was dealt with: stored, or found not to be for storing."""
        ceiling = self._ceilings.get(channel_id)
        if ceiling is not None and message_id > ceiling:
            return
        channels = self._seen.setdefault(guild_id, {})
        channels[channel_id] = max(channels.get(channel_id, 0), message_id)

    def failed(self, channel_id: int, message_id: int) -> None:
        """A message that should have been stored was not."""
        self._ceilings[channel_id] = min(self._ceilings.get(channel_id, message_id - 1), message_id - 1)

    def take(self) -> Seen:
        if self._frozen:
            return {}
        seen, self._seen = self._seen, {}
        return seen

    def give_back(self, seen: Seen) -> None:
        for guild_id, channels in seen.items():
            for channel_id, message_id in channels.items():
                self.saw(guild_id, channel_id, message_id)
