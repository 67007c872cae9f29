"""What is deleted on Discord is deleted here: single messages, many at once, channels, threads, guilds.

The first transaction closes the place, so that nothing more is stored or recalled from there, and notes the work; a process that
is killed meanwhile leaves it to the worker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from memory import outbox, removal
from memory.capture import touched, underway
from memory.models import (
    Audience,
    Channel,
    DailyCount,
    Guild,
    GuildMember,
    Message,
    MessagePart,
    OutboxEntry,
    Reply,
    Scan,
)
from memory.pacing import Pace

FORGET_CHANNEL = "forget_channel"
FORGET_GUILD = "forget_guild"


def forget_messages(discord_ids: Iterable[int]) -> int:
    """Removes messages that were deleted on Discord, also those that are being stored at this moment; returns how many.

    An answer of the bot goes with any of its parts.
    """
    ids = list(dict.fromkeys(discord_ids))
    underway.note_deleted(ids)
    count = 0
    for start in range(0, len(ids), removal.BATCH):
        some = ids[start : start + removal.BATCH]
        with transaction.atomic():
            touched.note(some, deleted=True)
            gone = {
                *Message.objects.filter(discord_id__in=some).values_list("key", flat=True),
                *MessagePart.objects.filter(discord_id__in=some).values_list("message_id", flat=True),
            }
            count += removal.remove(sorted(gone))
    return count


def forget_channel(channel_id: int) -> int:
    """Removes what was said in a channel or thread that is gone, with its threads; returns how many messages."""
    with transaction.atomic():
        closed = _family(channel_id)
        if not closed.filter(discord_id=channel_id).exists():
            # Its first message may be on its way.
            underway.note_deleted([channel_id])
        closed.filter(deleted_at=None).update(deleted_at=timezone.now())
        removal.remove_core_memory([channel_id, *closed.values_list("discord_id", flat=True)])
        if not Message.objects.filter(channel__in=closed).exists():
            return 0
        outbox.enqueue(FORGET_CHANNEL, [channel_id])
    return _empty_channel(channel_id)


def forget_guild(guild_id: int) -> int:
    """Removes what was said in a guild that the bot has left or that is gone; returns how many messages."""
    with transaction.atomic():
        if not Guild.objects.filter(discord_id=guild_id).update(left_at=timezone.now()):
            underway.note_deleted([guild_id])
            return 0
        outbox.enqueue(FORGET_GUILD, [guild_id])
    return _empty_guild(guild_id)


def leave_guild(guild_id: int) -> bool:
    """The bot is on a server no more: nothing more is stored from there, and what is stored goes when the time to keep it is over."""
    with transaction.atomic():
        if not Guild.objects.filter(discord_id=guild_id).exists():
            # Its first message may be on its way.
            underway.note_deleted([guild_id])
            return False
        row = Guild.objects.filter(discord_id=guild_id, left_at=None, is_sample=False)
        left = row.update(left_at=timezone.now()) > 0
        if left:
            scans = Scan.objects.filter(guild__discord_id=guild_id, finished_at=None)
            scans.update(state=Scan.State.CANCELLED, finished_at=timezone.now(), error_code="guild_left")
    return left


def purge_guild(guild_id: int) -> int:
    """Removes what was said on a server that the bot left some time ago; returns how many messages."""
    outbox.enqueue(FORGET_GUILD, [guild_id])
    return _empty_guild(guild_id)


def continue_forgetting_channels(entries: Sequence[OutboxEntry]) -> None:
    """Handler of ``forget_channel``; the subject is Discord's id."""
    for entry in entries:
        _empty_channel(entry.subject)


def continue_forgetting_guilds(entries: Sequence[OutboxEntry]) -> None:
    """Handler of ``forget_guild``; the subject is Discord's id."""
    for entry in entries:
        _empty_guild(entry.subject)


def _family(channel_id: int) -> QuerySet[Channel]:
    return Channel.objects.filter(Q(discord_id=channel_id) | Q(parent_id=channel_id))


def _empty_channel(channel_id: int) -> int:
    closed = list(_family(channel_id).exclude(deleted_at=None).values_list("discord_id", flat=True))
    count = _remove_all(lambda: Message.objects.filter(channel_id__in=closed))
    _done(FORGET_CHANNEL, channel_id)
    return count


def _empty_guild(guild_id: int) -> int:
    guild = Guild.objects.filter(discord_id=guild_id).exclude(left_at=None).first()
    count = 0
    if guild is not None:  # else the bot is back
        count = _remove_all(lambda: Message.objects.filter(guild=guild))
        with transaction.atomic():
            channels = Channel.objects.filter(guild=guild).values_list("discord_id", flat=True)
            removal.remove_core_memory(list(channels))
        for rows in (Reply, GuildMember, DailyCount, Audience):
            _delete_all(rows.objects.filter(guild=guild))
    _done(FORGET_GUILD, guild_id)
    return count


def _done(kind: str, subject: int) -> None:
    OutboxEntry.objects.filter(kind=kind, subject=subject).delete()


def _remove_all(messages: Callable[[], QuerySet[Message]]) -> int:
    pace = Pace()
    count = 0
    while True:
        with pace.transaction() as size:
            removed = removal.remove(list(messages().values_list("key", flat=True)[:size]))
        if not removed:
            return count
        count += removed


def _delete_all(rows: QuerySet[Any]) -> None:
    pace = Pace()
    while True:
        with pace.transaction() as size:
            ids = list(rows.values_list("pk", flat=True)[:size])
            rows.model._default_manager.filter(pk__in=ids).delete()
        if not ids:
            return
