"""Stores the messages of an export, in batches, through the same gates as live ones."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from memory import consent
from memory.capture.importing.files import ExportedMessage, ExportFile, Unreadable
from memory.capture.places import remember_guild
from memory.capture.services import record_messages
from memory.conf import get_config
from memory.errors import Conflict, InvalidInput, MemoryDisabled
from memory.models import ConsentEvent, Guild, Member, Message
from memory.pseudonyms import subject_hash
from memory.types import GuildInfo, IncomingMessage, Person

BATCH = 200
MAX_WAITING_REPLIES = 10_000
SHOWN = 5

NO_CONSENT = "no_consent"
REASONS = {
    NO_CONSENT: "their author has not opted in",
    "withdrew": "their author has withdrawn the consent before",
    "erasing": "their author's data is being erased",
    "system": "system messages",
    "no_trigger": "bot messages that answer no stored message",
    "duplicate": "stored before",
    "empty": "nothing in them that is stored",
    "unreadable": "unreadable",
    "deleted": "deleted in the meantime",
    "erased": "erased before, at their author's wish",
    "channel_disallowed": "from a channel that is not allowed (channelsDisallowed)",
    "channel_deleted": "from a channel that was deleted",
    "capture_disabled": "from a channel where remembering is switched off (Servers in the dashboard)",
    "server_disabled": "from a server that is switched off (Servers in the dashboard)",
}

Item = TypeVar("Item")


@dataclass
class ImportReport:
    """What an import did, or would do."""

    read: int = 0
    stored: int = 0
    opted_in: int = 0
    """Members whose consent was recorded by this import."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Messages that did not come in, by reason (``REASONS``)."""
    unreadable: list[str] = field(default_factory=list)
    """The first few that could not be read, with the reason."""


def import_messages(
    export: ExportFile,
    *,
    guild_id: int,
    consent_all: bool = False,
    dry_run: bool = False,
    progress: Callable[[ImportReport], None] | None = None,
) -> ImportReport:
    """Stores what may be stored; running it twice stores nothing twice. With ``dry_run`` nothing is written.

    ``consent_all``: the operator states that everybody in the file has opted in; it is recorded with the origin ``import``.
    Those who withdrew or paused stay out. Raises ``MemoryDisabled``, and ``InvalidInput`` where the file breaks off; what came
    before is kept.
    """
    if not get_config().memory_enabled:
        raise MemoryDisabled("Long-term memory is off: set MUSEBOT_EMBEDDING_MODEL, then import.")
    run = _Run(_guild(export, guild_id), consent_all=consent_all, dry_run=dry_run)
    items = export.messages(guild_id)
    while True:
        try:
            batch = list(itertools.islice(items, BATCH))
        except (ValueError, OSError) as error:
            raise InvalidInput(
                f"{export.path.name} is damaged after message {run.report.read} ({error}). What came before is kept; "
                "importing the whole file later stores nothing twice."
            ) from error
        if not batch:
            break
        run.take(batch)
        if progress:
            progress(run.report)
    run.finish()
    return run.report


def _guild(export: ExportFile, guild_id: int) -> GuildInfo:
    row = Guild.objects.filter(discord_id=guild_id).first()
    name = row.name if row else ""
    if not name and export.guild_id in (None, guild_id):
        name = export.guild_name
    return GuildInfo(guild_id, name, "dm" if row and row.kind == Guild.Kind.DM else "guild")


