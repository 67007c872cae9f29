"""Facts: browse by state, filter, and one of them in a drawer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.http import Http404, HttpResponse, QueryDict
from django.urls import reverse
from django.views.decorators.http import require_safe

from memory import selectors
from memory.conf import get_config
from memory.facts import REASONS, purge_expired
from memory.models import Fact
from memory.selectors.facts import FactTab
from musebot_site.dashboard import records
from musebot_site.dashboard.fact_forms import FactFilterForm, FactForm
from musebot_site.dashboard.http import Request, allowed_servers, only_server, page, require_server, scope
from musebot_site.dashboard.paging import PAGE_SIZE

TAB_NAMES = {
    "active": "Active",
    "contradictions": "Contradictions",
    "quarantined": "Quarantined",
    "superseded": "Superseded",
    "expired": "Expired",
}


@require_safe
def index(request: Request) -> HttpResponse:
    return page(request, "facts/index.html", listing(request), parts={"results": "facts/_results.html"})


@require_safe
def detail(request: Request, fact_id: int) -> HttpResponse:
    """The drawer alone for htmx; otherwise the list, as its filters in the address have it, with the drawer open."""
    row = selectors.fact(fact_id)
    if row is None:
        raise Http404
    require_server(request, server_of(row))
    context: dict[str, Any] = {
        "fact": within(request, row),
        "reason": REASONS.get(row.reason, row.reason),
        "versions": selectors.fact_versions(fact_id),
        "uses": selectors.fact_uses(fact_id),
        "limit": get_config().facts.max_fact_length,
        "filter_query": query_of(request),
    }
    if not request.htmx or request.htmx.history_restore_request:
        context = {**listing(request), **context}
    return page(request, "facts/index.html", context, parts={"drawer": "facts/_detail.html"})


def listing(request: Request) -> dict[str, Any]:
    """What the list needs. What has expired is emptied before it is shown."""
    purge_expired()
    form, guild_id = FactFilterForm(request.GET, only=only_server(request)), scope(request)
    valid = form.is_valid()
    filters = form.filters(guild_id) if valid else None
    if filters and allowed_servers(request) is not None:
        filters = replace(filters, only_here=True)
    if filters and filters.text:
        records.note(request, action="fact.searched")
    found = (
        selectors.facts(filters, limit=PAGE_SIZE, cursor=request.GET.get("cursor") or None)
        if filters
        else None
    )
    tab = filters.tab if filters else "active"
    # A list that ends on its first page was counted by reading it.
    whole = found is not None and not found.next_cursor and not request.GET.get("cursor")
    known: dict[FactTab, int] = {tab: len(found.rows)} if found is not None and whole else {}
    counts = selectors.fact_counts(filters, known) if filters else {}
    filtered = [name for name in ("q", "member", "source") if request.GET.get(name)]
    settings = get_config().facts
    return {
        "form": form,
        "new": FactForm(initial={"member": request.GET.get("member", "")}),
        "found": found,
        "rows": [(within(request, row), REASONS.get(row.reason, row.reason)) for row in found.rows]
        if found
        else [],
        "tab": tab,
        "tabs": [
            (name, title, _with_tab(request, name), counts.get(name)) for name, title in TAB_NAMES.items()
        ],
        "filtered": filtered,
        "filter_query": query_of(request),
        "nothing_yet": valid and not filtered and not any(counts.values()),
        "names": selectors.member_suggestions(guild_id, limit=30),
        "settings": settings,
        "list_url": reverse("dashboard:facts"),
        "may_merge": tab == "active",
        "State": Fact.State,
    }


def server_of(row: Fact) -> int | None:
    """Discord's id of the server that a fact belongs to; None for what is not bound to one, or private."""
    return row.guild.discord_id if row.guild and row.audience != Fact.Audience.PRIVATE else None


def within(request: Request, row: Fact) -> Fact:
    """The fact without the others that it refers to where this account may not see them."""
    servers = allowed_servers(request)
    if servers is not None:
        for name in ("rival", "superseded_by"):
            other: Fact | None = getattr(row, name)
            if other is not None and server_of(other) not in servers:
                setattr(row, name, None)
    return row


def query_of(request: Request) -> str:
    """The filters in the address, for forms that come back to them."""
    query = request.GET.copy()
    query.pop("cursor", None)
    return query.urlencode()


def _with_tab(request: Request, tab: str) -> str:
    query: QueryDict = request.GET.copy()
    query.pop("cursor", None)
    query["tab"] = tab
    return f"{reverse('dashboard:facts')}?{query.urlencode()}"
