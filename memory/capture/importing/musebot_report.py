"""What an import of a Musebot database did, or would do."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

REASONS = {
    "no_consent": "their owner had not opted in",
    "withdrew": "their owner has withdrawn the consent since",
    "paused": "their owner has paused",
    "erasing": "their owner's data is being erased",
    "another_author": "written by somebody else than their owner",
    "reply_of_nobody": "replies of the bot that were read from Discord, and nothing tells whom they answered",
    "duplicate": "stored before",
    "empty": "nothing in them that is stored",
    "unreadable": "unreadable",
    "deleted": "deleted in the meantime",
    "erased": "erased before, at their owner's wish",
    "channel_disallowed": "from a channel that is not allowed (channelsDisallowed)",
    "channel_deleted": "from a channel that was deleted",
    "capture_disabled": "from a server or channel that is switched off",
    "guild_left": "from a server that the bot has left",
}


@dataclass
class MusebotReport:
    """What an import did, or would do. Messages are counted once each: stored, or left out for a reason."""

    total: int = 0
    read: int = 0
    messages: int = 0
    """Messages of members that came in."""
    replies: int = 0
    """Replies of the bot that came in."""
    interpretations: int = 0
    """Pages and images whose description came with them."""
    private: int = 0
    """Of the messages, those from private conversations."""
    consents: int = 0
    """Consents that were carried over."""
    known_consents: int = 0
    """Of people who had opted in here already."""
    refused_consents: Counter[str] = field(default_factory=Counter)
    incomplete: int = 0
    """People whose history the original had not read to its end."""
    servers: set[int] = field(default_factory=set)
    left_out: Counter[str] = field(default_factory=Counter)
    """Messages that did not come in, by reason (``REASONS``)."""
    unreadable: list[str] = field(default_factory=list)
    """The first few that could not be read, with the reason."""

    @property
    def stored(self) -> int:
        return self.messages + self.replies
