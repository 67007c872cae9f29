"""Servers with their settings, and the channels of one."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, F, OuterRef, Q, Subquery, Sum

from memory import policies
from memory.models import Channel, Document, Guild, GuildMember, MemoryBlock, Message, Reply, Scope
from memory.policies import Policy

CHANNELS_SHOWN = 40
SERVERS_SHOWN = 40
"""On one page: what fits into a page that is small."""


@dataclass(frozen=True, slots=True)
class ServerRow:
    guild: Guild
    members: int
    """People who have opted in and were seen there."""
    left_members: int
    """Of those, the ones who have left the server and whose messages are still kept."""
    documents: int
    """That answer there."""
    last_event_at: datetime | None
    """The newest message that is stored, or reply that was given."""
    purged_at: datetime | None
    """When what is kept of a server that the bot has left goes; None while it is there."""


@dataclass(frozen=True, slots=True)
class ChannelRow:
    channel: Channel
    policy: Policy
    has_persona: bool
    """Whether it has one in place of its server's."""
    threads: int
    thread_messages: int
    readers: int | None
    """How many people can read it, as far as is known."""


def servers(
    *,
    guild_id: int | None = None,
    left: bool | None = None,
    text: str = "",
    among: Collection[int] | None = None,
    start: int = 0,
    limit: int | None = None,
) -> list[ServerRow]:
    """Those that the bot is on by name, then those that it has left, the latest first. Private conversations are none.

    ``text`` is part of the name, or an id; ``among`` are Discord's ids of those that may be shown.
    """
    newest = Message.objects.filter(guild=OuterRef("pk")).order_by("-sent_at", "-key").values("sent_at")[:1]
    replied = (
        Reply.objects.filter(guild=OuterRef("pk")).order_by("-created_at", "-id").values("created_at")[:1]
    )
    rows = Guild.objects.filter(kind=Guild.Kind.GUILD).annotate(
        last_message_at=Subquery(newest), last_reply_at=Subquery(replied)
    )
    if guild_id is not None:
        rows = rows.filter(discord_id=guild_id)
    if left is not None:
        rows = rows.filter(left_at__isnull=not left)
    if text:
        rows = rows.filter(_named(text))
    if among is not None:
        rows = rows.filter(discord_id__in=list(among))
    rows = rows.order_by(F("left_at").desc(nulls_first=True), "name", "ordinal")
    found = list(rows[start : None if limit is None else start + limit])
    here = Q(member__withdrawn_at=None, guild__in=[row.pk for row in found])
    members = GuildMember.objects.filter(here).values("guild").order_by()
    counted = {one["guild"]: one for one in members.annotate(all=Count("pk"), left=Count("left_at"))}
    everywhere = Document.objects.filter(enabled=True, everywhere=True).count()
    scoped = Document.objects.filter(enabled=True, everywhere=False).values("guilds").order_by()
    documents = dict(scoped.annotate(all=Count("pk")).values_list("guilds", "all"))
    return [_row(row, counted.get(row.pk, {}), everywhere + documents.get(row.pk, 0)) for row in found]


def _named(text: str) -> Q:
    named = Q(name__icontains=text.removeprefix("#"))
    return (
        named | Q(discord_id=int(text)) if text.isascii() and text.isdecimal() and len(text) < 19 else named
    )


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
        last_event_at=max(filter(None, (guild.last_message_at, guild.last_reply_at)), default=None),
        purged_at=None if guild.is_sample else purged_at,
    )


def server_channels(
    guild_id: int, *, text: str = "", channel_id: int | None = None, start: int = 0
) -> list[ChannelRow]:
    """Channels by name, at most ``CHANNELS_SHOWN``; a thread is counted with its channel, whose policies it has.

    ``text`` is part of the name, or an id.
    """
    guild = Guild.objects.filter(discord_id=guild_id).first()
    rows = Channel.objects.filter(guild=guild)
    tops = rows.filter(parent=None).select_related("audience", "category")
    if channel_id is not None:
        tops = tops.filter(discord_id=channel_id)
    if text:
        tops = tops.filter(_named(text))
    order = (F("deleted_at").desc(nulls_first=True), "name", "discord_id")
    found = list(tops.order_by(*order)[start : start + CHANNELS_SHOWN])
    threads = rows.filter(parent__in=[row.pk for row in found]).values("parent").order_by()
    counted = {one["parent"]: one for one in threads.annotate(all=Count("pk"), said=Sum("message_count"))}
    personas = MemoryBlock.objects.filter(
        scope=Scope.SESSION,
        label=MemoryBlock.Label.PERSONA,
        scope_key__in=[row.discord_id for row in found],
    )
    with_persona = set(personas.exclude(value="").values_list("scope_key", flat=True))
    return [
        ChannelRow(
            row,
            policy=policies.resolve(guild, policies.lineage(row)),
            has_persona=row.discord_id in with_persona,
            threads=counted.get(row.pk, {}).get("all", 0),
            thread_messages=counted.get(row.pk, {}).get("said", 0),
            readers=len(row.audience.readers) // 8 if row.audience is not None else None,
        )
        for row in found
    ]


def count_channels(guild_id: int, *, text: str = "") -> tuple[int, int]:
    """How many channels a search finds, and how many of the server there are that can be changed."""
    tops = Channel.objects.filter(guild__discord_id=guild_id, parent=None)
    open_ones = tops.filter(deleted_at=None).exclude(kind=Channel.CATEGORY)
    return tops.filter(_named(text) if text else Q()).count(), open_ones.count()


def server_channel(guild_id: int, channel_id: int) -> ChannelRow | None:
    return next(iter(server_channels(guild_id, channel_id=channel_id)), None)


def channels_of(category_id: int) -> list[Channel]:
    """Channels that stand in a category, by name."""
    return list(
        Channel.objects.filter(category_id=category_id, deleted_at=None).order_by("name", "discord_id")
    )


def threads_of(channel_id: int, *, limit: int = 50) -> list[Channel]:
    """Threads of a channel, those with the most memories first."""
    rows = Channel.objects.filter(parent_id=channel_id).order_by("-message_count", "name", "discord_id")
    return list(rows[:limit])


def still_stored(guild_id: int, channel_ids: Collection[int], *, limit: int = 20) -> list[Channel]:
    """Of these channels with their threads, and those of these categories, the ones that memories are stored from although nothing new is, the most first."""
    rows = Channel.objects.filter(guild__discord_id=guild_id, message_count__gt=0).select_related(
        "guild", "parent"
    )
    ids = list(channel_ids)
    in_categories = Q(category_id__in=ids) | Q(parent__category_id__in=ids)
    rows = rows.filter(Q(discord_id__in=ids) | Q(parent_id__in=ids) | in_categories)
    closed = []
    for row in rows.order_by("-message_count", "discord_id")[:200]:
        if not policies.resolve(row.guild, policies.lineage(row)).capture.value:
            closed.append(row)
    return closed[:limit]
