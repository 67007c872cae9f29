"""What goes in and out, as JSON. Ids of Discord and keys of memories are strings: not every JSON reader holds 64 bits."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from ninja import Schema
from pydantic import (
    AfterValidator,
    AwareDatetime,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    WithJsonSchema,
)

MAX_ID = 2**63 - 1
MAX_TEXT = 8000


def parse_id(value: Any) -> int:
    """An id that was given as digits, or as a number."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= 19:
        value = int(value)
    if not isinstance(value, bool) and isinstance(value, int) and 0 < value <= MAX_ID:
        return int(value)
    raise ValueError("an id is a string of up to 19 digits")


def _without_nul(value: str) -> str:
    if "\0" in value:
        raise ValueError("the text contains a NUL character")
    return value


def _not_blank(value: str) -> str:
    if not value.strip():
        raise ValueError("the text is empty")
    return value


Id = Annotated[
    int,
    BeforeValidator(parse_id),
    PlainSerializer(str, return_type=str),
    WithJsonSchema({"type": "string", "pattern": "^[0-9]{1,19}$", "examples": ["1400000000000000001"]}),
]
Text = Annotated[
    str, Field(min_length=1, max_length=MAX_TEXT), AfterValidator(_without_nul), AfterValidator(_not_blank)
]
Cursor = Annotated[str, Field(max_length=400), AfterValidator(_without_nul)]


class Input(Schema):
    """A body. A field that is not known is an error: it would be ignored in silence otherwise."""

    model_config = ConfigDict(extra="forbid")


class Problem(Schema):
    error: str = Field(description="Stable code.")
    message: str
    details: Any = None


REFUSALS = frozenset({400, 401, 403, 404, 409, 413, 422})
"""How a route may refuse; a route that asks a model adds 503."""


class AskIn(Input):
    question: Text
    user_id: Id | None = Field(None, description="Who asks. Without it nobody does, and 'I' names no one.")
    guild_id: Id | None = Field(None, description="Server whose memories may be used. Without it none are.")
    channel_id: Id | None = Field(
        None, description="Where the answer is to be shown: only what its readers may see is used."
    )
    is_group: bool = Field(
        True,
        description="False: a private conversation with `user_id`, whose facts and notes are used then; needs the scope `read` too.",
    )
    locale: Annotated[str, Field(max_length=20, pattern="^[A-Za-z0-9_-]*$")] = Field(
        "", description="Language of who asks (en-US, es-ES): that of the line of sources."
    )


class RecalledOut(Schema):
    id: Id
    discord_id: Id | None
    text: str
    author: str
    user_id: Id | None
    channel_id: Id
    channel: str
    sent_at: datetime
    score: float
    scores: dict[str, float]
    line: str = ""
    injected: bool = True
    why_excluded: str = ""


class CitationOut(Schema):
    n: int = Field(description="The number that the answer cites it by.")
    text: str
    citation: str
    source: str
    section: str
    score: float
    scores: dict[str, float]
    id: str
    document_id: str
    index: int
    cited: bool


class AskOut(Schema):
    text: str = Field(description="The answer as it is shown.")
    answer: str = Field(description="What the model said.")
    kind: Literal["model", "extractive", "error"] = Field(
        description="'extractive': put together from memories, since no model is connected."
    )
    model: str
    citations: list[CitationOut] = Field([], description="Passages of documents that were used.")
    facts: list[str] = Field([], description="Facts about the one who asked that were used.")
    memories: list[RecalledOut]
    degraded: str = Field("", description="Why recall was not complete; empty if it was.")
    timings: dict[str, float]
    trace_id: str


class RecallIn(Input):
    query: Text
    guild_id: Id
    channel_id: Id | None = Field(
        None,
        description="With it, only what the readers of this channel may see; without it the whole server.",
    )
    user_id: Id | None = Field(None, description="Who asks.")
    top_k: int | None = Field(None, ge=1, le=100)


class RecallOut(Schema):
    results: list[RecalledOut]
    left_out: list[RecalledOut] = Field(description="What was found and is too far off, or over the limit.")
    degraded: str = ""
    timings: dict[str, float]


class MemoryOut(Schema):
    id: Id
    discord_id: Id | None
    guild_id: Id
    channel_id: Id
    channel: str
    user_id: Id = Field(description="The member it belongs to.")
    author_id: Id
    author: str
    is_bot: bool
    text: str
    captions: str
    reply_to: Id | None
    sent_at: datetime
    edited_at: datetime | None
    stored_at: datetime
    source: str
    embedding: str
    paused: bool
    score: float | None = None


class MemoriesOut(Schema):
    results: list[MemoryOut]
    next_cursor: str | None


class RemovedOut(Schema):
    removed: int


class MemberOut(Schema):
    user_id: Id
    username: str
    display_name: str
    consented_at: datetime
    notice_version: str
    origin: str
    paused_at: datetime | None
    erasing: bool
    last_message_at: datetime | None
    counts: dict[str, int]
    backfill: Any = None


class FactOut(Schema):
    id: Id
    text: str
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None
    source: Literal["auto", "manual"]


class FactsOut(Schema):
    facts: list[FactOut]


class FactsIn(Input):
    facts: Annotated[list[Text], Field(min_length=1, max_length=100)]
    ttl: str | int | float | None = Field(
        None, description='"90d", "12h", or milliseconds; the configured one if left out.'
    )
    source: Literal["auto", "manual"] = "manual"


class AddedOut(Schema):
    added: list[str] = Field(description="Those that were new.")


class ErasureIn(Input):
    """Without anything but ``user_id``, everything goes and the consent ends; otherwise that part, and the consent stays."""

    user_id: Id
    guild_id: Id | None = None
    channel_id: Id | None = Field(None, description="With its threads.")
    from_: AwareDatetime | None = Field(None, alias="from", description="With a zone.")
    to: AwareDatetime | None = Field(None, description="With a zone; not included.")
    memory_id: Id | None = Field(None, description="One memory, given alone.")


class ErasureOut(Schema):
    id: str
    state: str
    stage: str
    total: int
    done: int
    origin: str
    received_at: datetime
    due_at: datetime | None
    finished_at: datetime | None
    part: dict[str, Any] | None = Field(None, description="What goes, where it is not everything.")
    error: str
    remains: dict[str, Any]
    receipt: dict[str, Any] | None = Field(None, description="Once it is done.")


class JobOut(Schema):
    id: Id
    kind: str
    subject: str
    state: str
    attempts: int
    due_at: datetime
    lease_until: datetime | None
    error: str
    message: str
    created_at: datetime


class JobsOut(Schema):
    summary: list[dict[str, Any]]
    results: list[JobOut]
    next_cursor: str | None


class KeyIn(Input):
    name: Annotated[str, Field(min_length=1, max_length=100)]
    scopes: Annotated[list[str], Field(min_length=1, max_length=10)]
    guild_ids: Annotated[list[Id], Field(min_length=1, max_length=200)] | None = Field(
        None,
        description="Servers that it is limited to. Without it, it works for all of them and for what belongs to none.",
    )


class KeyOut(Schema):
    id: Id
    name: str
    prefix: str
    scopes: list[str]
    guild_ids: list[Id] | None = Field(description="Servers that it is limited to; null for no limit.")
    created_at: datetime
    last_used_at: datetime | None
    revoked_at: datetime | None


class NewKeyOut(KeyOut):
    key: str = Field(description="Shown this once.")


class KeysOut(Schema):
    results: list[KeyOut]