class _Run:
    """One import."""

    def __init__(self, guild: GuildInfo, *, consent_all: bool, dry_run: bool) -> None:
        self.report = ImportReport()
        self.guild = guild
        self.consent_all = consent_all
        self.dry_run = dry_run
        self._refused: dict[int, str] = {}
        self._allowed: set[int] = set()
        self._would_store: set[int] = set()
        """In a dry run: ids of the members' messages."""
        self._early: list[ExportedMessage] = []
        """Bot messages that came before what they answer."""
        self._guild_known = dry_run

    def take(self, batch: list[ExportedMessage | Unreadable]) -> None:
        self.report.read += len(batch)
        for unreadable in (item for item in batch if isinstance(item, Unreadable)):
            self._leave_out("unreadable")
            if len(self.report.unreadable) < SHOWN:
                self.report.unreadable.append(f"message {unreadable.where}: {unreadable.why}")
        messages = [item for item in batch if isinstance(item, ExportedMessage)]
        if messages and not self._guild_known:
            # A file without a message in it is no reason to know a server.
            remember_guild(self.guild)
            self._guild_known = True
        self._leave_out("system", sum(message.is_system for message in messages))
        messages = [message for message in messages if not message.is_system]
        self._decide({message.author.id: message.author for message in messages if not message.author.is_bot})
        self._write([message for message in messages if self._comes_in(message, messages)])

    def finish(self) -> None:
        """What had to wait for the end of the file."""
        for early in _batches(self._early, BATCH):
            self._write(early)

    def _comes_in(self, message: ExportedMessage, batch: list[ExportedMessage]) -> bool:
        if not message.author.is_bot:
            reason = self._refused.get(message.author.id)
            if reason:
                self._leave_out(reason)
            return not reason
        if message.reply_to is None:
            self._leave_out("no_trigger")
            return False
        here = any(message.reply_to == other.id for other in batch)
        if not here and len(self._early) < MAX_WAITING_REPLIES and not self._is_stored(message.reply_to):
            self._early.append(message)
            return False
        return True

    def _is_stored(self, discord_id: int) -> bool:
        return discord_id in self._would_store or Message.objects.filter(discord_id=discord_id).exists()

    def _decide(self, people: dict[int, Person]) -> None:
        """Sorts people into those who come in and those who do not; consents are recorded here."""
        new = {
            key: person
            for key, person in people.items()
            if key not in self._refused and key not in self._allowed
        }
        self._allowed |= consent.consenting(set(new))
        for key, person in new.items():
            if key not in self._allowed:
                reason = self._opt_in(person) if self.consent_all else NO_CONSENT
                if reason:
                    self._refused[key] = reason
                else:
                    self._allowed.add(key)

    def _opt_in(self, person: Person) -> str:
        """Records a consent; the reason if it may not be. Somebody who paused or withdrew has said so themselves."""
        row = Member.objects.filter(user_id=person.id).first()
        if row is not None:
            return "erasing" if row.withdrawn_at else NO_CONSENT
        last = ConsentEvent.objects.filter(subject=subject_hash(person.id)).order_by("-id").first()
        if last is not None and last.action == ConsentEvent.Action.WITHDRAWN:
            return "withdrew"
        if not self.dry_run:
            try:
                consent.give(person=person, origin="import", guild=self.guild)
            except Conflict:
                return "erasing"
        self.report.opted_in += 1
        return ""

    def _write(self, messages: list[ExportedMessage]) -> None:
        if self.dry_run:
            self._pretend(messages)
            return
        bots = {message.author.id for message in messages if message.author.is_bot}
        result = record_messages([self._incoming(one) for one in messages], source="import", bot_ids=bots)
        self.report.stored += result.stored
        self._leave_out("duplicate", result.duplicates)
        for reason, count in result.skipped.items():
            self._leave_out(reason, count)

    def _pretend(self, messages: list[ExportedMessage]) -> None:
        ids = [message.id for message in messages]
        stored = set(Message.objects.filter(discord_id__in=ids).values_list("discord_id", flat=True))
        for message in messages:
            if message.id in stored:
                self._leave_out("duplicate")
            elif message.author.is_bot and not self._is_stored(message.reply_to or 0):
                self._leave_out("no_trigger")
            elif not message.text.strip():
                self._leave_out("empty")
            else:
                self.report.stored += 1
                if not message.author.is_bot:
                    self._would_store.add(message.id)

    def _incoming(self, message: ExportedMessage) -> IncomingMessage:
        return IncomingMessage(
            id=message.id,
            guild=self.guild,
            channel=message.channel,
            author=message.author,
            text=message.text,
            sent_at=message.sent_at,
            edited_at=message.edited_at,
            reply_to=message.reply_to,
            mentions_users=message.mentions,
            attachments=message.attachments,
        )

    def _leave_out(self, reason: str, count: int = 1) -> None:
        if count:
            self.report.left_out[reason] += count


def _batches(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    iterator = iter(items)
    while batch := list(itertools.islice(iterator, size)):
        yield batch
