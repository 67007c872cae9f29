"""Ask the bot, and see what it would recall."""

from __future__ import annotations

from collections.abc import Iterator

from django.http import HttpRequest
from ninja import Router

from memory import chat, errors, retrieval
from memory.access import Access
from memory.conf import get_config
from memory.models import Channel, Guild, Member
from memory.types import (
    ChannelInfo,
    Citation,
    GuildInfo,
    Person,
    RecalledMemory,
    RecallQuery,
    TurnRequest,
    TurnResult,
)
from musebot_site.api.auth import ASK_OF_SERVERS, READ_OF_SERVERS, require_server
from musebot_site.api.schemas import (
    REFUSALS,
    AskIn,
    AskOut,
    CitationOut,
    Problem,
    RecalledOut,
    RecallIn,
    RecallOut,
)

router = Router(tags=["asking"])
MAX_TOKENS = 1_000_000


@router.post("ask", auth=ASK_OF_SERVERS, response={200: AskOut, REFUSALS | {503}: Problem})
def ask(request: HttpRequest, body: AskIn) -> AskOut:
    """One question, one answer. What is asked here is not shown in Discord and not remembered.

    With `user_id` and `is_group: false` the answer uses what only that member is told in private: their facts and notes. That is
    reading their data, so the key needs the scope `read` as well; 403 without it.
    """
    _require_read_in_private(request, body)
    guild, channel = find_scope(body.guild_id, body.channel_id)
    require_server(request, guild.id if guild else None)
    result = chat.answer(
        TurnRequest(
            question=body.question,
            asker=find_person(body.user_id),
            guild=guild,
            channel=channel,
            operator=True,
            is_group=body.is_group,
            locale=body.locale,
            origin="api",
        )
    )
    if result.kind == "error":
        raise _failure(result)
    return AskOut(
        text=result.text,
        answer=result.answer,
        kind=result.kind,
        model=result.model,
        facts=list(result.facts),
        citations=[citation_out(one) for one in result.citations],
        memories=[recalled(memory) for memory in result.recall.memories],
        degraded=result.recall.degraded,
        timings=dict(result.timings),
        trace_id=result.trace_id,
    )


@router.post("recall", auth=READ_OF_SERVERS, response={200: RecallOut, REFUSALS: Problem})
def recall(request: HttpRequest, body: RecallIn) -> RecallOut:
    """Ranked memories with their scores, best first."""
    if not get_config().memory_enabled:
        raise errors.MemoryDisabled()
    require_server(request, body.guild_id)
    find_scope(body.guild_id, body.channel_id)
    found = retrieval.recall(
        RecallQuery(
            text=body.query,
            guild_id=body.guild_id,
            channel_id=body.channel_id,
            asker_id=body.user_id,
            top_k=body.top_k,
            # A search, not a prompt: the number is the only limit.
            token_budget=MAX_TOKENS,
        )
    )
    return RecallOut(
        results=[recalled(memory) for memory in found.memories],
        left_out=[recalled(memory) for memory in found.left_out],
        degraded=found.degraded,
        timings=dict(found.timings),
    )


def _require_read_in_private(request: HttpRequest, body: AskIn) -> None:
    access: Access = request.auth  # type: ignore[attr-defined]
    if body.user_id is not None and not body.is_group and not access.allows("read"):
        raise errors.Forbidden(
            "To ask as a member in private takes the scope 'read' as well: it uses what is known of them.",
            scope="read",
        )
    if body.user_id is not None and not body.is_group and access.servers is not None:
        raise errors.Forbidden(
            "This key is limited to servers: it cannot ask as a member in private, which uses what is known from everywhere."
        )


def find_scope(guild_id: int | None, channel_id: int | None) -> tuple[GuildInfo | None, ChannelInfo | None]:
    """The server and channel that are named. Raises ``NotFound``, or ``InvalidInput`` if one is not in the other."""
    channel = None
    if channel_id is not None:
        channel = Channel.objects.select_related("guild", "parent").filter(discord_id=channel_id).first()
        if channel is None:
            raise errors.NotFound("There is no such channel.", field="channel_id")
        if guild_id is not None and channel.guild.discord_id != guild_id:
            raise errors.InvalidInput("This channel is not in that server.", field="channel_id")
        guild: Guild | None = channel.guild
    elif guild_id is not None:
        guild = Guild.objects.filter(discord_id=guild_id).first()
        if guild is None:
            raise errors.NotFound("There is no such server.", field="guild_id")
    else:
        guild = None
    return guild_info(guild) if guild else None, channel_info(channel) if channel else None


def guild_info(guild: Guild) -> GuildInfo:
    return GuildInfo(
        id=guild.discord_id, name=guild.name, kind="dm" if guild.kind == Guild.Kind.DM else "guild"
    )


def channel_info(channel: Channel) -> ChannelInfo:
    parent = channel_info(channel.parent) if channel.parent else None
    return ChannelInfo(
        id=channel.discord_id, name=channel.name, kind=channel.kind, topic=channel.topic, parent=parent
    )


def find_person(user_id: int | None) -> Person:
    """The one who asks; nobody in particular has the id 0."""
    member = Member.objects.filter(user_id=user_id).first() if user_id else None
    if member is None:
        return Person(id=user_id or 0, username="somebody" if user_id else "operator")
    return Person(id=member.user_id, username=member.username, display_name=member.display_name)


def citation_out(one: Citation) -> CitationOut:
    return CitationOut(
        n=one.n,
        text=one.text,
        citation=one.citation,
        source=one.source,
        section=one.section,
        score=one.score,
        scores=dict(one.scores),
        id=one.id,
        document_id=one.document_id,
        index=one.index,
        cited=one.cited,
    )


def recalled(memory: RecalledMemory) -> RecalledOut:
    return RecalledOut(
        id=memory.key,
        discord_id=memory.discord_message_id,
        text=memory.text,
        author=memory.author_name,
        user_id=memory.author_id or None,
        channel_id=memory.channel_id,
        channel=memory.channel_name,
        sent_at=memory.sent_at,
        score=memory.score,
        scores=dict(memory.scores),
        line=memory.line,
        injected=memory.injected,
        why_excluded=memory.why_excluded,
    )


def _failure(result: TurnResult) -> errors.MusebotError:
    """The error that a turn ended with, by its code."""
    for kind in _all_errors(errors.MusebotError):
        if kind.code == result.error:
            return kind(kind.__doc__ or "", trace_id=result.trace_id)
    return errors.ModelUnavailable("The model did not answer.", trace_id=result.trace_id)


def _all_errors(kind: type[errors.MusebotError]) -> Iterator[type[errors.MusebotError]]:
    for each in kind.__subclasses__():
        yield each
        yield from _all_errors(each)
