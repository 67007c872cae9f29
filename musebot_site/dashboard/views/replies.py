"""Replies that the bot gave, and why each says what it says."""

from __future__ import annotations

import uuid

from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from memory import selectors
from memory.chat import erasing, why
from musebot_site.dashboard import pictures
from musebot_site.dashboard.forms import ReplyFilterForm
from musebot_site.dashboard.http import Request, only_server, page, require_server, scope
from musebot_site.dashboard.paging import PAGE_SIZE


@require_safe
def index(request: Request) -> HttpResponse:
    form = ReplyFilterForm(request.GET, only=only_server(request))
    found = None
    if form.is_valid():
        filters = form.filters(scope(request))
        found = selectors.replies(filters, limit=PAGE_SIZE, cursor=request.GET.get("cursor") or None)
    filtered = any(request.GET.get(name) for name in ("kind", "origin", "member"))
    context = {"form": form, "found": found, "filtered": filtered, "list_url": reverse("dashboard:replies")}
    return page(request, "replies/index.html", context, parts={"results": "replies/_results.html"})


@require_safe
def detail(request: Request, trace_id: uuid.UUID) -> HttpResponse:
    """Memories are named by key in a trace, so what was erased since is gone from here too."""
    found = why.explain(trace_id)
    if found is None:
        raise Http404
    row = found.reply
    require_server(request, row.guild.discord_id if row.guild else None)
    context = {
        "why": found,
        "reply": row,
        "asker": selectors.member(row.asker_id) if row.asker_id is not None else None,
        "timeline": pictures.timeline(row.timings),
        "here": reverse("dashboard:reply", args=[trace_id]),
        "list_url": reverse("dashboard:replies"),
    }
    return page(request, "replies/detail.html", context)


@require_POST
def erase(request: Request, trace_id: uuid.UUID) -> HttpResponse:
    """Takes back the reply as it is remembered. The message on Discord stays where it is."""
    row = selectors.reply(trace_id)
    if row is None:
        raise Http404
    require_server(request, row.guild.discord_id if row.guild else None)
    erasing.erase_reply(trace_id)
    messages.success(
        request, "Erased the reply: it is neither remembered nor explained any more. On Discord it stays."
    )
    return HttpResponseRedirect(reverse("dashboard:replies"))
