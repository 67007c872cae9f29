"""Blocks, places and results as values."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from typing import Any, Literal

from memory.conf import get_config
from memory.consent import Consent
from memory.models import MemoryBlock, Scope

PERSONA, HUMAN, WORKING_CONTEXT = "persona", "human", "working_context"
MAX_LIMIT = 20_000
"""Characters that an admin may allow a block."""

ActorKind = Literal["model", "user", "admin", "consolidation", "undo"]


@dataclass(frozen=True, slots=True)
class BlockRef:
    """Which block; the server makes it from an event, never from a tool's arguments."""

    scope: str
    key: int
    label: str
    private: bool = False
    """Learned in private conversations, and used only there."""

    @property
    def default_limit(self) -> int:
        config = get_config().core_memory
        limits = {
            PERSONA: config.persona_limit,
            HUMAN: config.human_limit,
            WORKING_CONTEXT: config.working_context_limit,
        }
        return limits[self.label]


def persona(guild_id: int | None = None) -> BlockRef:
    """Of the installation, or what one server has in its place."""
    return BlockRef(Scope.GLOBAL if guild_id is None else Scope.GUILD, guild_id or 0, PERSONA)


def channel_persona(channel_id: int) -> BlockRef:
    """What one channel has in place of its server's persona."""
    return BlockRef(Scope.SESSION, channel_id, PERSONA)


def human(user_id: int, *, private: bool = False) -> BlockRef:
    """What is known of one member; ``private`` is the one of their private conversations."""
    return BlockRef(Scope.USER, user_id, HUMAN, private)


def working_context(channel_id: int) -> BlockRef:
    """Of one session: a channel, a thread or a private conversation."""
    return BlockRef(Scope.SESSION, channel_id, WORKING_CONTEXT)


@dataclass(frozen=True, slots=True)
class Block:
    """A block as it is now. One that nobody has written to has version 0."""

    ref: BlockRef
    value: str = ""
    limit: int = 0
    version: int = 0
    read_only: bool = False
    description: str = ""
    id: int | None = None
    updated_at: datetime | None = None

    @property
    def label(self) -> str:
        return self.ref.label

    @property
    def chars(self) -> int:
        """Length in code points."""
        return len(self.value)

    @classmethod
    def of(cls, row: MemoryBlock) -> Block:
        return cls(
            BlockRef(row.scope, row.scope_key, row.label, row.private),
            row.value,
            row.limit,
            row.version,
            row.read_only,
            row.description,
            row.pk,
            row.updated_at,
        )

    @classmethod
    def absent(cls, ref: BlockRef) -> Block:
        return cls(ref, limit=ref.default_limit)


@dataclass(frozen=True, slots=True)
class Session:
    """What was gone through at the end of a session: messages of one member in one channel, by the keys of the first and the last."""

    channel_id: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Actor:
    """Who changes something, and why."""

    kind: ActorKind
    id: int | None = None
    """The member whose turn it is, or an admin's account number."""
    reason: str = ""
    source_message: int | None = None
    """Key of the message that led to it."""
    call_id: str = ""
    """Of the tool call: the same id changes something once."""
    consent: Consent | None = None
    """Of the member whose data it touches; checked again where it is written."""
    session: Session | None = None
    """What it was drawn from, where that was more than a message."""


@dataclass(frozen=True, slots=True)
class Written:
    """A block after a change."""

    block: str
    version: int
    chars: int
    limit: int

    def result(self) -> dict[str, Any]:
        return {
            "ok": True,
            "block": self.block,
            "version": self.version,
            "chars": self.chars,
            "limit": self.limit,
        }


@dataclass(frozen=True, slots=True)
class Place:
    """Whose turn it is, and where: everything that scopes of memory are derived from."""

    consent: Consent
    channel_id: int
    guild_id: int = 0
    """Discord's id of the server, of a private conversation its channel's; 0 where there is none."""
    private: bool = False
    """A private conversation: nobody but the member reads the answer."""
    message_key: int | None = None
    """Key of the question, where it is stored."""
    zone: tzinfo = UTC
    """Dates are meant and shown in it."""
    recalls_everything: bool = True
    """Whether the channel's policy lets what is known beside its own words be used there."""

    @property
    def user_id(self) -> int:
        return self.consent.user_id

    @property
    def shows_human(self) -> bool:
        """Whether what is known of the member may be used here."""
        return self.private or (self.recalls_everything and get_config().facts.inject_in_groups)

    def human(self) -> BlockRef:
        return human(self.user_id, private=self.private)

    def working_context(self) -> BlockRef:
        return working_context(self.channel_id)

    def actor(self, kind: ActorKind, *, reason: str = "", call_id: str = "") -> Actor:
        return Actor(kind, self.user_id, reason, self.message_key, call_id, self.consent)


@dataclass(frozen=True, slots=True)
class Found:
    """One hit of a search."""

    id: str
    time: datetime
    text: str
    score: float = 0.0
    key: int | None = None
    """Of the message, where it is one."""


@dataclass(frozen=True, slots=True)
class Results:
    hits: tuple[Found, ...] = ()
    next_cursor: str | None = None
    degraded: bool = False
    zone: tzinfo = field(default=UTC)

    def result(self) -> dict[str, Any]:
        return {
            "ok": True,
            "results": [
                {
                    "id": hit.id,
                    "time": hit.time.astimezone(self.zone).isoformat(timespec="minutes"),
                    "text": hit.text,
                    "score": round(hit.score, 4),
                }
                for hit in self.hits
            ],
            "next_cursor": self.next_cursor,
            "degraded": self.degraded,
        }
