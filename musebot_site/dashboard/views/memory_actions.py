"""What is done to memories: erase some or all that match, hold back from recall and take up again, embed anew."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect, QueryDict
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.views.decorators.http import require_POST

from memory import embedding, erasure, selectors
from memory.errors import InvalidInput
from memory.retrieval import pausing
from memory.selectors import MemoryFilters
from musebot_site.dashboard import records
from musebot_site.dashboard.forms import MemoryFilterForm, TypedConfirmation
from musebot_site.dashboard.http import Request, allowed_servers, back_to, number, page

SECONDS = 15.0
"""How long one request may erase; what is left is asked for again."""


@require_POST
def count(request: Request) -> HttpResponse:
    """How many match, exactly; the part that says so also makes the actions mean all of them."""
    filters, _ = _filters(request)
    matching = selectors.count_matching(filters)
    records.note(request, counts={"memories": matching})
    return page(request, "memories/_matching.html", {"matching": matching})


@require_POST
def erase(request: Request) -> HttpResponse:
    """Asks first. The selected ones need a click, all that match need the number typed."""
    if request.POST.get("scope") == "matching":
        return _erase_matching(request)
    keys = _keys(request)
    if not keys:
        messages.info(request, "Nothing was selected.")
        return HttpResponseRedirect(_back(request))
    if "confirmed" in request.POST:
        erased = erasure.erase_messages(keys)
        records.note(request, counts={"memories": erased})
        messages.success(request, f"Erased {erased:,} {'memory' if erased == 1 else 'memories'}.")
        return HttpResponseRedirect(_back(request))
    rows = selectors.memories_by_key(keys)
    records.note(request, action="memory.listed", counts={"memories": len(rows)})
    context = {
        "rows": rows[:8],
        "more": max(len(rows) - 8, 0),
        "number": len(rows),
        "keys": [row.key for row in rows],
    }
    return page(request, "memories/erase_selected.html", {**context, **_return(request)})


def _erase_matching(request: Request) -> HttpResponse:
    filters, active = _filters(request)
    counted_at = _moment(request.POST.get("counted_at", "")) or timezone.now()
    filters = replace(filters, stored_before=counted_at)
    matching = selectors.count_matching(filters)
    accepted = [str(matching), f"{matching:,}"]
    form = TypedConfirmation(request.POST if "typed" in request.POST else None, accepted=accepted)
    records.note(request, action="memory.counted", counts={"memories": matching})
    if matching and "typed" in request.POST and form.is_valid():
        erased = _erase(selectors.keys_matching(filters))
        records.note(request, action="memory.erased", counts={"memories": erased})
        matching = selectors.count_matching(filters)
        if not matching:
            messages.success(request, f"Erased {erased:,} memories.")
            return HttpResponseRedirect(_back(request))
        messages.info(request, f"Erased {erased:,} memories; {matching:,} are left. Confirm again to go on.")
        form = TypedConfirmation(None, accepted=[str(matching), f"{matching:,}"])
    context = {"form": form, "number": matching, "active": active, "counted_at": counted_at.isoformat()}
    return page(
        request,
        "memories/erase_matching.html",
        {**context, **_return(request)},
        status=422 if form.errors else 200,
    )


def _erase(batches: Iterator[list[int]]) -> int:
    until, erased = time.monotonic() + SECONDS, 0
    for keys in batches:
        erased += erasure.erase_messages(keys)
        if time.monotonic() > until:
            break
    return erased


@require_POST
def pause(request: Request) -> HttpResponse:
    """Holds memories back from recall, or takes them up again."""
    paused = request.POST.get("paused") == "1"
    if request.POST.get("scope") == "matching":
        filters, _ = _filters(request)
        changed = sum(
            pausing.set_paused(keys=keys, paused=paused) for keys in selectors.keys_matching(filters)
        )
    else:
        changed = pausing.set_paused(keys=_keys(request), paused=paused)
    records.note(
        request, action="memory.paused" if paused else "memory.resumed", counts={"memories": changed}
    )
    noun = "memory" if changed == 1 else "memories"
    done = "are no longer recalled" if paused else "are recalled again"
    done = done.replace("are", "is") if changed == 1 else done
    messages.success(request, f"{changed:,} {noun} {done}." if changed else "Nothing had to be changed.")
    return HttpResponseRedirect(_back(request, memory=request.POST.get("drawer", "")))


@require_POST
def embed_again(request: Request) -> HttpResponse:
    """Has the vectors of memories made anew."""
    if request.POST.get("scope") == "matching":
        filters, _ = _filters(request)
        queued = sum(embedding.embed_again(keys) for keys in selectors.keys_matching(filters))
    else:
        queued = embedding.embed_again(_keys(request))
    records.note(request, counts={"memories": queued})
    noun = "memory is" if queued == 1 else "memories are"
    messages.success(
        request, f"{queued:,} {noun} embedded again." if queued else "Nothing there has a vector."
    )
    return HttpResponseRedirect(_back(request, memory=request.POST.get("drawer", "")))


def _keys(request: Request) -> list[int]:
    """Those that were selected, without what this account may not see."""
    found = [number(value) for value in request.POST.getlist("key")[:500]]
    keys, servers = [key for key in found if key is not None], allowed_servers(request)
    if servers is None:
        return keys
    rows = [row for row in selectors.memories_by_key(keys) if row.guild.discord_id in servers]
    if len(places := {row.guild.discord_id for row in rows}) == 1:
        records.note(request, guild=places.pop())
    return [row.key for row in rows]


def _filters(request: Request) -> tuple[MemoryFilters, list[str]]:
    """The filters that the list had. Raises ``InvalidInput`` rather than meaning more than was seen."""
    query = QueryDict(request.POST.get("filters", ""))
    if query.get("q", "").strip():
        raise InvalidInput(
            "A search ranks everything, so nothing is its exact result. Use filters, or select on the page."
        )
    guild = query.get("guild", "")
    guild_id = number(guild)
    if guild and (guild_id is None or selectors.guild(guild_id) is None):
        raise InvalidInput("That server is not known any more. Nothing was changed.")
    servers = allowed_servers(request)
    if servers is not None and guild_id not in servers:
        raise InvalidInput("Choose one of your servers first. Nothing was changed.")
    records.note(request, guild=guild_id)
    form = MemoryFilterForm(query, guild_id=guild_id, only=guild_id if servers is not None else None)
    if not form.is_valid():
        raise InvalidInput("The filters are not valid any more. Nothing was changed.")
    active = [label for _, label in form.active()]
    server = selectors.guild(guild_id) if guild_id is not None else None
    return form.filters(), [f"Server: {server.name}" if server else "All servers", *active]


def _moment(text: str) -> datetime | None:
    try:
        moment = parse_datetime(text)
    except ValueError:
        return None
    return moment if moment and moment.tzinfo else None


def _return(request: Request) -> dict[str, Any]:
    return {
        "filters": request.POST.get("filters", ""),
        "back": _back(request),
        "next": request.POST.get("next", ""),
    }


def _back(request: Request, memory: str = "") -> str:
    key = number(memory)
    path = reverse("dashboard:memory", args=[key]) if key is not None else reverse("dashboard:memories")
    return back_to(request, f"{path}?{QueryDict(request.POST.get('filters', '')).urlencode()}")
