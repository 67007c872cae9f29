"""Members, and what is held of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Exists, Max, OuterRef, Q, QuerySet

from memory.models import (
    ArchivalEntry,
    ConsentEvent,
    DailyCount,
    Fact,
    GuildMember,
    Member,
    MemoryBlock,
    Message,
    OutboxEntry,
    Reply,
    ReplyMemory,
    Scan,
    ScanMember,
)
from memory.pseudonyms import subject_hash
from memory.selectors.paging import Page, keyset_page

MAX_ID = 2**63 - 1
HISTORY_ORDER = (
    Scan.State.FAILED,
    Scan.State.PAUSED,
    Scan.State.RUNNING,
    Scan.State.LISTING,
    Scan.State.GATHERING,
    Scan.State.CANCELLED,
    Scan.State.DONE,
)


@dataclass(frozen=True, slots=True)
class MemberFilters:
    text: str = ""
    """Part of a name, or an id."""
    guild_id: int | None = None
    origin: str = ""


def members(filters: MemberFilters, *, limit: int = 50, cursor: str | None = None) -> Page[Member]:
    """Those who opted in last come first."""
    rows = Member.objects.all()
    if filters.guild_id is not None:
        here = GuildMember.objects.filter(member=OuterRef("pk"), guild__discord_id=filters.guild_id)
        rows = rows.filter(Exists(here))
    if filters.origin:
        rows = rows.filter(origin=filters.origin)
    if filters.text:
        rows = rows.filter(_named(filters.text))
    return keyset_page(rows, moment="consented_at", key="user_id", limit=limit, cursor=cursor)


@dataclass(frozen=True, slots=True)
class MemberDetails:
    """What a list tells of a member beside their own row."""

    facts: int = 0
    history: str = ""
    """How the reading of what they wrote before they opted in stands; empty where none was asked for."""


def member_details(user_ids: Sequence[int]) -> dict[int, MemberDetails]:
    """Of each of these members, by id; two queries for all of them."""
    # The state is no condition: SQLite would go through all active facts rather than through those of some members.
    facts = Fact.objects.filter(member_id__in=user_ids).order_by().values_list("member_id")
    counts = dict(facts.annotate(many=Count("pk", filter=Q(state=Fact.State.ACTIVE))))
    histories: dict[int, set[str]] = {}
    rows = ScanMember.objects.filter(member_id__in=user_ids, scan__kind=Scan.Kind.BACKFILL)
    for user_id, state in rows.values_list("member_id", "scan__state"):
        histories.setdefault(user_id, set()).add(state)
    return {
        one: MemberDetails(counts.get(one, 0), _history_word(histories.get(one, set()))) for one in user_ids
    }


def _history_word(states: set[str]) -> str:
    """Of several servers, the state that somebody has to know most."""
    return next((str(one.label) for one in HISTORY_ORDER if one in states), "")


def member_last_used(user_id: int) -> datetime | None:
    """When something that the member said was last put before the model."""
    used = Message.objects.filter(member_id=user_id, times_used__gt=0)
    return used.aggregate(last=Max("last_used_at"))["last"]  # type: ignore[no-any-return]


def _named(text: str) -> Q:
    plain = text.removeprefix("@")
    query = Q(username__icontains=plain) | Q(display_name__icontains=plain)
    return query | Q(user_id=int(plain)) if _is_id(plain) else query


def _is_id(text: str) -> bool:
    return text.isascii() and text.isdecimal() and int(text) <= MAX_ID


def member(user_id: int) -> Member | None:
    return Member.objects.filter(user_id=user_id).first()


def find_member(text: str, *, guild_id: int | None = None) -> Member | None:
    """By id, user name, or display name in full; with ``guild_id`` only somebody who was seen on that server."""
    plain, rows = text.strip().removeprefix("@"), Member.objects.all()
    if guild_id is not None:
        rows = rows.filter(guilds__guild__discord_id=guild_id)
    if _is_id(plain):
        return rows.filter(user_id=int(plain)).first()
    by_name = rows.filter(username__iexact=plain).first()
    return by_name or rows.filter(display_name__iexact=plain).first()


def member_suggestions(guild_id: int | None, *, limit: int = 100) -> list[Member]:
    """Members with the most memories, of one server or of all, as choices: their ids and names."""
    names = Member.objects.only("user_id", "username", "display_name")
    rows: QuerySet[Member] = names.filter(withdrawn_at=None)
    if guild_id is not None:
        rows = rows.filter(guilds__guild__discord_id=guild_id)
    return list(rows.order_by("-message_count", "user_id")[:limit])


def member_places(user_id: int) -> list[GuildMember]:
    """The servers a member is known in, with their count of memories there."""
    rows = GuildMember.objects.filter(member_id=user_id).select_related("guild")
    return list(rows.order_by("-message_count", "id")[:50])


def member_inventory(user_id: int) -> dict[str, int]:
    """What is held of a member, by store; every figure is a count of rows."""
    own = Message.objects.filter(member_id=user_id)
    return {
        "messages": own.filter(is_bot=False).count(),
        "replies of the bot to them": own.filter(is_bot=True).count(),
        "waiting to be embedded": own.filter(embedding=Message.Embedding.PENDING).count(),
        "failed to be embedded": own.filter(embedding=Message.Embedding.FAILED).count(),
        "held back from recall": own.filter(paused=True).count(),
        "facts kept": Fact.objects.filter(member_id=user_id).count(),
        "traces of their questions": Reply.objects.filter(asker_id=user_id).count(),
        "uses in answers": ReplyMemory.objects.filter(message__member_id=user_id).count(),
        "days with messages": DailyCount.objects.filter(member_id=user_id).count(),
        "work in the queue": OutboxEntry.objects.filter(user_id=user_id).count(),
        "core memory blocks": MemoryBlock.objects.filter(member_id=user_id).count(),
        "archival entries": ArchivalEntry.objects.filter(member_id=user_id).count(),
        "consent events": ConsentEvent.objects.filter(subject=subject_hash(user_id)).count(),
    }
