"""How long things are kept: after the bot or a member has left a server, and at all. Purged once a day, by the worker.

Each server has two settings: the days that what was said there is kept once the bot, or whoever said it, has left (30 by default),
and an age beyond which messages go in any case (none by default).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from memory import capture, erasure, outbox, removal
from memory.capture import touched
from memory.errors import InvalidInput, NotFound
from memory.models import (
    DailyCount,
    ErasureRequest,
    Guild,
    GuildMember,
    InstallationState,
    Message,
    OutboxEntry,
    Scan,
)
from memory.pacing import Pace

logger = logging.getLogger(__name__)

PURGE = "retention"
STATE = "retention"
EVERY = timedelta(days=1)
TURN_SECONDS = 15.0
LONGEST_DAYS = 36_500
SCANS_KEPT = timedelta(days=90)


@dataclass(frozen=True, slots=True)
class Retention:
    """The settings of a server, and what they are about to purge."""

    guild_id: int
    """Discord's id."""
    guild: str
    keep_after_leaving_days: int
    max_age_days: int | None
    left_at: datetime | None
    purged_at: datetime | None
    """When what the bot kept of a server it left goes; None while it is there."""
    messages: int
    leaving_members: int
    """Members who left the server and whose messages are still kept."""


def overview() -> list[Retention]:
    """Every server with its settings, those that the bot has left first."""
    left = GuildMember.objects.filter(left_at__isnull=False, message_count__gt=0)
    rows = Guild.objects.filter(kind=Guild.Kind.GUILD).order_by(
        F("left_at").desc(nulls_last=True), "name", "ordinal"
    )
    return [
        Retention(
            guild_id=row.discord_id,
            guild=str(row),
            keep_after_leaving_days=row.keep_after_leaving_days,
            max_age_days=row.max_age_days,
            left_at=row.left_at,
            purged_at=row.left_at + timedelta(days=row.keep_after_leaving_days) if row.left_at else None,
            messages=row.message_count,
            leaving_members=left.filter(guild=row).count(),
        )
        for row in rows
    ]


def change(guild_id: int, *, keep_after_leaving_days: int, max_age_days: int | None) -> Guild:
    """Sets how long a server's messages are kept, in days. Raises ``NotFound`` and ``InvalidInput``."""
    for days, least in ((keep_after_leaving_days, 0), (max_age_days, 1)):
        if days is not None and not least <= days <= LONGEST_DAYS:
            raise InvalidInput(f"Give a number of days from {least} to {LONGEST_DAYS:,}.")
    row = Guild.objects.filter(discord_id=guild_id).first()
    if row is None:
        raise NotFound("There is no such server.")
    row.keep_after_leaving_days, row.max_age_days = keep_after_leaving_days, max_age_days
    row.save(update_fields=["keep_after_leaving_days", "max_age_days"])
    return row


def would_purge(guild_id: int, *, keep_after_leaving_days: int, max_age_days: int | None) -> int:
    """How many messages would be over their time with these settings, and go with the next purge."""
    row = Guild.objects.filter(discord_id=guild_id).first()
    if row is None:
        return 0
    if row.left_at is not None and not row.is_sample and _is_over(row.left_at, keep_after_leaving_days):
        return Message.objects.filter(guild=row).count()
    gone = timezone.now() - timedelta(days=keep_after_leaving_days)
    left = GuildMember.objects.filter(guild=row, left_at__lte=gone).values("member_id")
    over = Q(member_id__in=left)
    if max_age_days is not None:
        over |= Q(sent_at__lt=timezone.now() - timedelta(days=max_age_days))
    return Message.objects.filter(over, guild=row).count()


def members_of(guild_id: int) -> dict[int, bool]:
    """The members that are known on a server, and whether they have left it as far as is known."""
    rows = GuildMember.objects.filter(guild__discord_id=guild_id).values_list("member_id", "left_at")
    return {member: left_at is not None for member, left_at in rows}


def note_left(guild_id: int, user_ids: Collection[int]) -> int:
    """Members who are on a server no more; what they said there is kept for the time that is set. Returns how many."""
    rows = GuildMember.objects.filter(guild__discord_id=guild_id, member_id__in=user_ids, left_at=None)
    return rows.update(left_at=timezone.now())


def note_back(guild_id: int, user_ids: Collection[int]) -> int:
    """Members who are on a server again."""
    rows = GuildMember.objects.filter(
        guild__discord_id=guild_id, member_id__in=user_ids, left_at__isnull=False
    )
    return rows.update(left_at=None)


