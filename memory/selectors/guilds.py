"""Servers and their channels, as choices."""

from __future__ import annotations

from dataclasses import dataclass

from memory.models import Channel, Guild


@dataclass(frozen=True, slots=True)
class GuildRow:
    id: int
    """Discord's id."""
    name: str
    kind: str
    is_sample: bool
    message_count: int


def guilds(*, limit: int = 200) -> list[GuildRow]:
    """Servers and the sandbox, by name. Private conversations are found through their member."""
    rows = Guild.objects.exclude(kind=Guild.Kind.DM).order_by("kind", "name", "ordinal")
    found = rows.values_list("discord_id", "name", "kind", "is_sample", "message_count")[:limit]
    return [
        GuildRow(key, name or str(key), kind, is_sample, count) for key, name, kind, is_sample, count in found
    ]


def guild(guild_id: int) -> GuildRow | None:
    row = Guild.objects.filter(discord_id=guild_id).first()
    return _row(row) if row else None


def _row(row: Guild) -> GuildRow:
    return GuildRow(row.discord_id, str(row), row.kind, row.is_sample, row.message_count)


def channel(channel_id: int) -> Channel | None:
    """A channel or thread with its server, by Discord's id."""
    return Channel.objects.select_related("guild").filter(discord_id=channel_id).first()


def channels(guild_id: int | None, *, limit: int = 300, include: int | None = None) -> list[Channel]:
    """Channels as choices, those with the most memories first; of all servers only those that hold any.

    ``include`` is one that has to be among them wherever it is found.
    """
    rows = Channel.objects.select_related("guild").exclude(kind=Channel.CATEGORY)
    offered = rows.filter(deleted_at=None).exclude(guild__kind=Guild.Kind.DM)
    if guild_id is not None:
        rows = rows.filter(guild__discord_id=guild_id)
        offered = offered.filter(guild__discord_id=guild_id)
    else:
        offered = offered.filter(message_count__gt=0)
    largest = list(offered.order_by("-message_count", "discord_id")[:limit])
    found = sorted(largest, key=lambda row: (row.guild.name, row.guild_id))
    if include is not None and all(row.discord_id != include for row in found):
        found += rows.filter(discord_id=include)
    return found
