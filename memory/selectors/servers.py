"""Servers with their settings, and the channels of one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, F, OuterRef, Q, Subquery, Sum

from memory.conf import get_config
from memory.models import Channel, Document, Guild, GuildMember, Message

MOST_CHANNELS = 500


@dataclass(frozen=True, slots=True)
class ServerRow:
    guild: Guild
    members: int
    """People who have opted in and were seen there."""
    left_members: int
    """Of those, the ones who have left the server and whose messages are still kept."""
    documents: int
    """That answer there."""
    last_message_at: datetime | None
    purged_at: datetime | None
    """When what is kept of a server that the bot has left goes; None while it is there."""


@dataclass(frozen=True, slots=True)
class ChannelRow:
    channel: Channel
    threads: int
    thread_messages: int
    closed: bool
    """By ``channelsDisallowed``; no switch here opens it."""
    readers: int | None
    """How many people can read it, as far as is known."""


def servers(*, guild_id: int | None = None) -> list[ServerRow]:
    """Those that the bot is on by name, then those that it has left, the latest first. Private conversations are none."""
    newest = Message.objects.filter(guild=OuterRef("pk")).order_by("-sent_at", "-key").values("sent_at")[:1]
    rows = Guild.objects.filter(kind=Guild.Kind.GUILD).annotate(last_message_at=Subquery(newest))
    if guild_id is not None:
        rows = rows.filter(discord_id=guild_id)
    here = Q(member__withdrawn_at=None)
    members = GuildMember.objects.filter(here).values("guild").order_by()
    counted = {one["guild"]: one for one in members.annotate(all=Count("pk"), left=Count("left_at"))}
    everywhere = Document.objects.filter(enabled=True, everywhere=True).count()
    scoped = Document.objects.filter(enabled=True, everywhere=False).values("guilds").order_by()
    documents = dict(scoped.annotate(all=Count("pk")).values_list("guilds", "all"))
    return [
        _row(row, counted.get(row.pk, {}), everywhere + documents.get(row.pk, 0))
        for row in rows.order_by(F("left_at").desc(nulls_first=True), "name", "ordinal")
    ]


def server(guild_id: int) -> ServerRow | None:
    return next(iter(servers(guild_id=guild_id)), None)


def private_conversations() -> int:
    return Guild.objects.filter(kind=Guild.Kind.DM).count()


def _row(guild: Any, counted: dict[str, int], documents: int) -> ServerRow:
    purged_at = guild.left_at + timedelta(days=guild.keep_after_leaving_days) if guild.left_at else None
    return ServerRow(
        guild,
        members=counted.get("all", 0),
        left_members=counted.get("left", 0),
        documents=documents,
        last_message_at=guild.last_message_at,
        purged_at=None if guild.is_sample else purged_at,
    )


def server_channels(guild_id: int) -> list[ChannelRow]:
    """Channels by name, ``MOST_CHANNELS`` at most; a thread is counted with its channel, whose switches it has."""
    rows = Channel.objects.filter(guild__discord_id=guild_id)
    threads = rows.exclude(parent=None).values("parent").order_by()
    counted = {one["parent"]: one for one in threads.annotate(all=Count("pk"), said=Sum("message_count"))}
    closed = get_config().discord.channels_disallowed
    tops = rows.filter(parent=None).select_related("audience")
    order = (F("deleted_at").desc(nulls_first=True), "name", "discord_id")
    return [
        ChannelRow(
            row,
            threads=counted.get(row.pk, {}).get("all", 0),
            thread_messages=counted.get(row.pk, {}).get("said", 0),
            closed=row.discord_id in closed,
            readers=len(row.audience.readers) // 8 if row.audience is not None else None,
        )
        for row in tops.order_by(*order)[:MOST_CHANNELS]
    ]
