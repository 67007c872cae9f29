"""Which channels a scan reads, from what a server lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from memory.capture import places
from memory.capture.backfill.catch_up import raise_marks
from memory.capture.backfill.cohorts import finish_if_read
from memory.capture.backfill.types import ListedChannel, id_at, time_of
from memory.capture.forgetting import forget_channel
from memory.models import Channel, ChannelMark, Guild, Scan, ScanChannel
from memory.models.locks import locked
from memory.outbox import BACK_OFF_SECONDS
from memory.types import GuildInfo

BATCH = 25
THREADS = frozenset({"public_thread", "private_thread"})

State = ScanChannel.State


@dataclass(frozen=True, slots=True)
class ListingWork:
    """A server whose channels are to be listed for a scan."""

    scan_id: int
    guild_id: int
    """Discord's id."""
    catch_up: bool
    archived_since: datetime | None
    """Threads that were archived before this moment are not needed; None for all."""


def due_listings() -> list[ListingWork]:
    """What is to be listed now."""
    found = []
    scans = Scan.objects.filter(state=Scan.State.LISTING, due_at__lte=timezone.now()).select_related("guild")
    for scan in scans.order_by("-kind", "id"):  # catch-ups first
        if scan.guild is not None:
            found.append(ListingWork(scan.pk, scan.guild.discord_id, False, None))
            continue
        for guild_id, known in scan.since.items():
            if not known["listed"]:
                since = time_of(known["after"]) if known["after"] else timezone.now()
                found.append(ListingWork(scan.pk, int(guild_id), True, since))
        if not any(not known["listed"] for known in scan.since.values()):
            _begin_reading(scan.pk)
    return found


def listing_failed(work: ListingWork, code: str, *, final: bool) -> None:
    """The channels could not be listed: for good (the bot is not on that server any more), or for now."""
    with transaction.atomic():
        scan = locked(Scan.objects.filter(pk=work.scan_id)).get()
        if scan.state != Scan.State.LISTING:
            return
        if not final:
            seconds = BACK_OFF_SECONDS[min(scan.failures, len(BACK_OFF_SECONDS) - 1)]
            Scan.objects.filter(pk=scan.pk).update(
                failures=scan.failures + 1,
                error_code=code,
                due_at=timezone.now() + timedelta(seconds=seconds),
            )
        elif work.catch_up:
            rows = ScanChannel.objects.filter(scan=scan, guild__discord_id=work.guild_id, state=State.WAITING)
            rows.update(state=State.UNREADABLE, error_code=code)
            _note_listed(scan, work.guild_id)
        else:
            scan.state, scan.error_code, scan.finished_at = Scan.State.FAILED, code, timezone.now()
            scan.save(update_fields=["state", "error_code", "finished_at"])


def listed(work: ListingWork, guild: GuildInfo, channels: Sequence[ListedChannel]) -> None:
    """Takes over the channels of a server. Called again after a kill it does no harm."""
    row = places.remember_guild(guild)
    writable = [one for one in channels if one.info.kind != "forum"]
    for start in range(0, len(channels), BATCH):
        with transaction.atomic():
            for one in channels[start : start + BATCH]:
                places.upsert_channel(row, one.info)
    if work.catch_up:
        _plan_catch_up(work, row, guild, writable, {one.info.id for one in channels})
    else:
        _plan_backfill(work, row, guild, writable)


def _plan_backfill(
    work: ListingWork, row: Guild, guild: GuildInfo, channels: Sequence[ListedChannel]
) -> None:
    now = timezone.now()
    planned = []
    for one in channels:
        why = one.why or places.why_closed(guild, one.info)
        planned.append(
            ScanChannel(
                scan_id=work.scan_id,
                guild=row,
                channel_id=one.info.id,
                name=one.info.name[:200],
                state=State.UNREADABLE if why else State.WAITING,
                error_code=why,
                due_at=now,
            )
        )
    with transaction.atomic():
        ScanChannel.objects.bulk_create(planned, ignore_conflicts=True, batch_size=200)
        _begin_reading(work.scan_id)


def _begin_reading(scan_id: int) -> None:
    scan = Scan.objects.filter(pk=scan_id, state=Scan.State.LISTING)
    if scan.update(state=Scan.State.RUNNING, error_code="", failures=0):
        finish_if_read(scan_id)


def _plan_catch_up(
    work: ListingWork, row: Guild, guild: GuildInfo, channels: Sequence[ListedChannel], all_ids: set[int]
) -> None:
    """Leaves what there is something to read in: new messages, or stored ones that may have changed."""
    scan = Scan.objects.get(pk=work.scan_id)
    since: int | None = scan.since.get(str(guild.id), {}).get("after")
    marked = {one.channel_id: one for one in ScanChannel.objects.filter(scan=scan, guild=row)}
    holding = set(Channel.objects.filter(guild=row, message_count__gt=0).values_list("discord_id", flat=True))
    now = timezone.now()
    marks: dict[int, int] = {}
    changed: list[ScanChannel] = []
    for one in channels:
        mark = marked.get(one.info.id)
        after = mark.cursor if mark is not None and mark.cursor is not None else since
        if mark is not None and mark.state != State.WAITING:
            continue
        newest = one.last_message_id
        if after is None:  # never seen before, on a server that is new: its past is a matter of backfills
            marks[one.info.id] = newest or id_at(now)
            continue
        why = one.why or places.why_closed(guild, one.info)
        holds = one.info.id in holding
        if not why and not holds and newest is not None and newest <= after:
            marks[one.info.id] = after
        plan = mark or ScanChannel(
            scan=scan, guild=row, channel_id=one.info.id, cursor=after, requested=1, due_at=now
        )
        plan.name = one.info.name[:200]
        plan.window_read = not holds
        plan.state, plan.error_code = (State.UNREADABLE, why) if why else (State.WAITING, "")
        if one.info.id in marks:
            plan.state = State.DONE
        if mark is not None or plan.state == State.WAITING:
            changed.append(plan)
    with transaction.atomic():
        for plan in changed:
            plan.save()
        raise_marks(row, marks)
        _settle_unlisted(scan, row, all_ids, holding)
        _note_listed(locked(Scan.objects.filter(pk=scan.pk)).get(), guild.id)
    for channel_id in _deleted_channels(row, all_ids):
        forget_channel(channel_id)


def _settle_unlisted(scan: Scan, row: Guild, listed_ids: set[int], holding: set[int]) -> None:
    """Threads that are not listed were archived long ago; they are looked at where something is stored from them."""
    rest = ScanChannel.objects.filter(scan=scan, guild=row, state=State.WAITING)
    for one in rest:
        if one.channel_id not in listed_ids and one.channel_id not in holding:
            one.state = State.DONE
            one.save(update_fields=["state"])


def _deleted_channels(row: Guild, listed_ids: set[int]) -> list[int]:
    """Channels that were deleted while nobody listened: a server lists all it has, but for archived threads."""
    if row.kind != Guild.Kind.GUILD:
        return []
    known = Channel.objects.filter(guild=row, deleted_at=None, parent=None).exclude(
        kind__in=[*THREADS, Channel.CATEGORY]
    )
    gone = [one for one in known.values_list("discord_id", flat=True) if one not in listed_ids]
    ChannelMark.objects.filter(channel_id__in=gone).delete()
    return gone


def _note_listed(scan: Scan, guild_id: int) -> None:
    scan.since = {**scan.since, str(guild_id): {**scan.since.get(str(guild_id), {}), "listed": True}}
    scan.save(update_fields=["since"])
    if all(known["listed"] for known in scan.since.values()):
        _begin_reading(scan.pk)
