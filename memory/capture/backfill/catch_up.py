"""What was missed while the bot was away: everything after the last message seen in each channel, and changes before it."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from django.db import connection, transaction
from django.db.models import F, Max, QuerySet
from django.utils import timezone

from memory.capture.backfill.queue import nudge
from memory.capture.backfill.types import ChannelWork, Page, time_of
from memory.capture.edits import apply_edit
from memory.capture.forgetting import forget_messages
from memory.models import ChannelMark, Guild, Message, MessagePart, Scan, ScanChannel
from memory.models.locks import SCANS, hold

State = ScanChannel.State
UNFINISHED = (Scan.State.LISTING, Scan.State.RUNNING, Scan.State.PAUSED)


def flush_marks(seen: Mapping[int, Mapping[int, int]]) -> None:
    """Keeps how far channels were seen: ``{server id: {channel id: newest message id}}``. A mark never goes back."""
    ordinals = dict(Guild.objects.filter(discord_id__in=list(seen)).values_list("discord_id", "ordinal"))
    with transaction.atomic():
        for guild_id, ordinal in ordinals.items():
            raise_marks(ordinal, seen[guild_id])


def raise_marks(guild: Guild | int, marks: Mapping[int, int]) -> None:
    ordinal = guild.ordinal if isinstance(guild, Guild) else guild
    if not marks:
        return
    table = ChannelMark._meta.db_table
    with connection.cursor() as cursor:
        cursor.executemany(
            f"INSERT INTO {table} (channel_id, guild_id, seen_id) VALUES (%s, %s, %s) "
            f"ON CONFLICT (channel_id) DO UPDATE SET seen_id = excluded.seen_id WHERE excluded.seen_id > {table}.seen_id",
            [(channel, ordinal, seen) for channel, seen in sorted(marks.items())],
        )


def begin_catch_up(guild_ids: Collection[int], *, private: bool = True) -> Scan | None:
    """Notes that what was missed on these servers is to be read, from the marks as they are now. None if nothing can be.

    Marks may be raised again once this has returned. ``private`` includes private conversations. A catch-up that is still open
    takes the channels over.
    """
    with transaction.atomic():
        hold(SCANS)
        guilds = list(Guild.objects.filter(discord_id__in=guild_ids, kind=Guild.Kind.GUILD))
        if private:
            guilds += Guild.objects.filter(kind=Guild.Kind.DM, marks__isnull=False, left_at=None).distinct()
        if not guilds:
            return None
        now = timezone.now()
        scan = Scan.objects.filter(kind=Scan.Kind.CATCH_UP, state__in=UNFINISHED).order_by("id").first()
        if scan is None:
            # The last one was of use until now; its channels would pile up.
            Scan.objects.filter(kind=Scan.Kind.CATCH_UP, finished_at__isnull=False).delete()
            scan = Scan.objects.create(
                kind=Scan.Kind.CATCH_UP, state=Scan.State.LISTING, begins_at=now, due_at=now
            )
        for guild in guilds:
            _take_over(scan, guild)
        scan.due_at, scan.failures = now, 0
        if scan.state == Scan.State.PAUSED:
            scan.paused_from = Scan.State.LISTING
        else:
            scan.state = Scan.State.LISTING
        scan.save()
        nudge()
    return scan


def _take_over(scan: Scan, guild: Guild) -> None:
    now = timezone.now()
    marks = ChannelMark.objects.filter(guild=guild)
    there = {one.channel_id: one for one in ScanChannel.objects.filter(scan=scan, guild=guild)}
    new = []
    for channel_id, seen in marks.values_list("channel_id", "seen_id"):
        old = there.get(channel_id)
        if old is None:
            new.append(
                ScanChannel(
                    scan=scan, guild=guild, channel_id=channel_id, cursor=seen, requested=1, due_at=now
                )
            )
        elif old.state == State.WAITING:
            # It is read to its end in any case; a page under way does not end it any more.
            ScanChannel.objects.filter(pk=old.pk).update(requested=F("requested") + 1)
        else:
            ScanChannel.objects.filter(pk=old.pk).update(
                requested=F("requested") + 1, state=State.WAITING, cursor=seen, window_read=False, due_at=now
            )
    ScanChannel.objects.bulk_create(new, batch_size=200)
    if guild.kind == Guild.Kind.DM:
        return
    known = scan.since.get(str(guild.discord_id))
    if known is None or known["listed"]:
        newest = marks.aggregate(newest=Max("seen_id"))["newest"]
        scan.since[str(guild.discord_id)] = {"after": newest, "listed": False}


def missing_rows(work: ChannelWork, page: Page) -> list[int]:
    """Discord's ids of messages that are stored from within the page's span and do not stand there any more."""
    if work.cursor is None:
        return []
    rows = Message.objects.filter(channel_id=work.channel.id, discord_id__lte=work.cursor)
    rows = rows.filter(sent_at__lte=time_of(work.cursor + (1 << 22)))
    parts = MessagePart.objects.filter(message__channel_id=work.channel.id, discord_id__lte=work.cursor)
    if not page.last:
        oldest = page.seen[-1]
        rows = rows.filter(discord_id__gte=oldest, sent_at__gte=time_of(oldest))
        parts = parts.filter(discord_id__gte=oldest)
    return missing(page, rows, parts)


def missing(page: Page, rows: QuerySet[Message], parts: QuerySet[MessagePart]) -> list[int]:
    """Discord's ids of those messages and parts of answers that do not stand on the page."""
    there = set(page.seen)
    ids = [*rows.values_list("discord_id", flat=True), *parts.values_list("discord_id", flat=True)]
    return [one for one in ids if one is not None and one not in there]


def commit_window(work: ChannelWork, page: Page) -> bool:
    """Takes over edits and deletions among the messages up to the mark. False if the channel is not to be read any more."""
    with transaction.atomic():
        row = ScanChannel.objects.filter(pk=work.id, state=State.WAITING, window_read=False)
        if not row.filter(scan__state__in=[Scan.State.RUNNING, Scan.State.LISTING]).exists():
            return False
        forget_messages(missing_rows(work, page))
        for message in page.messages:
            if message.edited_at is not None:
                apply_edit(discord_id=message.id, text=message.text, edited_at=message.edited_at)
        row.update(window_read=True, pages=F("pages") + 1, failures=0, error_code="")
    return True
