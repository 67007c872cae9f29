"""The transaction that stores messages: the second gate, the places, the keys, the rows, the words, the work, the counts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.utils import timezone

from memory import consent, counters, measures, outbox
from memory.backends import text_index
from memory.capture import content, links, places, underway
from memory.capture.erased import Erased
from memory.index.base import GUILD_SHIFT
from memory.models import Channel, Guild, GuildMember, Member, Message, MessagePart
from memory.models.fast import insert
from memory.models.locks import again
from memory.types import ChannelInfo, GuildInfo, IncomingMessage, Source

SAID_NOW = frozenset({"live", "reply", "playground"})
"""Sources whose messages are made searchable before those of a history."""


@dataclass(frozen=True, slots=True)
class Item:
    """A message to store, and whose it is."""

    message: IncomingMessage
    owner_id: int
    interpreted: Sequence[Mapping[str, Any]] = ()
    """Attachments that come with their description, in the specification's shape."""

    @property
    def captions(self) -> str:
        """What its images show, a line each."""
        images = (one for one in self.interpreted if one["type"] == "image" and one["interpretation"])
        return "\n".join(" ".join(str(one["interpretation"]).split()) for one in images)


@dataclass(frozen=True, slots=True)
class Outcome:
    """``key`` of the stored message, or why it was skipped."""

    key: int | None = None
    duplicate: bool = False
    skipped: str = ""


def store(
    items: Sequence[Item], *, consents: Mapping[int, consent.Consent], source: Source, wakes: bool = True
) -> list[Outcome]:
    """Stores messages in one transaction; an outcome for each, in order. Items of owners without consent are skipped.

    ``wakes=False`` leaves waking the worker to the caller, who stores batch after batch.
    """
    outcomes = again(lambda: _Batch(consents, source, wakes).run(items))
    measures.captured.labels(source).inc(sum(not (one.duplicate or one.skipped) for one in outcomes))
    return outcomes


