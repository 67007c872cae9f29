"""A part of what is stored of a member: of one server, one channel, a span of time, or one memory alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any

from django.db.models import Q, QuerySet

from memory.errors import InvalidInput, NotFound
from memory.models import ArchivalEntry, Channel, ErasureRequest, Fact, Guild, Message, Reply

DELETED = "There is no such memory of this member; it may have been erased already."


@dataclass(frozen=True)
class Part:
    """What is to go; ids are Discord's, but for ``message_key``. ``until`` is not included. Empty fields do not narrow it."""

    guild_id: int | None = None
    channel_id: int | None = None
    since: datetime | None = None
    until: datetime | None = None
    message_key: int | None = None
    message_id: int | None = None

    @classmethod
    def of(cls, request: ErasureRequest) -> Part:
        return cls(
            request.guild_id,
            request.channel_id,
            request.since,
            request.until,
            request.message_key,
            request.message_id,
        )

    @property
    def is_one(self) -> bool:
        """One memory and nothing else."""
        return self.message_key is not None or self.message_id is not None

    @property
    def could_come_back(self) -> bool:
        """Not so a memory that was never on Discord: it is in no history."""
        return not self.is_one or self.message_id is not None

    def is_there(self, user_id: int) -> bool:
        """Whether anything of it is stored."""
        if self.is_one:
            return self.messages(user_id).exists()
        rows = (self.messages(user_id), self.replies(user_id), self.archive(user_id), self.facts(user_id))
        return any(row.exists() for row in rows)

    def checked(self, user_id: int) -> Part:
        """The part with what follows from it. Raises ``InvalidInput`` for what narrows nothing or contradicts itself, and
        ``NotFound`` for a server, channel or memory that is not known."""
        if self == Part():
            raise InvalidInput("Say which part: a server, a channel, a span of time or one memory.")
        if self.since and self.until and self.since >= self.until:
            raise InvalidInput("The span of time ends before it begins.")
        if self.is_one:
            return self._one(user_id)
        if self.guild_id is not None and not Guild.objects.filter(discord_id=self.guild_id).exists():
            raise NotFound("There is no such server.")
        if self.channel_id is None:
            return self
        channel = Channel.objects.select_related("guild").filter(discord_id=self.channel_id).first()
        if channel is None:
            raise NotFound("There is no such channel.")
        if self.guild_id not in (None, channel.guild.discord_id):
            raise InvalidInput("The channel belongs to another server.")
        return replace(self, guild_id=channel.guild.discord_id)

    def _one(self, user_id: int) -> Part:
        if self != Part(message_key=self.message_key, message_id=self.message_id):
            raise InvalidInput("One memory cannot be narrowed any further: give it alone.")
        row = self.messages(user_id).first()
        if row is None:
            raise NotFound(DELETED)
        return replace(self, message_key=row.key, message_id=row.discord_id)

    def up_to(self, moment: datetime) -> Part:
        """The same, without what is said from that moment on: the consent stays."""
        if self.is_one:
            return self
        return replace(self, until=min(self.until, moment) if self.until else moment)

    @cached_property
    def channels(self) -> list[int]:
        """The channel with its threads."""
        threads = Channel.objects.filter(parent_id=self.channel_id).values_list("discord_id", flat=True)
        return [self.channel_id, *threads] if self.channel_id is not None else []

    def messages(self, user_id: int) -> QuerySet[Message]:
        """What they wrote, and what the bot answered them."""
        rows = Message.objects.filter(member_id=user_id)
        if self.is_one:
            # By Discord's id where there is one: a restored backup gives the same key to another message.
            one = Q(discord_id=self.message_id) if self.message_id else Q(key=self.message_key)
            return rows.filter(one)
        return rows.filter(self._where("guild__discord_id", "channel_id"), self._when("sent_at"))

    def replies(self, user_id: int) -> QuerySet[Reply]:
        """Traces of what they asked."""
        rows = Reply.objects.filter(asker_id=user_id)
        if self.is_one:
            return rows.filter(question__in=self.messages(user_id))
        return rows.filter(self._where("guild__discord_id", "channel_id"), self._when("created_at"))

    def archive(self, user_id: int) -> QuerySet[ArchivalEntry]:
        """What was noted of them there or then; what came from a message goes with it."""
        if self.is_one:
            return ArchivalEntry.objects.none()
        return ArchivalEntry.objects.filter(
            self._where("guild__discord_id", "channel_id"), self._when("created_at"), member_id=user_id
        )

    def facts(self, user_id: int) -> QuerySet[Fact]:
        """What was noted of them there or then by hand; facts from a message go with it, and no channel is known of others."""
        if self.is_one or self.channel_id is not None:
            return Fact.objects.none()
        where = Q() if self.guild_id is None else Q(guild__discord_id=self.guild_id)
        return Fact.objects.filter(where, self._when("created_at"), member_id=user_id, evidence=None)

    def _where(self, guild: str, channel: str) -> Q:
        if self.channel_id is not None:
            return Q(**{f"{channel}__in": self.channels})
        return Q() if self.guild_id is None else Q(**{guild: self.guild_id})

    def _when(self, field: str) -> Q:
        wanted = Q()
        if self.since is not None:
            wanted &= Q(**{f"{field}__gte": self.since})
        if self.until is not None:
            wanted &= Q(**{f"{field}__lt": self.until})
        return wanted

    def to_json(self) -> dict[str, Any]:
        """As it stands in a receipt; ids are strings."""
        values: dict[str, Any] = {
            "guild_id": _text(self.guild_id),
            "channel_id": _text(self.channel_id),
            "from": self.since.isoformat() if self.since else None,
            "to": self.until.isoformat() if self.until else None,
            "memory_id": _text(self.message_key),
            "message_id": _text(self.message_id),
        }
        return {name: value for name, value in values.items() if value is not None}

    @classmethod
    def from_json(cls, values: Any) -> Part:
        """The part of a receipt. Raises ``ValueError`` for anything else."""
        if not isinstance(values, dict) or not values:
            raise ValueError("a receipt of a part says which")
        return cls(
            guild_id=_number(values.get("guild_id")),
            channel_id=_number(values.get("channel_id")),
            since=_moment(values.get("from")),
            until=_moment(values.get("to")),
            message_key=_number(values.get("memory_id")),
            message_id=_number(values.get("message_id")),
        )


def _text(number: int | None) -> str | None:
    return None if number is None else str(number)


def _number(value: Any) -> int | None:
    return None if value is None else int(value)


def _moment(value: Any) -> datetime | None:
    if value is None:
        return None
    found = datetime.fromisoformat(value)
    if found.tzinfo is None:
        raise ValueError("a moment without a zone")
    return found
