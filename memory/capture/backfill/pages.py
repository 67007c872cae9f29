"""Pages: which one is wanted next, and the one transaction in which what it holds and how far it got are written."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import timedelta

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from memory.capture import underway
from memory.capture.backfill.catch_up import raise_marks
from memory.capture.backfill.cohorts import finish_if_read
from memory.capture.backfill.rows import PageRows, Progress, skipped_by
from memory.capture.backfill.types import ChannelWork, Page
from memory.models import Channel, GuildMember, HeldReply, Member, Message, Scan, ScanChannel
from memory.models.locks import locked
from memory.types import ChannelInfo, GuildInfo, IncomingMessage

BACK_OFF_SECONDS = (1, 2, 5, 10, 30, 60, 120, 300)
READ = 0
"""Cursor of a backfilled channel whose history was read, while replies are still looked up."""

State = ScanChannel.State
READING = (Scan.State.RUNNING, Scan.State.LISTING)


def open_work(*, limit: int, exclude: Collection[int] = ()) -> list[ChannelWork]:
    """Channels whose next page may be asked for now, catch-ups first; ``exclude`` are those under way."""
    rows = ScanChannel.objects.filter(state=State.WAITING, due_at__lte=timezone.now()).exclude(pk__in=exclude)
    # A catch-up lists server by server and reads what is listed only when it is through.
    rows = rows.filter(scan__state=Scan.State.RUNNING).select_related("scan", "guild")
    found = list(rows.order_by("-scan__kind", "scan_id", "due_at", "id")[:limit])
    infos = _infos([row.channel_id for row in found])
    return [_work(row, infos) for row in found]


def _work(row: ScanChannel, infos: Mapping[int, ChannelInfo]) -> ChannelWork:
    kind = "dm" if row.guild.kind == row.guild.Kind.DM else "guild"
    catch_up = row.scan.kind == Scan.Kind.CATCH_UP
    return ChannelWork(
        id=row.pk,
        scan_id=row.scan_id,
        catch_up=catch_up,
        guild=GuildInfo(id=row.guild.discord_id, name=row.guild.name, kind=kind),  # type: ignore[arg-type]
        # Of a channel that nobody listed the most private kind is assumed.
        channel=infos.get(row.channel_id)
        or ChannelInfo(row.channel_id, row.name, kind="dm" if kind == "dm" else "private_thread"),
        cursor=row.cursor,
        window=catch_up and not row.window_read and row.cursor is not None,
        requested=row.requested,
        failures=row.failures,
        replies_only=not catch_up and row.cursor == READ,
    )


def _infos(channel_ids: Collection[int]) -> dict[int, ChannelInfo]:
    rows = Channel.objects.filter(discord_id__in=channel_ids).select_related("parent")
    return {row.discord_id: _info(row, _info(row.parent) if row.parent else None) for row in rows}


def _info(row: Channel, parent: ChannelInfo | None = None) -> ChannelInfo:
    return ChannelInfo(id=row.discord_id, name=row.name, kind=row.kind, topic=row.topic, parent=parent)


def wanted_people(work: ChannelWork) -> dict[int, str]:
    """Whose messages a channel is read for, with their name on that server. If nobody is left who waits, the scan ends."""
    people = Member.objects.filter(paused_at=None, withdrawn_at=None)
    if not work.catch_up:
        people = people.filter(scans__scan_id=work.scan_id, scans__epoch=F("epoch"))
    ids = list(people.values_list("user_id", flat=True))
    if not ids and not work.catch_up:
        waiting = Scan.objects.filter(pk=work.scan_id, state__in=READING)
        waiting.update(state=Scan.State.CANCELLED, finished_at=timezone.now(), error_code="nobody_waits")
    here = GuildMember.objects.filter(guild__discord_id=work.guild.id).exclude(display_name="")
    names = dict(here.values_list("member_id", "display_name"))
    return {one: names.get(one, "") for one in ids}


def commit_page(work: ChannelWork, page: Page, *, wakes: bool = True) -> ChannelWork | None:
    """Stores what a page holds and moves the cursor, in one transaction; returns what is to be read of the channel after it.

    None if the channel is not to be read any further: it is read, the scan was paused or ended, or somebody else read this page.
    A page that was fetched for a cursor that has moved since is dropped; one with a message that was edited while it was on its
    way is to be asked for again.
    """
    with underway.storing(page.seen), transaction.atomic():
        rows = ScanChannel.objects.filter(pk=work.id, state=State.WAITING, cursor=page.cursor)
        row = locked(rows.select_related("scan", "guild")).first()
        if row is None or row.scan.state not in READING:
            return None
        writer = PageRows(row, work, page, wakes)
        if writer.is_stale():
            return work
        found = writer.store()
        if work.catch_up:
            _move_forward(row, work, page)
        else:
            _move_back(row, page, found)
        _count(row, page, found)
        return _next(row, work)


def _next(row: ScanChannel, work: ChannelWork) -> ChannelWork | None:
    if row.state != State.WAITING:
        return None
    only = not work.catch_up and row.cursor == READ
    return replace(
        work, cursor=row.cursor, requested=row.requested, failures=0, window=False, replies_only=only
    )


def _move_back(row: ScanChannel, page: Page, found: Progress) -> None:
    if page.seen:
        row.cursor = page.seen[-1]
        if not row.pages:
            raise_marks(row.guild, {row.channel_id: page.seen[0]})
    if page.last or found.reached_limit:
        unknown = HeldReply.objects.filter(channel=row, trigger_seen=False).delete()[0]
        found.skipped["no_trigger"] += unknown
        if HeldReply.objects.filter(channel=row).exists():
            row.cursor = READ
        else:
            row.state = State.DONE


def _move_forward(row: ScanChannel, work: ChannelWork, page: Page) -> None:
    if page.seen:
        row.cursor = page.seen[0]
        raise_marks(row.guild, {row.channel_id: page.seen[0]})
    if page.last and row.requested == work.requested:
        row.state = State.DONE


def _count(row: ScanChannel, page: Page, found: Progress) -> None:
    row.pages += 1
    row.scanned += len(page.seen)
    row.stored += found.stored
    row.failures, row.error_code = 0, ""
    row.newest_at = row.newest_at or found.newest_at
    row.oldest_at = found.oldest_at or row.oldest_at
    row.save(
        update_fields=[
            "cursor", "state", "pages", "scanned", "stored", "failures", "error_code", "newest_at", "oldest_at"
        ]
    )  # fmt: skip
    scan = row.scan
    now = timezone.now()
    since = scan.last_page_at or page.fetched_at
    scan.active_seconds += min(max((now - since).total_seconds(), 0.0), 10.0)
    scan.last_page_at = now
    scan.pages += 1
    scan.scanned += len(page.seen)
    scan.stored += found.stored
    scan.skipped = skipped_by(scan.skipped, found.skipped)
    scan.error_code = ""
    scan.save(
        update_fields=[
            "active_seconds",
            "last_page_at",
            "pages",
            "scanned",
            "stored",
            "skipped",
            "error_code",
        ]
    )
    if row.state != State.WAITING:
        finish_if_read(scan.pk)


def replies_to_fetch(work: ChannelWork) -> list[int]:
    """Ids of the bot's replies that were held aside and turned out to answer a member."""
    held = HeldReply.objects.filter(channel_id=work.id, trigger_seen=True)
    return list(held.values_list("reply_id", flat=True)[:50])


