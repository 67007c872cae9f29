"""Memories: browse, filter, search, and one of them in a drawer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from django.http import Http404, HttpResponse, QueryDict
from django.urls import reverse
from django.views.decorators.http import require_safe

from memory import retrieval, selectors
from memory.models import Message
from memory.selectors import MemoryFilters
from musebot_site.dashboard import records
from musebot_site.dashboard.forms import MemoryFilterForm
from musebot_site.dashboard.http import Request, only_server, page, require_server, scope
from musebot_site.dashboard.paging import PAGE_SIZE


@dataclass(slots=True)
class Listing:
    """One page of the list, however it was found."""

    rows: list[Message] = field(default_factory=list)
    scores: dict[int, float] = field(default_factory=dict)
    next_cursor: str | None = None
    previous_cursor: str | None = None


@require_safe
def index(request: Request) -> HttpResponse:
    return page(
        request, "memories/index.html", _context(request), parts={"results": "memories/_results.html"}
    )


@require_safe
def detail(request: Request, key: int) -> HttpResponse:
    """The drawer alone for htmx; otherwise the list, as its filters in the address have it, with the drawer open."""
    row = selectors.memory(key)
    if row is None:
        raise Http404
    require_server(request, row.guild.discord_id)
    context: dict[str, Any] = {
        "memory": row,
        "uses": selectors.uses(key),
        "jump": jump_link(row),
        "filter_query": _query_of(request),
    }
    if not request.htmx or request.htmx.history_restore_request:
        context = {**_context(request), **context}
    elif request.GET.get("q"):
        context["score"] = _find(request, *_form(request)).scores.get(key)
    return page(request, "memories/index.html", context, parts={"drawer": "memories/_detail.html"})


def _context(request: Request) -> dict[str, Any]:
    form, guild_id = _form(request)
    valid = form.is_valid()
    found = _find(request, form, guild_id) if valid else Listing()
    active = form.active() if valid else []
    return {
        "form": form,
        "found": found,
        "several": guild_id is None and len(selectors.guilds(limit=2)) > 1,
        "rows": [(row, found.scores.get(row.key)) for row in found.rows],
        "query": form.cleaned_data.get("q", "") if valid else "",
        "active": [(label, _without(request, name)) for name, label in active],
        "names": selectors.member_suggestions(guild_id, limit=30),
        "filter_query": _query_of(request),
        "nothing_yet": valid and not found.rows and not active and not request.GET.get("q"),
        "list_url": reverse("dashboard:memories"),
    }


def _form(request: Request) -> tuple[MemoryFilterForm, int | None]:
    guild_id = scope(request)
    return MemoryFilterForm(request.GET, guild_id=guild_id, only=only_server(request)), guild_id


def _find(request: Request, form: MemoryFilterForm, guild_id: int | None) -> Listing:
    if not form.is_valid():
        return Listing()
    filters, cursor = form.filters(), request.GET.get("cursor") or None
    if form.cleaned_data["q"].strip():
        if "key" not in (request.resolver_match.kwargs if request.resolver_match else {}):
            records.note(request, action="memory.searched")
        return _search(form, filters, cursor)
    found = selectors.memories(filters, limit=PAGE_SIZE, cursor=cursor)
    return Listing(list(found.rows), {}, found.next_cursor, found.previous_cursor)


def _search(form: MemoryFilterForm, filters: MemoryFilters, cursor: str | None) -> Listing:
    hits, following = retrieval.search(
        text=form.cleaned_data["q"].strip(),
        mode="semantic" if form.cleaned_data["mode"] == "semantic" else "keyword",
        guild_id=filters.guild_id,
        channel_id=filters.channel_id,
        user_id=filters.user_id,
        since=filters.since,
        until=filters.until,
        limit=PAGE_SIZE,
        offset_cursor=cursor,
    )
    rows = selectors.memories_by_key([hit.key for hit in hits])
    # What the indexes do not know is left out here; such a page may be shorter than the others.
    rows = [
        row
        for row in rows
        if (not filters.source or row.source == filters.source)
        and (not filters.embedding or row.embedding == filters.embedding)
    ]
    return Listing(rows, {hit.key: hit.score for hit in hits}, following)


def _query_of(request: Request) -> str:
    """The filters as they stand in the address, the server named even where it was chosen earlier."""
    query = request.GET.copy()
    query.pop("cursor", None)
    guild_id = scope(request)
    query["guild"] = str(guild_id) if guild_id is not None else ""
    for name in [name for name, value in query.items() if not value and name != "guild"]:
        del query[name]
    return query.urlencode()


def _without(request: Request, name: str) -> str:
    query = QueryDict(_query_of(request), mutable=True)
    query.pop(name, None)
    return f"?{query.urlencode()}"


def jump_link(row: Message) -> str:
    """Where the message stands on Discord; empty for what was never there."""
    if row.discord_id is None or row.guild.is_sample or row.guild.kind == row.guild.Kind.SANDBOX:
        return ""
    server = "@me" if row.guild.kind == row.guild.Kind.DM else str(row.guild.discord_id)
    return f"https://discord.com/channels/{server}/{row.channel_id}/{row.discord_id}"
