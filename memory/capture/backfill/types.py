"""What is asked of whoever can reach Discord, and what they bring back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from memory.types import ChannelInfo, GuildInfo, IncomingMessage

PAGE = 100
"""Messages that Discord gives at once."""
DISCORD_EPOCH_MS = 1_420_070_400_000


def time_of(snowflake: int) -> datetime:
    """When the thing with this id was made."""
    return datetime.fromtimestamp(((snowflake >> 22) + DISCORD_EPOCH_MS) / 1000, UTC)


def id_at(moment: datetime) -> int:
    """The smallest id that something made at this moment can have."""
    return max((int(moment.timestamp() * 1000) - DISCORD_EPOCH_MS) << 22, 0)


@dataclass(frozen=True, slots=True)
class ListedChannel:
    """A channel as a server lists it. ``why`` says why it may not be read; empty if it may."""

    info: ChannelInfo
    why: str = ""
    last_message_id: int | None = None
    """None if that is not known; 0 for a channel in which nothing was ever written."""


@dataclass(frozen=True, slots=True)
class ChannelWork:
    """A channel of which the next page is wanted."""

    id: int
    scan_id: int
    catch_up: bool
    guild: GuildInfo
    channel: ChannelInfo
    cursor: int | None
    """Backfill: read what is before it. Catch-up: what is after it."""
    window: bool
    """Catch-up: first compare the messages up to the cursor with what is stored."""
    requested: int
    failures: int = 0
    replies_only: bool = False
    """The history was read; only replies that were held aside are left to fetch."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page as it was fetched, with what of it concerns members; the rest is counted and was not looked at."""

    cursor: int | None
    """The one of the work that it answers."""
    seen: tuple[int, ...]
    """Ids of all its messages, newest first."""
    last: bool
    """There is nothing beyond it."""
    fetched_at: datetime
    """Just before it was asked for."""
    messages: tuple[IncomingMessage, ...] = ()
    """Messages of members, and replies of the bot to members."""
    owners: Mapping[int, int] = field(default_factory=dict)
    """By id of a reply of the bot, the member whom it answers."""
    held: Mapping[int, int] = field(default_factory=dict)
    """By id of a reply of the bot, the id of the message it answers, where Discord did not send that along."""
    skipped: Mapping[str, int] = field(default_factory=dict)