def commit_replies(
    work: ChannelWork, replies: Mapping[int, IncomingMessage | None], *, wakes: bool = True
) -> ChannelWork | None:
    """Stores replies that were held aside (None for one that is gone by now); returns None when none is left."""
    with underway.storing(replies), transaction.atomic():
        row = locked(
            ScanChannel.objects.filter(pk=work.id, state=State.WAITING).select_related("scan", "guild")
        ).first()
        if row is None or row.scan.state not in READING:
            return None
        held = HeldReply.objects.filter(channel=row, reply_id__in=list(replies))
        triggers = dict(held.values_list("reply_id", "trigger_id"))
        asked = Message.objects.filter(discord_id__in=triggers.values(), is_bot=False)
        members = dict(asked.values_list("discord_id", "member_id"))
        owners = {reply: members[trigger] for reply, trigger in triggers.items() if trigger in members}
        there = tuple(one for id, one in replies.items() if one is not None and id in owners)
        page = Page(
            cursor=row.cursor, seen=(), last=True, fetched_at=timezone.now(), messages=there, owners=owners
        )
        found = PageRows(row, work, page, wakes).store()
        held.delete()
        left = HeldReply.objects.filter(channel=row)
        if not left.exists() and row.cursor == READ:
            row.state = State.DONE
        _count(row, page, found)
        return _next(row, work)


def postpone(work: ChannelWork, *, code: str, seconds: float | None = None) -> None:
    """A page could not be fetched: it is asked for again after ``seconds``, or after longer and longer times."""
    wait = BACK_OFF_SECONDS[min(work.failures, len(BACK_OFF_SECONDS) - 1)] if seconds is None else seconds
    ScanChannel.objects.filter(pk=work.id, state=State.WAITING).update(
        due_at=timezone.now() + timedelta(seconds=wait), failures=F("failures") + 1, error_code=code
    )
    Scan.objects.filter(pk=work.scan_id).update(error_code=code)


def close_channel(work: ChannelWork, *, code: str, gone: bool = False) -> None:
    """A channel that may not be read, or is gone. It does not hold the scan up."""
    with transaction.atomic():
        ScanChannel.objects.filter(pk=work.id, state=State.WAITING).update(
            state=State.GONE if gone else State.UNREADABLE, error_code=code
        )
        finish_if_read(work.scan_id)
