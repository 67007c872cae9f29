"""Ids on the command line. Those that an import made up can be given as they stand in its file (``m001``, ``ada``)."""

from __future__ import annotations

import argparse

from memory.capture.importing import channel_key, user_key
from memory.errors import InvalidInput, NotFound
from memory.models import Channel, Guild, Member
from memory.types import ChannelInfo, GuildInfo, Person

MAX_ID = 2**63 - 1


def guild_id(text: str) -> int:
    """An id of a server: a whole number."""
    if text.isascii() and text.isdecimal() and 0 < int(text) <= MAX_ID:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is no id of a server; write the number that Discord shows.")


def user_id(text: str) -> int:
    """An id of a person: Discord's, or the one in the file of an import."""
    if not text.strip() or (text.isdecimal() and not 0 < int(text) <= MAX_ID):
        raise argparse.ArgumentTypeError(f"{text!r} is no id of a person.")
    return user_key(text)


def find_guild(discord_id: int) -> Guild:
    guild = Guild.objects.filter(discord_id=discord_id).first()
    if guild is None:
        known = ", ".join(f"{row.discord_id} ({row.name})" for row in Guild.objects.order_by("ordinal")[:5])
        raise NotFound(f"There is no server {discord_id}." + (f" Known are: {known}." if known else ""))
    return guild


def guild_of_channel(text: str) -> Guild:
    """By Discord's id of the channel; several servers may have one of the same name."""
    found = None
    if text.isascii() and text.isdecimal() and int(text) <= MAX_ID:
        found = Channel.objects.select_related("guild").filter(discord_id=int(text)).first()
    if found is None:
        raise InvalidInput(f"There is no channel with the id {text!r}; to give a name, add --guild.")
    return found.guild


def find_channel(guild: Guild, text: str) -> Channel:
    """By id, by the id that an import knew it by, or by name."""
    rows = Channel.objects.select_related("parent").filter(guild=guild).exclude(kind=Channel.CATEGORY)
    ids = [channel_key(guild.discord_id, text)]
    if text.isascii() and text.isdecimal() and int(text) <= MAX_ID:
        ids.append(int(text))
    channel = rows.filter(discord_id__in=ids).first() or rows.filter(name=text.removeprefix("#")).first()
    if channel is None:
        names = ", ".join(f"#{name}" for name in rows.values_list("name", flat=True)[:10] if name)
        raise InvalidInput(
            f"There is no channel {text!r} in that server." + (f" It has {names}." if names else "")
        )
    return channel


def guild_info(guild: Guild) -> GuildInfo:
    return GuildInfo(guild.discord_id, guild.name, "dm" if guild.kind == Guild.Kind.DM else "guild")


def channel_info(channel: Channel) -> ChannelInfo:
    parent = channel_info(channel.parent) if channel.parent else None
    return ChannelInfo(channel.discord_id, channel.name, channel.kind, channel.topic, parent)


def find_person(user: int | None) -> Person:
    """The one who asks; nobody in particular has the id 0."""
    member = Member.objects.filter(user_id=user).first() if user else None
    if member is None:
        return Person(user or 0, "somebody" if user else "operator")
    return Person(member.user_id, member.username, member.display_name)
