"""Guilds and channels: their rows, and whether anything may be stored from there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import transaction

from memory.capture import underway
from memory.capture.content import clean
from memory.conf import get_config
from memory.models import Channel, Guild
from memory.types import ChannelInfo, GuildInfo


def remember_guild(guild: GuildInfo, channels: Sequence[ChannelInfo] = ()) -> Guild:
    """Keeps names and topics current; a guild that the bot had left counts as joined again. Nothing of people is stored."""
    underway.note_returned(guild.id)
    with transaction.atomic():
        row = upsert_guild(guild)
        if row.left_at is not None:
            row.left_at = None
            row.save(update_fields=["left_at"])
        for channel in channels:
            upsert_channel(row, channel)
    return row


def upsert_guild(info: GuildInfo) -> Guild:
    row, new = Guild.objects.get_or_create(
        discord_id=info.id, defaults={"name": clean(info.name)[:200], "kind": info.kind}
    )
    if not new:
        # The kind stays: the dashboard's sandbox is a guild to those who speak in it.
        _keep_current(row, name=clean(info.name)[:200])
    return row


def upsert_channel(guild: Guild, info: ChannelInfo) -> Channel:
    """The row of a channel, and of the one that it is a thread of. A name or topic that is not known leaves the old one."""
    parent = upsert_channel(guild, info.parent) if info.parent else None
    row, new = Channel.objects.get_or_create(
        discord_id=info.id,
        defaults={
            "guild": guild,
            "parent": parent,
            "kind": info.kind,
            "name": clean(info.name)[:200],
            "topic": clean(info.topic),
        },
    )
    if not new:
        values: dict[str, Any] = {"name": clean(info.name)[:200], "topic": clean(info.topic)}
        if row.kind == "text" or info.kind != "text":
            values["kind"] = info.kind
        if parent is not None:
            values["parent"] = parent
        _keep_current(row, **values)
    return row


def _keep_current(row: Guild | Channel, **values: Any) -> None:
    changed = [name for name, value in values.items() if value and getattr(row, name) != value]
    for name in changed:
        setattr(row, name, values[name])
    if changed:
        row.save(update_fields=changed)


def lineage(channel: ChannelInfo) -> list[int]:
    """Ids of a channel and of those that it inherits from, itself first."""
    found = []
    level: ChannelInfo | None = channel
    while level is not None:
        found.append(level.id)
        level = level.parent
    return found


def why_closed(guild: GuildInfo, channel: ChannelInfo) -> str:
    """Why nothing may be stored from there, or nothing. A thread inherits from its parent, also from one known to the database."""
    ids = set(lineage(channel))
    rows = list(Channel.objects.filter(discord_id__in=ids).select_related("parent"))
    rows += [row.parent for row in rows if row.parent is not None and row.parent_id not in ids]
    ids.update(row.discord_id for row in rows)
    if ids & get_config().discord.channels_disallowed:
        return "channel_disallowed"
    if (
        underway.is_deleted(guild.id)
        or any(map(underway.is_deleted, ids))
        or any(row.deleted_at for row in rows)
    ):
        return "channel_deleted"
    row = Guild.objects.filter(discord_id=guild.id).first()
    if row is not None and row.left_at is not None:
        return "guild_left"
    if (row is not None and not row.capture_enabled) or not all(one.capture_enabled for one in rows):
        return "capture_disabled"
    return ""
