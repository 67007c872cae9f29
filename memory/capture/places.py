"""Guilds and channels: their rows, and whether anything may be stored from there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import transaction

from memory import policies
from memory.capture import underway
from memory.capture.content import clean
from memory.conf import get_config
from memory.models import Channel, Guild
from memory.models.fast import get
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
    row, new = get(Guild, discord_id=info.id), False
    if row is None:
        row, new = Guild.objects.get_or_create(
            discord_id=info.id, defaults={"name": clean(info.name)[:200], "kind": info.kind}
        )
    if not new:
        # The kind stays: the dashboard's sandbox is a guild to those who speak in it.
        _keep_current(row, name=clean(info.name)[:200])
    return row


def upsert_channel(guild: Guild, info: ChannelInfo) -> Channel:
    """The row of a channel, of the one that it is a thread of, and of its category. What is not known leaves the old one."""
    parent = upsert_channel(guild, info.parent) if info.parent else None
    category = upsert_channel(guild, info.category) if info.category else None
    row, new = get(Channel, discord_id=info.id), False
    if row is None:
        row, new = Channel.objects.get_or_create(
            discord_id=info.id,
            defaults={
                "guild": guild,
                "parent": parent,
                "category": category,
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
            values["parent_id"] = parent.discord_id
        if category is not None:
            values["category_id"] = category.discord_id
        _keep_current(row, **values)
        if info.uncategorised and row.category_id is not None:
            row.category = None
            row.save(update_fields=["category"])
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


def _with_category(channel: ChannelInfo, rows: list[Channel]) -> list[Channel]:
    """The rows with that of the category: the one that Discord names now, or else the one that is known."""
    top = channel
    while top.parent is not None:
        top = top.parent
    if top.category is None and not top.uncategorised:
        return policies.with_categories(rows)
    row = get(Channel, discord_id=top.category.id) if top.category is not None else None
    return rows if row is None or row.deleted_at is not None else [*rows, row]


def why_closed(guild: GuildInfo, channel: ChannelInfo) -> str:
    """Why nothing may be stored from there, or nothing. A thread inherits from its parent, also from one known to the database.

    What cannot be read raises, so that nothing is stored then.
    """
    # Asked inside the transaction that stores: what is closed later waits for its end, and finds the row.
    server = get(Guild, discord_id=guild.id, lock=True)
    nearest = lineage(channel)
    own = [get(Channel, discord_id=one, lock=True) for one in sorted(nearest)]
    found = {row.discord_id: row for row in own if row is not None}
    for row in list(found.values()):
        if row.parent_id is not None and row.parent_id not in nearest:
            nearest.append(row.parent_id)
            if (parent := get(Channel, discord_id=row.parent_id)) is not None:
                found[parent.discord_id] = parent
    ids, rows = set(nearest), [found[one] for one in nearest if one in found]
    if ids & get_config().discord.channels_disallowed:
        return "channel_disallowed"
    if (
        underway.is_deleted(guild.id)
        or any(map(underway.is_deleted, ids))
        or any(row.deleted_at for row in rows)
    ):
        return "channel_deleted"
    if server is not None and server.left_at is not None:
        return "guild_left"
    if server is not None and not server.enabled:
        return "server_disabled"
    rows = _with_category(channel, rows)
    return "" if policies.resolve(server, rows, ids=nearest).capture.value else "capture_disabled"
