"""Who waits for which scan: members who opt in within a minute share one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from memory import consent
from memory.capture.backfill.queue import nudge
from memory.capture.places import upsert_channel, upsert_guild
from memory.errors import Conflict, NotFound
from memory.models import Guild, Member, Scan, ScanChannel, ScanMember
from memory.models.locks import SCANS, hold, locked
from memory.types import ChannelInfo, GuildInfo

COHORT = timedelta(minutes=1)
AGAIN_AFTER = timedelta(days=1)
"""A history that was read to its end is not read again for the same member before."""

State = Scan.State
UNFINISHED = (State.GATHERING, State.LISTING, State.RUNNING, State.PAUSED)


def request(*, user_id: int, guilds: Sequence[GuildInfo], cohort: timedelta = COHORT) -> list[Scan]:
    """The scans, by server, that a member waits for from now on; their own open ones go on instead of beginning anew.

    A server whose history was read for them within a day is left out. Empty for somebody who has not opted in.
    """
    found = consent.find(user_id)
    if found is None:
        return []
    with transaction.atomic():
        member = consent.require(found)
        hold(SCANS)
        scans = [one for guild in guilds if (one := _join(member, upsert_guild(guild), cohort)) is not None]
        if scans:
            nudge()
    return scans


def _join(member: Member, guild: Guild, cohort: timedelta) -> Scan | None:
    own = Scan.objects.filter(guild=guild, members__member=member, members__epoch=member.epoch)
    mine = own.filter(state__in=UNFINISHED).first()
    if mine is not None:
        if mine.state == State.PAUSED:
            _go_on(mine)
        return mine
    recently = timezone.now() - AGAIN_AFTER
    if own.filter(state=State.DONE, finished_at__gt=recently).exists():
        return None
    now = timezone.now()
    gathering = Scan.objects.filter(guild=guild, kind=Scan.Kind.BACKFILL, state=State.GATHERING)
    scan = gathering.order_by("id").first() or Scan.objects.create(
        guild=guild, kind=Scan.Kind.BACKFILL, begins_at=now + cohort, due_at=now
    )
    ScanMember.objects.update_or_create(
        scan=scan, member=member, defaults={"epoch": member.epoch, "told_at": None}
    )
    return scan


def begin_due() -> int:
    """Begins the scans whose minute is over, one a server at a time; returns how many."""
    count = 0
    with transaction.atomic():
        hold(SCANS)
        for scan in (
            Scan.objects.filter(state=State.GATHERING, begins_at__lte=timezone.now())
            .select_related("guild")
            .order_by("id")
        ):
            busy = Scan.objects.filter(guild=scan.guild_id, state__in=[State.LISTING, State.RUNNING])
            if scan.guild_id is not None and busy.exists():
                # Until then more members may join it.
                _change(scan, State.GATHERING, begins_at=timezone.now() + timedelta(seconds=5))
                continue
            if scan.guild is not None and scan.guild.kind == Guild.Kind.DM:
                _begin_private(scan, scan.guild)
            else:
                _change(scan, State.LISTING, due_at=timezone.now())
            count += 1
    return count


def _begin_private(scan: Scan, guild: Guild) -> None:
    """A private conversation is one channel, and there is nothing to list."""
    info = ChannelInfo(id=guild.discord_id, kind="dm")
    upsert_channel(guild, info)
    ScanChannel.objects.get_or_create(
        scan=scan, channel_id=info.id, defaults={"guild": guild, "due_at": timezone.now()}
    )
    _change(scan, State.RUNNING)


def pause(scan_id: int) -> Scan:
    """Holds a scan where it is. Raises ``NotFound``, and ``Conflict`` if there is nothing left to hold."""
    with transaction.atomic():
        scan = _open(scan_id)
        if scan.state != State.PAUSED:
            _change(scan, State.PAUSED, paused_from=scan.state)
    return scan


def resume(scan_id: int) -> Scan:
    """Goes on with a scan that was paused. Raises ``NotFound`` and ``Conflict``."""
    with transaction.atomic():
        scan = _open(scan_id)
        if scan.state == State.PAUSED:
            _go_on(scan)
            nudge()
    return scan


def cancel(scan_id: int) -> Scan:
    """Ends a scan; what it stored stays. Raises ``NotFound`` and ``Conflict``."""
    with transaction.atomic():
        scan = _open(scan_id)
        _change(scan, State.CANCELLED, finished_at=timezone.now())
    return scan


def _go_on(scan: Scan) -> None:
    _change(scan, scan.paused_from or State.LISTING, paused_from="", due_at=timezone.now())
    ScanChannel.objects.filter(scan=scan, state=ScanChannel.State.WAITING).update(due_at=timezone.now())


def _open(scan_id: int) -> Scan:
    scan = locked(Scan.objects.filter(pk=scan_id)).first()
    if scan is None:
        raise NotFound("There is no such scan.")
    if scan.state not in UNFINISHED:
        raise Conflict("This scan has ended already.")
    return scan


def _change(scan: Scan, state: str, **values: object) -> None:
    for name, value in {"state": state, **values}.items():
        setattr(scan, name, value)
    scan.save(update_fields=["state", *values])


def finish_if_read(scan_id: int) -> None:
    """Ends a scan of which every channel was read, or could not be. Inside the transaction that closed the last one."""
    running: QuerySet[Scan] = Scan.objects.filter(pk=scan_id, state=State.RUNNING)
    locked(running).first()  # two that close the last two channels at once
    open_channels = ScanChannel.objects.filter(scan_id=scan_id, state=ScanChannel.State.WAITING)
    if running.exists() and not open_channels.exists():
        running.update(state=State.DONE, finished_at=timezone.now())