def note_if_due() -> None:
    """Queues the purge where a day has passed since the last one."""
    last = InstallationState.objects.filter(name=STATE).values_list("at", flat=True).first()
    if last is None or timezone.now() - last >= EVERY:
        InstallationState.objects.update_or_create(name=STATE, defaults={"value": {}})
        outbox.enqueue(PURGE, [0])


def purge_entries(entries: Sequence[OutboxEntry]) -> None:
    """Handler of ``retention``."""
    if purge(seconds=TURN_SECONDS):
        outbox.finish(entries)
    else:
        outbox.hold(entries, 0)


def purge(*, seconds: float | None = None) -> bool:
    """Removes everything whose time is over; False if ``seconds`` were not enough. Goes on where it stopped."""
    deadline = time.monotonic() + seconds if seconds is not None else float("inf")
    for guild in _left_guilds():
        _erase_members_of_only(guild)
        capture.purge_guild(guild.discord_id)
        if time.monotonic() >= deadline:
            return False
    for messages in (_of_left_members(), *_too_old()):
        if not _remove(messages, deadline):
            return False
    _forget_names()
    touched.tidy()
    Scan.objects.filter(finished_at__lt=timezone.now() - SCANS_KEPT).delete()
    return True


def _left_guilds() -> list[Guild]:
    """Servers that the bot left long enough ago, of which anything is left."""
    people = GuildMember.objects.filter(guild=OuterRef("pk"))
    days = DailyCount.objects.filter(guild=OuterRef("pk"))
    kept = Q(message_count__gt=0) | Exists(people) | Exists(days)
    rows = Guild.objects.exclude(left_at=None).filter(kept, is_sample=False)
    return [row for row in rows if row.left_at and _is_over(row.left_at, row.keep_after_leaving_days)]


def _is_over(moment: datetime, days: int) -> bool:
    return timezone.now() - moment >= timedelta(days=days)


def _over_members() -> list[GuildMember]:
    rows = GuildMember.objects.filter(left_at__isnull=False).select_related("guild")
    return [row for row in rows if row.left_at and _is_over(row.left_at, row.guild.keep_after_leaving_days)]


def _of_left_members() -> QuerySet[Message]:
    wanted = Q(pk__in=[])
    for row in _over_members():
        wanted |= Q(guild_id=row.guild_id, member_id=row.member_id)
    return Message.objects.filter(wanted)


def _too_old() -> list[QuerySet[Message]]:
    now = timezone.now()
    return [
        Message.objects.filter(guild=row, sent_at__lt=now - timedelta(days=row.max_age_days or 0))
        for row in Guild.objects.exclude(max_age_days=None)
    ]


def _remove(messages: QuerySet[Message], deadline: float) -> bool:
    pace = Pace()
    while True:
        with pace.transaction() as size:
            removed = removal.remove(list(messages.order_by().values_list("key", flat=True)[:size]))
        if not removed:
            return True
        if time.monotonic() >= deadline:
            return False


def _forget_names() -> None:
    """How a member was called on a server that they left; their last trace there."""
    for row in _over_members():
        with transaction.atomic():
            still = GuildMember.objects.filter(pk=row.pk, left_at=row.left_at)
            if (
                still.exists()
                and not Message.objects.filter(guild=row.guild_id, member=row.member_id).exists()
            ):
                DailyCount.objects.filter(guild=row.guild_id, member=row.member_id).delete()
                still.delete()
                _note_gone(row.member_id)


def _note_gone(user_id: int) -> None:
    """A member who shares no server with the bot any more can no longer ask to be forgotten; so that is done for them."""
    elsewhere = GuildMember.objects.filter(member_id=user_id, guild__kind=Guild.Kind.GUILD)
    if not elsewhere.exists():
        erasure.request(user_id=user_id, origin=ErasureRequest.Origin.RETENTION)
        logger.info("a member who left all servers is being erased")


def _erase_members_of_only(guild: Guild) -> None:
    """The same for members of a server that the bot left, where it was the only one; before their names there are purged."""
    elsewhere = GuildMember.objects.filter(member=OuterRef("member"), guild__kind=Guild.Kind.GUILD)
    rows = GuildMember.objects.filter(guild=guild, member__withdrawn_at=None)
    for user_id in rows.filter(~Exists(elsewhere.exclude(guild=guild))).values_list("member_id", flat=True):
        erasure.request(user_id=user_id, origin=ErasureRequest.Origin.RETENTION)
