"""Who can read which channel, for servers of any size.

``discord.py`` computes the permissions of one member in one channel; for 20,000 members and 200 channels that takes a minute.
Members with the same roles can read the same channels but for overwrites of their own, so each set of roles is computed once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import discord

from botrunner.adapters import KINDS, channel_of
from memory.types import ChannelInfo

ADMINISTRATOR = discord.Permissions(administrator=True).value
VIEW = discord.Permissions(view_channel=True).value
HISTORY = discord.Permissions(read_message_history=True).value
CONNECT = discord.Permissions(connect=True).value


@dataclass(frozen=True, slots=True)
class Overwrite:
    """Permission bits that a channel grants and takes."""

    allow: int = 0
    deny: int = 0

    def over(self, permissions: int) -> int:
        return (permissions & ~self.deny) | self.allow


@dataclass(frozen=True, slots=True)
class ChannelRules:
    """What decides who can read one channel."""

    info: ChannelInfo
    everyone: Overwrite = Overwrite()
    roles: Mapping[int, Overwrite] = field(default_factory=dict)
    members: Mapping[int, Overwrite] = field(default_factory=dict)
    voice: bool = False
    """Reading along in a voice channel takes the permission to connect as well."""


@dataclass(frozen=True, slots=True)
class GuildRules:
    """The parts of a server that decide who can read what, as plain values that may leave the event loop."""

    guild_id: int
    owner_id: int
    role_permissions: Mapping[int, int]
    """Permission bits by role; everybody's role has the server's id."""
    members: Mapping[tuple[int, ...], tuple[int, ...]]
    """Members (no bots) by the set of their roles, everybody's left out."""
    channels: tuple[ChannelRules, ...]
    threads: tuple[ChannelInfo, ...] = ()


def rules_of(guild: discord.Guild) -> GuildRules:
    """Copies what is needed out of discord.py's cache; call it in the event loop."""
    groups: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for member in guild.members:
        if not member.bot:
            # ``member.roles`` looks up and sorts role objects, which takes most of a second for 20,000 members.
            groups[tuple(member._roles)].append(member.id)
    return GuildRules(
        guild_id=guild.id,
        owner_id=guild.owner_id or 0,
        role_permissions={role.id: role.permissions.value for role in guild.roles},
        members={roles: tuple(ids) for roles, ids in groups.items()},
        channels=tuple(_rules_of_channel(channel) for channel in guild.channels if channel.type in KINDS),
        threads=tuple(channel_of(thread) for thread in guild.threads),
    )


def _rules_of_channel(channel: discord.abc.GuildChannel) -> ChannelRules:
    roles: dict[int, Overwrite] = {}
    members: dict[int, Overwrite] = {}
    for target, overwrite in channel.overwrites.items():
        allow, deny = overwrite.pair()
        is_role = isinstance(target, discord.Role) or getattr(target, "type", None) is discord.Role
        (roles if is_role else members)[target.id] = Overwrite(allow.value, deny.value)
    return ChannelRules(
        info=channel_of(channel),
        everyone=roles.pop(channel.guild.id, Overwrite()),
        roles=roles,
        members=members,
        voice=isinstance(channel, discord.VoiceChannel | discord.StageChannel),
    )


def readers(rules: GuildRules) -> dict[int, tuple[int, ...] | None]:
    """The people who can read each channel, by its id, ascending; None where that cannot be said.

    It cannot for private threads, whose members are not known, and for channels that some people can see but not read back:
    they read along, and yet must not be told what was said there before. Channels with the same readers share one tuple.
    """
    everybody = rules.role_permissions.get(rules.guild_id, 0)
    groups = [(frozenset(roles), ids, _base(roles, rules, everybody)) for roles, ids in rules.members.items()]
    place = {member: number for number, (_, ids, _) in enumerate(groups) for member in ids}
    shared: dict[tuple[int, ...], tuple[int, ...]] = {}
    found: dict[int, tuple[int, ...] | None] = {}
    for channel in rules.channels:
        people = _readers_of(channel, groups, place, rules.owner_id)
        found[channel.info.id] = None if people is None else shared.setdefault(people, people)
    for thread in rules.threads:
        open_to_all = thread.kind == "public_thread" and thread.parent is not None
        found[thread.id] = found.get(thread.parent.id) if open_to_all and thread.parent else None
    return found


Group = tuple[frozenset[int], tuple[int, ...], int]


def _base(roles: Iterable[int], rules: GuildRules, everybody: int) -> int:
    permissions = everybody
    for role in roles:
        permissions |= rules.role_permissions.get(role, 0)
    return permissions


def _readers_of(
    channel: ChannelRules, groups: list[Group], place: Mapping[int, int], owner_id: int
) -> tuple[int, ...] | None:
    own_rules = {member: place[member] for member in channel.members if member in place}
    found: list[int] = []
    for number, (roles, ids, base) in enumerate(groups):
        permissions = _in_channel(channel, roles, base)
        single = [member for member, group in own_rules.items() if group == number]
        whole = ids if not single else tuple(set(ids) - set(single))
        can_see, can_read = _sight(channel, base, permissions)
        if whole and can_see != can_read:
            return None
        if can_read:
            found += whole
        for member in single:
            can_see, can_read = _sight(channel, base, channel.members[member].over(permissions))
            if can_see != can_read and member != owner_id:
                return None
            if can_read:
                found.append(member)
    if owner_id in place and owner_id not in found:
        found.append(owner_id)
    return tuple(sorted(found))


def _in_channel(channel: ChannelRules, roles: frozenset[int], base: int) -> int:
    """Permissions of a set of roles in a channel, before the overwrites of single members."""
    permissions = channel.everyone.over(base)
    allow = deny = 0
    for role in roles & channel.roles.keys():
        allow |= channel.roles[role].allow
        deny |= channel.roles[role].deny
    return (permissions & ~deny) | allow


def _sight(channel: ChannelRules, base: int, permissions: int) -> tuple[bool, bool]:
    """Whether somebody sees new messages, and whether they can read old ones too."""
    if base & ADMINISTRATOR:
        return True, True
    can_see = bool(permissions & VIEW) and (not channel.voice or bool(permissions & CONNECT))
    return can_see, can_see and bool(permissions & HISTORY)
