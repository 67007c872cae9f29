"""The rows of a page: whose they are, what was changed while it was on its way, and what they count as."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db import connection
from django.utils import timezone

from memory import consent
from memory.capture import touched
from memory.capture.backfill.catch_up import missing
from memory.capture.backfill.types import ChannelWork, Page, time_of
from memory.capture.edits import apply_edit
from memory.capture.forgetting import forget_messages
from memory.capture.writing import Item, store
from memory.conf import get_config
from memory.models import HeldReply, Member, Message, MessagePart, ScanChannel, ScanMember
from memory.types import IncomingMessage


@dataclass(slots=True)
class Progress:
    """What became of a page."""

    stored: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    reached_limit: bool = False
    """Everything beyond is older than the server keeps."""
    newest_at: datetime | None = None
    oldest_at: datetime | None = None


class PageRows:
    """Stores one page, inside the caller's transaction."""

    def __init__(self, row: ScanChannel, work: ChannelWork, page: Page, wakes: bool) -> None:
        self.row = row
        self.work = work
        self.page = page
        self.wakes = wakes
        self.deleted: set[int] = set()
        self.found = Progress(skipped=Counter(page.skipped))

    def is_stale(self) -> bool:
        """Whether a message that is to be stored was edited after the page was asked for; first of all."""
        ids = [message.id for message in self.page.messages]
        self.deleted, edited = touched.since(self.page.fetched_at, ids)
        return bool(edited) and len(edited) > Message.objects.filter(discord_id__in=edited).count()

    def store(self) -> Progress:
        page, found = self.page, self.found
        if page.seen:
            found.newest_at, found.oldest_at = time_of(page.seen[0]), time_of(page.seen[-1])
        oldest_kept = self._oldest_kept()
        found.reached_limit = bool(
            oldest_kept and found.oldest_at and found.oldest_at < oldest_kept and not self.work.catch_up
        )
        consents, asked_at = self._consents()
        items = []
        for message in page.messages:
            owner = page.owners.get(message.id, message.author.id)
            if owner not in consents:
                found.skipped["no_consent"] += 1
            elif oldest_kept is not None and message.sent_at < oldest_kept:
                found.skipped["too_old"] += 1
            elif owner in asked_at and message.sent_at < asked_at[owner]:
                found.skipped["before_consent"] += 1
            elif message.author.is_bot and message.text.strip() == get_config().chat.error_message.strip():
                found.skipped["error_message"] += 1  # the bot saying that it cannot answer is no memory
            else:
                items.append(Item(message, owner))
        self._store(items, consents)
        self._hold_replies(items)
        if self.work.catch_up:
            self._forget_missing()
        return found

    def _oldest_kept(self) -> datetime | None:
        days = self.row.guild.max_age_days
        return timezone.now() - timedelta(days=days) if days else None

    def _consents(self) -> tuple[dict[int, consent.Consent], dict[int, datetime]]:
        """Consents under which this page is stored; for a catch-up also since when each holds: it is no backfill."""
        if self.work.catch_up:
            owners = {self.page.owners.get(one.id, one.author.id) for one in self.page.messages}
            consents = consent.find_many(owners)
            return consents, dict(
                Member.objects.filter(user_id__in=consents).values_list("user_id", "consented_at")
            )
        rows = ScanMember.objects.filter(scan=self.row.scan).values_list("member_id", "epoch")
        return {user_id: consent.Consent(user_id, epoch) for user_id, epoch in rows}, {}

    def _store(self, items: list[Item], consents: Mapping[int, consent.Consent]) -> None:
        kept = [item for item in items if item.message.id not in self.deleted]
        if len(kept) < len(items):
            self.found.skipped["deleted"] += len(items) - len(kept)
            items = kept
        source = "catch-up" if self.work.catch_up else "backfill"
        outcomes = (
            store(items, consents=consents, source=source, wakes=self.wakes)  # type: ignore[arg-type]
            if items
            else []
        )
        owners: Counter[int] = Counter()
        for item, outcome in zip(items, outcomes, strict=True):
            if outcome.duplicate:
                self.found.skipped["already_stored"] += 1
                self._catch_up_edit(item.message)
            elif outcome.key is not None:
                self.found.stored += 1
                owners[item.owner_id] += 1
            else:
                self.found.skipped[outcome.skipped] += 1
        if not self.work.catch_up:
            self._count_for_members(owners)

    def _count_for_members(self, owners: Counter[int]) -> None:
        statement = f"UPDATE {ScanMember._meta.db_table} SET stored = stored + %s WHERE scan_id = %s AND member_id = %s"
        values = [(count, self.row.scan_id, user_id) for user_id, count in owners.items()]
        if values:
            with connection.cursor() as cursor:
                cursor.executemany(statement, values)

    def _catch_up_edit(self, message: IncomingMessage) -> None:
        if message.edited_at is not None and not message.author.is_bot:
            apply_edit(discord_id=message.id, text=message.text, edited_at=message.edited_at)

    def _hold_replies(self, items: list[Item]) -> None:
        """Replies whose trigger is not known yet wait for it; those whose trigger this page shows are told whose they are."""
        held = self.page.held
        if held:
            HeldReply.objects.bulk_create(
                [
                    HeldReply(channel=self.row, reply_id=id, trigger_id=trigger)
                    for id, trigger in held.items()
                ],
                ignore_conflicts=True,
            )
        waiting = HeldReply.objects.filter(channel=self.row, trigger_seen=False)
        if not waiting.exists():
            return
        waiting = waiting.filter(trigger_id__in=self.page.seen)
        of_members = [item.message.id for item in items if not item.message.author.is_bot]
        waiting.filter(trigger_id__in=of_members).update(trigger_seen=True)
        self.found.skipped["no_trigger"] += waiting.delete()[0]

    def _forget_missing(self) -> None:
        """Messages that had been stored before this catch-up began and do not stand on the page that has to show them."""
        if self.work.cursor is None:
            return
        rows = Message.objects.filter(
            channel_id=self.work.channel.id,
            discord_id__gt=self.work.cursor,
            sent_at__gte=time_of(self.work.cursor),
            stored_at__lt=self.row.scan.opened_at,
        )
        parts = MessagePart.objects.filter(
            message__channel_id=self.work.channel.id,
            discord_id__gt=self.work.cursor,
            message__stored_at__lt=self.row.scan.opened_at,
        )
        if not self.page.last:
            rows = rows.filter(discord_id__lte=self.page.seen[0])
            parts = parts.filter(discord_id__lte=self.page.seen[0])
        if gone := missing(self.page, rows, parts):
            forget_messages(gone)


def skipped_by(before: Mapping[str, int], more: Mapping[str, int]) -> dict[str, int]:
    return dict(Counter(before) + Counter(more))
