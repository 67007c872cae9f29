"""Facts, by state and member."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from django.db.models import Exists, OuterRef, QuerySet

from memory.models import Fact, FactVersion, GuildMember, ReplyFact
from memory.selectors.paging import Page, keyset_page

FactTab = Literal["active", "contradictions", "quarantined", "superseded", "expired"]
FACT_TABS: tuple[FactTab, ...] = ("active", "contradictions", "quarantined", "superseded", "expired")
COUNT_LIMIT = 1_000


@dataclass(frozen=True, slots=True)
class FactFilters:
    tab: FactTab = "active"
    text: str = ""
    user_id: int | None = None
    guild_id: int | None = None
    """Discord's id: facts of members of this server that were learned there, or are not bound to a place."""
    source: str = ""
    only_here: bool = False
    """With ``guild_id``: leaves out what is not bound to a place, and what was learned in private."""


_RELATED: dict[FactTab, tuple[str, ...]] = {
    "contradictions": ("rival__guild",),
    "superseded": ("superseded_by__guild",),
}
"""The other facts that a tab names."""


def facts(filters: FactFilters, *, limit: int = 50, cursor: str | None = None) -> Page[Fact]:
    """Those that changed last come first."""
    rows = _matching(filters).select_related("member", "guild", *_RELATED.get(filters.tab, ()))
    return keyset_page(rows, moment="updated_at", key="id", limit=limit, cursor=cursor)


def fact_counts(filters: FactFilters, known: Mapping[FactTab, int] | None = None) -> dict[str, int]:
    """How many there are on each tab with the other filters as they are; at most ``COUNT_LIMIT`` + 1.

    ``known``: tabs that were counted otherwise.
    """
    found: dict[str, int] = {}
    for tab in FACT_TABS:
        if known and tab in known:
            found[tab] = known[tab]
            continue
        rows = _matching(replace(filters, tab=tab))
        found[tab] = rows.order_by()[: COUNT_LIMIT + 1].count()
    return found


def facts_waiting() -> int:
    """Facts that wait for a person to decide."""
    return Fact.objects.filter(state=Fact.State.QUARANTINED)[: COUNT_LIMIT + 1].count()


def fact(fact_id: int) -> Fact | None:
    rows = Fact.objects.select_related(
        "member", "guild", "evidence__channel", "rival__guild", "superseded_by__guild"
    )
    return rows.filter(id=fact_id).first()


def facts_by_id(ids: list[int]) -> list[Fact]:
    rows = Fact.objects.filter(id__in=ids).select_related("member", "guild", "evidence")
    return list(rows.order_by("created_at", "id"))


def fact_versions(fact_id: int) -> list[FactVersion]:
    """Newest first."""
    return list(FactVersion.objects.filter(fact_id=fact_id).order_by("-id")[:50])


def fact_uses(fact_id: int, *, limit: int = 10) -> list[ReplyFact]:
    """Replies that had it in their prompt, newest first."""
    uses = ReplyFact.objects.filter(fact_id=fact_id).select_related("reply", "reply__question")
    return list(uses.order_by("-reply__created_at")[:limit])


def reply_facts(trace_id: uuid.UUID) -> list[Fact]:
    """Facts that a reply had in its prompt, with the words of today."""
    rows = Fact.objects.filter(uses__reply_id=trace_id).exclude(text="").select_related("member")
    return list(rows.order_by("created_at", "id"))


def _matching(filters: FactFilters) -> QuerySet[Fact]:
    rows = Fact.objects.all()
    if filters.tab == "contradictions":
        rows = rows.filter(state=Fact.State.QUARANTINED, reason="contradiction")
    elif filters.tab == "quarantined":
        rows = rows.filter(state=Fact.State.QUARANTINED).exclude(reason="contradiction")
    else:
        rows = rows.filter(state=filters.tab)
    if filters.user_id is not None:
        rows = rows.filter(member_id=filters.user_id)
    if filters.source:
        rows = rows.filter(source=filters.source)
    if filters.text:
        rows = rows.filter(text__icontains=filters.text)
    if filters.guild_id is not None and filters.only_here:
        rows = rows.filter(guild__discord_id=filters.guild_id).exclude(audience=Fact.Audience.PRIVATE)
    elif filters.guild_id is not None:
        here = GuildMember.objects.filter(member=OuterRef("member"), guild__discord_id=filters.guild_id)
        elsewhere = rows.model.objects.filter(guild__isnull=False).exclude(guild__discord_id=filters.guild_id)
        rows = rows.filter(Exists(here)).exclude(id__in=elsewhere.values("id"))
    return rows