class _Batch:
    """One transaction. Rows of members, guilds and channels are read once."""

    def __init__(self, consents: Mapping[int, consent.Consent], source: Source, wakes: bool) -> None:
        self.consents = consents
        self.source = source
        self.wakes = wakes
        self.now = timezone.now()
        self.members: dict[int, Member] = {}
        self.erased = Erased()
        self.closed: dict[ChannelInfo, str] = {}
        self.guilds: dict[GuildInfo, Guild] = {}
        self.places: dict[ChannelInfo, tuple[Guild, Channel]] = {}

    def run(self, items: Sequence[Item]) -> list[Outcome]:
        owners = {item.owner_id for item in items}
        self.members = consent.require_many(one for key, one in self.consents.items() if key in owners)
        self.erased = Erased(self.members, [item.message for item in items])
        # After the gate, which lets one at a time in for a member: nobody else stores the same message now.
        ids = [item.message.id for item in items if item.message.id]
        stored = dict(Message.objects.filter(discord_id__in=ids).values_list("discord_id", "key"))
        outcomes: dict[int, Outcome] = {}
        wanted: dict[int, Item] = {}
        first: dict[int, int] = {}
        for position, item in enumerate(items):
            message = item.message
            if why := self._why_not(item):
                outcomes[position] = Outcome(skipped=why)
            elif message.id in stored:
                outcomes[position] = Outcome(key=stored[message.id], duplicate=True)
            elif not message.id or first.setdefault(message.id, position) == position:
                wanted[position] = item
        keys = self._keys(wanted)
        self._write(wanted, keys)
        for position, item in enumerate(items):
            if position in keys:
                outcomes[position] = Outcome(key=keys[position])
            elif position not in outcomes:  # the same message twice in one batch
                outcomes[position] = Outcome(key=keys[first[item.message.id]], duplicate=True)
        return [outcomes[position] for position in range(len(items))]

    def _why_not(self, item: Item) -> str:
        if item.owner_id not in self.members:
            return "no_consent"
        message = item.message
        if not content.clean(message.text).strip() and not content.images(message) and not item.captions:
            return "empty"
        if any(map(underway.is_deleted, (message.id, *message.later_parts))):
            return "deleted"
        if self.erased.cover(item.owner_id, message):
            return "erased"
        if message.channel not in self.closed:
            self.closed[message.channel] = places.why_closed(message.guild, message.channel)
        return self.closed[message.channel]

    def _place(self, message: IncomingMessage) -> tuple[Guild, Channel]:
        if message.channel not in self.places:
            if message.guild not in self.guilds:
                self.guilds[message.guild] = places.upsert_guild(message.guild)
            guild = self.guilds[message.guild]
            self.places[message.channel] = guild, places.upsert_channel(guild, message.channel)
        return self.places[message.channel]

    def _keys(self, wanted: Mapping[int, Item]) -> dict[int, int]:
        by_guild: dict[int, list[int]] = defaultdict(list)
        for position, item in wanted.items():
            by_guild[self._place(item.message)[0].ordinal].append(position)
        keys: dict[int, int] = {}
        for ordinal, positions in by_guild.items():
            following = _take_numbers(ordinal, len(positions))
            begin = (ordinal << GUILD_SHIFT) + following - len(positions)
            keys.update({position: begin + offset for offset, position in enumerate(positions)})
        return keys

    def _write(self, wanted: Mapping[int, Item], keys: Mapping[int, int]) -> None:
        if not wanted:
            return
        items = list(wanted.values())
        known = content.known_people(_people(items))
        rows = [self._row(keys[position], item, known) for position, item in wanted.items()]
        insert(rows)
        _note_parts(zip(rows, items, strict=True))
        text_index().add([row.key for row in rows])
        self._keep_names(items)
        counters.change(
            (counters.Counted(row.guild_id, row.channel_id, row.member_id, row.sent_at) for row in rows), by=1
        )
        self._note_work("embed", [row for row in rows if row.embedding == Message.Embedding.PENDING])
        self._note_work(links.ENRICH, [row for row in rows if links.wants_enriching(row)])

    def _note_work(self, kind: str, rows: Sequence[Message]) -> None:
        if rows:
            work = [(row.key, row.member_id, self.consents[row.member_id].epoch) for row in rows]
            outbox.enqueue_many(kind, work, and_wake=self.wakes, first=self.source in SAID_NOW)

    def _row(self, key: int, item: Item, known: set[int]) -> Message:
        message = item.message
        guild, channel = self._place(message)
        text = content.hide_strangers(content.clean(message.text).strip(), known)
        name = message.author.display_name or message.author.username
        captions = content.hide_strangers(content.clean(item.captions), known)
        record = content.record(message, text=text, known=known)
        record["attachments"] += content.interpreted(item.interpreted, known)
        return Message(
            key=key,
            guild_id=guild.ordinal,
            channel_id=channel.discord_id,
            member_id=item.owner_id,
            author_id=message.author.id,
            author_name=content.clean(name)[:200],
            is_bot=message.author.is_bot,
            discord_id=message.id or None,
            reply_to=message.reply_to,
            text=text,
            captions=captions,
            content=record,
            sent_at=message.sent_at,
            edited_at=message.edited_at,
            stored_at=self.now,
            source=self.source,
            embedding=Message.Embedding.PENDING if text or captions else Message.Embedding.NONE,
        )

    def _keep_names(self, items: Iterable[Item]) -> None:
        """A member's names are those of their newest message; a backfill does not bring back old ones."""
        newest: dict[tuple[int, int], IncomingMessage | None] = {}
        for item in items:
            pair = self._place(item.message)[0].ordinal, item.owner_id
            before = newest.setdefault(pair, None)
            own = item.message.author.id == item.owner_id
            if own and (before is None or before.sent_at < item.message.sent_at):
                newest[pair] = item.message
        known = self._guild_members(newest)
        for pair, message in newest.items():
            if message is not None:
                self._keep_name(known.get(pair), pair, message)
            elif pair not in known:
                GuildMember.objects.create(guild_id=pair[0], member_id=pair[1])

    def _guild_members(self, pairs: Iterable[tuple[int, int]]) -> dict[tuple[int, int], GuildMember]:
        guilds, members = {guild for guild, _ in pairs}, {member for _, member in pairs}
        rows = GuildMember.objects.filter(guild_id__in=guilds, member_id__in=members)
        return {(row.guild_id, row.member_id): row for row in rows}

    def _keep_name(self, row: GuildMember | None, pair: tuple[int, int], message: IncomingMessage) -> None:
        member = self.members[pair[1]]
        last = member.last_message_at
        if row is not None and row.username and last is not None and message.sent_at < last:
            return
        names = {
            "username": content.clean(message.author.username)[:100],
            "display_name": content.clean(message.author.display_name or message.author.username)[:200],
        }
        if row is None:
            GuildMember.objects.create(guild_id=pair[0], member_id=pair[1], **names)
        elif any(getattr(row, name) != value for name, value in names.items()):
            GuildMember.objects.filter(id=row.id).update(**names)
        if last is None or message.sent_at >= last:
            later = Member.objects.filter(user_id=pair[1]).exclude(last_message_at__gt=message.sent_at)
            later.update(last_message_at=message.sent_at, **names)


def _note_parts(stored: Iterable[tuple[Message, Item]]) -> None:
    """The further messages that long answers went on in, so that the deletion of any is the answer's."""
    MessagePart.objects.bulk_create(
        [
            MessagePart(discord_id=part, message_id=row.key)
            for row, item in stored
            for part in item.message.later_parts
        ],
        ignore_conflicts=True,
    )


def _take_numbers(ordinal: int, count: int) -> int:
    """Takes running numbers of a guild; returns the one after them."""
    statement = f"UPDATE {Guild._meta.db_table} SET next_sequence = next_sequence + %s WHERE ordinal = %s RETURNING next_sequence"
    with connection.cursor() as cursor:
        cursor.execute(statement, [count, ordinal])
        return int(cursor.fetchone()[0])


def _people(items: Iterable[Item]) -> set[int]:
    found: set[int] = set()
    for item in items:
        found |= content.mentioned(item.message.text)
        found.update(person.id for person in item.message.mentions_users)
        for one in item.interpreted:
            found |= content.mentioned(str(one["interpretation"] or ""))
    return found
