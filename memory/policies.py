"""What is remembered, answered and recalled where: the policies of servers and channels, each with where its value comes from.

The nearest that says something counts: a thread, the channel that it belongs to, the category of that, its server, and last the
configuration. What the configuration closes stays closed, and a server that is switched off is off in all its channels.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from memory.conf import DiscordConfig, get_config
from memory.models import Channel, Guild
from memory.models.fast import get

T = TypeVar("T")

Origin = Literal["here", "channel", "category", "server", "configuration", "switched off"]
"""``here`` is what was asked for: channel, thread or category; ``channel`` the one that a thread belongs to."""
READERS, CHANNEL, NOTHING = Guild.Recalls.READERS, Guild.Recalls.CHANNEL, Guild.Recalls.NOTHING


@dataclass(frozen=True, slots=True)
class Setting(Generic[T]):
    """A value and who says so."""

    value: T
    origin: Origin
    why: str = ""
    """Of what the configuration closes: the key that does."""

    @property
    def fixed(self) -> bool:
        """Whether nothing that is set for a channel changes it."""
        return bool(self.why) or self.origin == "switched off"


@dataclass(frozen=True, slots=True)
class Policy:
    """What counts in one channel or thread."""

    capture: Setting[bool]
    reply: Setting[bool]
    mention: Setting[bool]
    """Whether the bot answers only where it is called."""
    recall: Setting[str]
    """``readers``: what everybody there can read, by the server's rule; ``channel``: what was said there; ``nothing``."""


def policy_for(guild_id: int, channel_ids: Sequence[int]) -> Policy:
    """By Discord's ids: of the server, and of a channel with those that it inherits from, itself first.

    Asks the database each time, so that a change counts from the next message on. What is not known has no policy of its own.
    """
    return _policy(get(Guild, discord_id=guild_id), channel_ids)


def _policy(guild: Guild | None, channel_ids: Sequence[int]) -> Policy:
    rows = {row.discord_id: row for row in _with_parents(channel_ids)}
    ids = [*channel_ids, *(one for one in rows if one not in channel_ids)]
    return resolve(guild, with_categories([rows[one] for one in ids if one in rows]), ids=ids)


def resolve(guild: Guild | None, channels: Sequence[Channel], *, ids: Collection[int] = ()) -> Policy:
    """The policy from rows: a channel with those that it inherits from (``lineage``), nearest first. ``ids``: where some have no row.

    The configuration names channels; the id of a category means nothing there.
    """
    discord = get_config().discord
    named = ids or [row.discord_id for row in channels if row.kind != Channel.CATEGORY]
    barred, unlisted = _by_configuration(discord, named)
    off = guild is not None and not guild.enabled
    return Policy(
        capture=_closed(barred, "", off=off) or _switch("capture_enabled", channels, guild, default=True),
        reply=_closed(barred, unlisted, off=off) or _switch("reply_enabled", channels, guild, default=True),
        mention=_switch("mention_needed", channels, guild, default=discord.requires_mention),
        recall=_recall(channels, guild),
    )


def inherited(guild: Guild, channel: Channel | None = None) -> Policy:
    """What counts in this channel (None: in one that stands in no category) while it says nothing itself."""
    return resolve(guild, lineage(channel)[1:] if channel is not None else [])


def lineage(channel: Channel) -> list[Channel]:
    """A channel, thread or category with those that it inherits from, itself first."""
    return with_categories([row for row in (channel, channel.parent) if row is not None])


def with_categories(rows: Sequence[Channel]) -> list[Channel]:
    """The rows of a thread and its channel, followed by the category that they stand in; one that was deleted does not count."""
    known = {row.discord_id for row in rows}
    found = list(rows)
    for row in rows:
        if row.category_id is not None and row.category_id not in known:
            known.add(row.category_id)
            known_to_row = Channel._meta.get_field("category").is_cached(row)
            category = row.category if known_to_row else get(Channel, discord_id=row.category_id)
            if category is not None and category.deleted_at is None:
                found.append(category)
    return found


def recalled_from(guild: Guild, channel_id: int, visible: Collection[int] | None) -> frozenset[int] | None:
    """Of the channels that may be used for an answer in a channel (None: all of the server), those that its policy leaves.

    A channel and its threads count as one for "this channel only".
    """
    policy = _policy(guild, [channel_id])
    if policy.recall.value == READERS:
        return None if visible is None else frozenset(visible)
    if policy.recall.value == NOTHING:
        return frozenset()
    family = _family(guild, channel_id)
    return family if visible is None else family & frozenset(visible)


def recalls_everything(guild: Guild, channel_id: int) -> bool:
    """Whether what is known beside the words of a channel, and came from no one channel, may be used for an answer there."""
    return _policy(guild, [channel_id]).recall.value == READERS


def _with_parents(channel_ids: Iterable[int]) -> list[Channel]:
    found = [get(Channel, discord_id=one) for one in channel_ids]
    rows = [row for row in found if row is not None]
    known = {row.discord_id for row in rows}
    wanted = [row.parent_id for row in rows if row.parent_id is not None and row.parent_id not in known]
    parents = [get(Channel, discord_id=one) for one in dict.fromkeys(wanted)]
    return rows + [row for row in parents if row is not None]


def _family(guild: Guild, channel_id: int) -> frozenset[int]:
    top = (
        Channel.objects.filter(discord_id=channel_id).values_list("parent_id", flat=True).first()
        or channel_id
    )
    threads = Channel.objects.filter(guild=guild, parent_id=top).values_list("discord_id", flat=True)
    return frozenset({channel_id, top, *threads})


def _by_configuration(discord: DiscordConfig, ids: Collection[int]) -> tuple[str, str]:
    """The keys that bar the bot from a channel, and from answering there; empty if none does."""
    barred = "channelsDisallowed" if discord.channels_disallowed & set(ids) else ""
    unlisted = "channels" if ids and discord.channels and not discord.channels & set(ids) else ""
    return barred, unlisted


def _closed(barred: str, unlisted: str, *, off: bool) -> Setting[bool] | None:
    if barred or unlisted:
        return Setting(False, "configuration", barred or unlisted)
    return Setting(False, "switched off") if off else None


def _switch(name: str, channels: Sequence[Channel], guild: Guild | None, *, default: bool) -> Setting[bool]:
    for place, row in enumerate(channels):
        value: bool | None = getattr(row, name)
        if value is not None:
            return Setting(value, _origin(place, row))
    of_server: bool | None = getattr(guild, name) if guild is not None else None
    return Setting(default, "configuration") if of_server is None else Setting(of_server, "server")


def _origin(place: int, row: Channel) -> Origin:
    if not place:
        return "here"
    return "category" if row.kind == Channel.CATEGORY else "channel"


def _recall(channels: Sequence[Channel], guild: Guild | None) -> Setting[str]:
    for place, row in enumerate(channels):
        if row.recalls:
            return Setting(row.recalls, _origin(place, row))
    return Setting(guild.recalls if guild is not None else str(READERS), "server")
