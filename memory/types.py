"""Values that cross boundaries: frozen, free of Discord's, Django's and HTTP's types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

Source = Literal["live", "backfill", "catch-up", "import", "reply", "playground", "demo"]


@dataclass(frozen=True, slots=True)
class GuildInfo:
    """A server, or a conversation in private (``kind="dm"``, whose ``id`` is the channel's)."""

    id: int
    name: str = ""
    kind: Literal["guild", "dm"] = "guild"


@dataclass(frozen=True, slots=True)
class ChannelInfo:
    id: int
    name: str = ""
    kind: str = "text"
    """text, announcement, voice, stage, forum, public_thread, private_thread, dm, category"""
    topic: str = ""
    parent: ChannelInfo | None = None
    """The channel that a thread belongs to; a thread inherits its settings."""
    category: ChannelInfo | None = None
    """The category that a channel stands in; what the channel does not set itself is inherited from it."""
    uncategorised: bool = False
    """Known to stand in none. Without this and ``category`` it is not known, and what was known before holds."""


@dataclass(frozen=True, slots=True)
class Person:
    id: int
    username: str
    display_name: str = ""
    is_bot: bool = False
    roles: tuple[tuple[int, str], ...] = ()
    """(id, name) of each role."""


@dataclass(frozen=True, slots=True)
class AttachmentInfo:
    id: int
    filename: str
    url: str
    content_type: str = ""
    size: int = 0


@dataclass(frozen=True, slots=True)
class IncomingMessage:
    """A message as capture sees it. ``text`` is what was written, less mentions of the bot."""

    id: int
    guild: GuildInfo
    channel: ChannelInfo
    author: Person
    text: str
    sent_at: datetime
    edited_at: datetime | None = None
    reply_to: int | None = None
    """Id of the message that this one answers."""
    later_parts: tuple[int, ...] = ()
    """Ids of the further messages that a long answer of the bot goes on in."""
    mentions_users: tuple[Person, ...] = ()
    mentions_roles: tuple[tuple[int, str], ...] = ()
    mentions_everyone: bool = False
    attachments: tuple[AttachmentInfo, ...] = ()


@dataclass(frozen=True, slots=True)
class RecallQuery:
    """What to recall, and for whom.

    ``channel_id`` is the channel of the reply: with it, the server's policy decides which sources its readers may see. Without
    it nobody but the operator reads the result, and the whole server is in scope.
    """

    text: str
    guild_id: int
    channel_id: int | None = None
    asker_id: int | None = None
    top_k: int | None = None
    token_budget: int | None = None
    exclude_discord_ids: frozenset[int] = frozenset()
    """Messages already in the prompt: the one being answered and the rolling context."""
    use_vectors: bool = True
    """False where the question must not be embedded (its author has not opted in)."""
    now: datetime | None = None


@dataclass(frozen=True, slots=True)
class RecalledMemory:
    """One message that was found. ``score`` orders them; ``scores`` holds the parts (cosine, bm25, …)."""

    key: int
    discord_message_id: int | None
    channel_id: int
    channel_name: str
    author_id: int
    author_name: str
    text: str
    sent_at: datetime
    score: float
    scores: Mapping[str, float] = field(default_factory=dict)
    line: str = ""
    """As it enters the prompt: ``[date author] text``."""
    tokens: int = 0
    injected: bool = True
    why_excluded: str = ""
    """Where it was not injected: ``score``, ``budget``, ``top_k``."""


@dataclass(frozen=True, slots=True)
class Recall:
    """The result of a recall: what goes into the prompt, what was left out, and how it was found."""

    memories: tuple[RecalledMemory, ...] = ()
    left_out: tuple[RecalledMemory, ...] = ()
    timings: Mapping[str, float] = field(default_factory=dict)
    """Milliseconds by stage."""
    degraded: str = ""
    """Why the recall was not complete (``no_vectors``, ``timeout``, ``error``, ``same_channel_only``); empty if it was."""
    authors: tuple[int, ...] = ()
    """Members that the question names."""


@dataclass(frozen=True, slots=True)
class Utterance:
    """One message of the rolling context."""

    role: Literal["user", "assistant"]
    name: str
    text: str
    discord_message_id: int | None = None


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """One question to the bot, from Discord, the dashboard, the API or the command line."""

    question: str
    asker: Person
    guild: GuildInfo | None = None
    channel: ChannelInfo | None = None
    message_id: int | None = None
    """Discord's id of the message being answered, if it has one."""
    history: tuple[Utterance, ...] | None = None
    """The rolling context where the caller has it; ``None`` to rebuild it from what is stored for the channel."""
    operator: bool = False
    """Asked by an operator (dashboard, API, command line): the reply is not published in the channel."""
    is_group: bool = True
    locale: str = ""
    """Language of who asks, as Discord names it (``es-ES``); empty where it is not known."""
    origin: str = ""
    """Where it came from: discord, dashboard, api or command; empty for discord, or dashboard where an operator asks."""


@dataclass(frozen=True, slots=True)
class Citation:
    """A passage of a document that a turn considered. ``n`` is the number that the model knew it by; 0 where it was left out."""

    n: int
    text: str
    citation: str
    """``faq.md › Shipping``: safe to show anywhere."""
    source: str = ""
    section: str = ""
    score: float = 0.0
    scores: Mapping[str, float] = field(default_factory=dict)
    id: str = ""
    """The passage's key, for those of stored documents."""
    document_id: str = ""
    index: int = 0
    cited: bool = False
    why_excluded: str = ""
    """Where it was not injected: ``score``, ``top_k``, ``duplicate``, ``budget``."""
    url: str = ""


@dataclass(frozen=True, slots=True)
class TurnDelta:
    """A piece of the answer as it is written."""

    text: str


@dataclass(frozen=True, slots=True)
class TurnResult:
    """The end of a turn. ``text`` is what is shown, ``answer`` what the model said."""

    text: str
    answer: str
    kind: Literal["model", "extractive", "error"]
    trace_id: str
    recall: Recall
    model: str = ""
    prompt: tuple[Mapping[str, Any], ...] = ()
    """The messages as they went to the model."""
    timings: Mapping[str, float] = field(default_factory=dict)
    cut: Mapping[str, int] = field(default_factory=dict)
    """What did not fit: ``history`` messages, ``memories``."""
    error: str = ""
    """Stable code of what went wrong, if anything did."""
    facts: tuple[str, ...] = ()
    """Facts about the one who asked that were in the prompt, oldest first."""
    fact_ids: tuple[int, ...] = ()
    """Their numbers, in the same order: a trace holds no text."""
    citations: tuple[Citation, ...] = ()
    """Passages of documents that were in the prompt, by their numbers."""
    passages_left_out: tuple[Citation, ...] = ()
    """Passages that were found and not used."""

    @property
    def kept(self) -> str:
        """What the history keeps: the model's own answer, without the line of sources."""
        return self.answer if self.kind == "model" and not self.error else self.text


TurnEvent = TurnDelta | TurnResult
