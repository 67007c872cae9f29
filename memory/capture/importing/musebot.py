"""Brings an existing Musebot database in: consents first, then the messages of those who gave one, through the gates of live ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from memory import consent
from memory.capture import content, places, underway
from memory.capture.importing.ids import derived
from memory.capture.importing.musebot_consents import carry_over
from memory.capture.importing.musebot_file import MusebotFile, OldConsent, open_musebot
from memory.capture.importing.musebot_report import MusebotReport
from memory.capture.importing.musebot_rows import MusebotRow, Spoiled
from memory.capture.writing import Item, store
from memory.conf import get_config
from memory.errors import MemoryDisabled
from memory.models import Channel, InstallationState, Message
from memory.types import ChannelInfo, IncomingMessage

STATE = "imported_musebot"
SHOWN = 5


def import_musebot(
    path: Path, *, dry_run: bool = False, progress: Callable[[MusebotReport], None] | None = None
) -> MusebotReport:
    """Stores what may be stored; running it twice stores nothing twice. With ``dry_run`` nothing is written.

    Raises ``MemoryDisabled``, and ``InvalidInput`` where the file is no database of Musebot.
    """
    if not get_config().memory_enabled:
        raise MemoryDisabled("Long-term memory is off: set MUSEBOT_EMBEDDING_MODEL, then import.")
    with open_musebot(path) as file:
        run = _Run(file, dry_run=dry_run)
        run.report.total = file.count()
        run.carry_over(file.consents())
        for page in file.pages():
            run.take(page)
            if progress:
                progress(run.report)
    if not dry_run:
        _note_done(path)
    return run.report


def imported_files() -> set[str]:
    """Names of the files that were imported."""
    row = InstallationState.objects.filter(name=STATE).first()
    return set(row.value.get("files", ())) if row else set()


def _note_done(path: Path) -> None:
    names = sorted(imported_files() | {path.name})
    InstallationState.objects.update_or_create(name=STATE, defaults={"value": {"files": names}})


class _Run:
    """One import."""

    def __init__(self, file: MusebotFile, *, dry_run: bool) -> None:
        self.report = MusebotReport()
        self.file = file
        self.dry_run = dry_run
        self._allowed: set[int] = set()
        self._refused: dict[int, str] = {}
        self._kinds: dict[int, str] = {}
        self._seen: set[int] = set()
        """In a dry run: what would be stored so far."""

    # Consents

    def carry_over(self, consents: Sequence[OldConsent]) -> None:
        for old in consents:
            what = carry_over(old, dry_run=self.dry_run)
            if what not in {"carried", "known"}:
                self._refused[old.user_id] = what
                self.report.refused_consents[what] += 1
                continue
            self._allowed.add(old.user_id)
            self.report.consents += what == "carried"
            self.report.known_consents += what == "known"
            self.report.incomplete += not old.complete

    # Messages

    def take(self, page: Sequence[MusebotRow | Spoiled]) -> None:
        self.report.read += len(page)
        rows = []
        for row in page:
            why = self._why_not(row)
            if why:
                self.report.left_out[why] += 1
                if isinstance(row, Spoiled) and len(self.report.unreadable) < SHOWN:
                    self.report.unreadable.append(f"row {row.row_id}: {row.why}")
            elif isinstance(row, MusebotRow):
                rows.append(row)
        rows = self._without_twins(rows)
        if self.dry_run:
            self._pretend(rows)
        else:
            self._write(rows)

    def _why_not(self, row: MusebotRow | Spoiled) -> str:
        if isinstance(row, Spoiled):
            return "unreadable"
        if row.author.is_bot and row.discord_id is not None:
            return self._why_not_reply(row)
        if not row.author.is_bot and row.author.id != row.owner_id:
            return "another_author"
        return self._why_not_owner(row.owner_id)

    def _why_not_reply(self, row: MusebotRow) -> str:
        """A reply read from Discord belongs to whoever was searched for then. Only what it answers tells whose it is."""
        owner = self._asker(row)
        if owner is None:
            return "reply_of_nobody"
        return self._why_not_owner(owner) or ("duplicate" if self.file.has_live_copy(row) else "")

    def _why_not_owner(self, owner_id: int) -> str:
        if owner_id in self._allowed:
            return ""
        return self._refused.get(owner_id, "no_consent")

    def _asker(self, row: MusebotRow) -> int | None:
        if row.answers is None:
            return None
        owner = self.file.owner_of(row.answers)
        if owner is None:
            stored = Message.objects.filter(discord_id=row.answers, is_bot=False)
            owner = stored.values_list("member_id", flat=True).first()
        return owner

    def _without_twins(self, rows: list[MusebotRow]) -> list[MusebotRow]:
        """Without those that are stored under another id: early files know no ids, later ones and Discord do."""
        moments = {row.sent_at for row in rows}
        stored = Message.objects.filter(sent_at__in=moments).values_list(
            "channel_id", "author_id", "sent_at", "text", "discord_id"
        )
        twins: dict[tuple[int, int, datetime, str], int | None] = {
            (channel, author, at, text): own for channel, author, at, text, own in stored
        }
        kept = []
        for row in rows:
            text = content.clean(self._text(row)).strip()
            same = [
                (row.channel.id, row.author.id, row.sent_at, one)
                for one in (text, content.hide_strangers(text, set()))
            ]
            others = {twins[one] for one in same if one in twins}
            if others and message_id(row) not in others:
                self.report.left_out["duplicate"] += 1
            else:
                kept.append(row)
                twins.setdefault(same[0], message_id(row))
        return kept

    def _write(self, rows: Sequence[MusebotRow]) -> None:
        items = [self._item(row) for row in rows]
        with underway.storing(item.message.id for item in items):
            consents = consent.find_many(item.owner_id for item in items)
            outcomes = store(items, consents=consents, source="import")
        for row, outcome in zip(rows, outcomes, strict=True):
            if outcome.skipped or outcome.duplicate:
                self.report.left_out[outcome.skipped or "duplicate"] += 1
            else:
                self._count(row)

    def _pretend(self, rows: Sequence[MusebotRow]) -> None:
        ids = [message_id(row) for row in rows]
        stored = set(Message.objects.filter(discord_id__in=ids).values_list("discord_id", flat=True))
        for row, own in zip(rows, ids, strict=True):
            if own in stored or own in self._seen:
                self.report.left_out["duplicate"] += 1
                continue
            self._seen.add(own)
            item = self._item(row)
            nothing = not item.message.text.strip() and not item.captions
            if why := "empty" if nothing else places.why_closed(row.guild, item.message.channel):
                self.report.left_out[why] += 1
            else:
                self._count(row)

    def _count(self, row: MusebotRow) -> None:
        self.report.replies += row.author.is_bot
        self.report.messages += not row.author.is_bot
        self.report.interpretations += sum(bool(one["interpretation"]) for one in row.attachments)
        if row.guild.kind == "dm":
            self.report.private += 1
        else:
            self.report.servers.add(row.guild.id)

    def _item(self, row: MusebotRow) -> Item:
        owner = row.owner_id
        if row.author.is_bot and row.discord_id is not None:
            owner = self._asker(row) or owner
        message = IncomingMessage(
            id=message_id(row),
            guild=row.guild,
            channel=self._as_known(row.channel),
            author=row.author,
            text=self._text(row),
            sent_at=row.sent_at,
            reply_to=row.answers,
            mentions_users=row.mentions_users,
            mentions_roles=row.mentions_roles,
            mentions_everyone=row.mentions_everyone,
        )
        return Item(message, owner, row.attachments)

    def _text(self, row: MusebotRow) -> str:
        """Without mentions of the bot, as capture strips them."""
        text = row.text
        for bot in self.file.bot_ids:
            text = text.replace(f"<@{bot}>", "").replace(f"<@!{bot}>", "")
        return text

    def _as_known(self, channel: ChannelInfo) -> ChannelInfo:
        """What Discord says of a channel's kind is better than what the file can."""
        if channel.id not in self._kinds:
            known = Channel.objects.filter(discord_id=channel.id).values_list("kind", flat=True).first()
            self._kinds[channel.id] = known or channel.kind
        return replace(channel, kind=self._kinds[channel.id])


def message_id(row: MusebotRow) -> int:
    """Discord's, or where the file knows none, one that is always the same for the same message."""
    if row.discord_id is not None:
        return row.discord_id
    return derived(
        "musebot", f"{row.channel.id}:{row.author.id}:{row.owner_id}:{row.sent_at.isoformat()}:{row.text}"
    )
