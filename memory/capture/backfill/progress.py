"""How far reading has got: for the dashboard, for members, and for telling them when it is done."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, Q
from django.utils import timezone

from memory.capture.backfill.cohorts import UNFINISHED
from memory.capture.backfill.types import time_of
from memory.models import Scan, ScanChannel, ScanMember

TOLD_WITHIN = timedelta(days=2)

State = ScanChannel.State


@dataclass(frozen=True, slots=True)
class ScanProgress:
    """One scan as it is now. ``stage`` is in words; rates are messages a second; times are seconds."""

    id: int
    kind: str
    guild: str
    guild_id: int | None
    state: str
    stage: str
    members: int
    channels_done: int
    channels: int
    unreadable: int
    scanned: int
    stored: int
    skipped: Mapping[str, int]
    pages: int
    share: float
    """How much of the time that the channels span has been read, from 0 to 1."""
    rate: float
    seconds_left: float | None
    """None where that cannot be told yet."""
    opened_at: datetime
    finished_at: datetime | None
    error_code: str


@dataclass(frozen=True, slots=True)
class MemberProgress:
    """What a scan has found for one member."""

    scan: ScanProgress
    stored: int
    told: bool


def progress(*, scan_id: int | None = None, limit: int = 20, ended: bool = True) -> list[ScanProgress]:
    """Unfinished scans first, then (unless ``ended`` is false) the latest of the others."""
    scans = Scan.objects.select_related("guild")
    if scan_id is not None:
        return [_progress(scan) for scan in scans.filter(pk=scan_id)]
    unfinished = list(scans.filter(state__in=UNFINISHED).order_by("-id")[:limit])
    others = scans.exclude(state__in=UNFINISHED).order_by("-id") if ended else scans.none()
    others = others[: max(limit - len(unfinished), 0)]
    return [_progress(scan) for scan in [*unfinished, *others]]


def channels(scan_id: int) -> list[ScanChannel]:
    """The channels of a scan with their state, those that could not be read first."""
    rows = ScanChannel.objects.filter(scan_id=scan_id)
    return sorted(rows, key=lambda row: (row.state != State.UNREADABLE, row.state != State.WAITING, row.name))


def member_progress(user_id: int) -> list[MemberProgress]:
    """The latest scan of each server that a member waits or waited for."""
    rows = (
        ScanMember.objects.filter(member_id=user_id)
        .select_related("scan__guild")
        .order_by("scan__guild_id", "-id")
    )
    latest: dict[int | None, ScanMember] = {}
    for row in rows:
        latest.setdefault(row.scan.guild_id, row)
    return [
        MemberProgress(_progress(row.scan), row.stored, row.told_at is not None) for row in latest.values()
    ]


def untold(*, exclude: Iterable[int] = ()) -> dict[int, list[MemberProgress]]:
    """Members whose scans have all ended and who have not been told, with what was found."""
    since = timezone.now() - TOLD_WITHIN
    ended = ScanMember.objects.filter(
        told_at=None, scan__state__in=[Scan.State.DONE, Scan.State.FAILED], scan__finished_at__gt=since
    ).exclude(member_id__in=list(exclude))
    users = set(ended.values_list("member_id", flat=True))
    busy = ScanMember.objects.filter(member_id__in=users, scan__state__in=UNFINISHED)
    users -= set(busy.values_list("member_id", flat=True))
    return {user: [one for one in member_progress(user) if not one.told] for user in users}


def told(user_id: int) -> None:
    """Notes that a member knows the result of all their scans that have ended."""
    ended = ScanMember.objects.filter(member_id=user_id, told_at=None).exclude(scan__state__in=UNFINISHED)
    ended.update(told_at=timezone.now())


def _progress(scan: Scan) -> ScanProgress:
    rows = ScanChannel.objects.filter(scan=scan)
    counts = rows.aggregate(
        all=Count("id"),
        waiting=Count("id", filter=Q(state=State.WAITING)),
        unreadable=Count("id", filter=Q(state=State.UNREADABLE)),
    )
    readable = counts["all"] - counts["unreadable"]
    share = _share(scan, rows, readable)
    rate = scan.scanned / scan.active_seconds if scan.active_seconds > 0 else 0.0
    running = scan.state == Scan.State.RUNNING
    left = scan.active_seconds * (1 - share) / share if running and share > 0.01 else None
    return ScanProgress(
        id=scan.pk,
        kind=scan.kind,
        guild=str(scan.guild) if scan.guild else "",
        guild_id=scan.guild.discord_id if scan.guild else None,
        state=scan.state,
        stage=_stage(scan, readable - counts["waiting"], readable),
        members=ScanMember.objects.filter(scan=scan).count(),
        channels_done=readable - counts["waiting"],
        channels=readable,
        unreadable=counts["unreadable"],
        scanned=scan.scanned,
        stored=scan.stored,
        skipped=dict(scan.skipped),
        pages=scan.pages,
        share=share,
        rate=rate,
        seconds_left=left,
        opened_at=scan.opened_at,
        finished_at=scan.finished_at,
        error_code=scan.error_code,
    )


def _stage(scan: Scan, done: int, channels: int) -> str:
    if scan.state == Scan.State.RUNNING:
        waits = " (waiting for Discord)" if scan.error_code else ""
        return f"reading channel {min(done + 1, channels)} of {channels}{waits}"
    return str(Scan.State(scan.state).label)


def _share(scan: Scan, rows: Iterable[ScanChannel], readable: int) -> float:
    """A channel's history reaches from its newest message back to when it was made, which its id tells."""
    if scan.state == Scan.State.DONE:
        return 1.0
    total = 0.0
    for row in rows:
        if row.state in {State.DONE, State.GONE}:
            total += 1
        elif (
            row.state == State.WAITING and row.newest_at and row.oldest_at and scan.kind == Scan.Kind.BACKFILL
        ):
            total += _read_part(row)
    return min(total / readable, 1.0) if readable else 0.0


def _read_part(row: ScanChannel) -> float:
    if row.newest_at is None or row.oldest_at is None:
        return 0.0
    span = (row.newest_at - time_of(row.channel_id)).total_seconds()
    return min((row.newest_at - row.oldest_at).total_seconds() / span, 0.99) if span > 0 else 0.5
