"""Replies that the bot gave, and why each says what it says."""

from __future__ import annotations

import uuid

from django.http import Http404, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from memory import selectors
from memory.chat.cited import passages_of
from memory.models import ReplyMemory
from memory.types import RecalledMemory
from musebot_site.dashboard import pictures
from musebot_site.dashboard.forms import ReplyFilterForm
from musebot_site.dashboard.http import Request, page, scope

PAGE_SIZE = 50


@require_safe
def index(request: Request) -> HttpResponse:
    form = ReplyFilterForm(request.GET)
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
    row = selectors.reply(trace_id)
    if row is None:
        raise Http404
    considered = selectors.reply_memories(trace_id)
    context = {
        "reply": row,
        "asker": selectors.member(row.asker_id) if row.asker_id is not None else None,
        "injected": [_recalled(entry) for entry in considered if entry.injected],
        "left_out": [_recalled(entry) for entry in considered if not entry.injected],
        "facts": selectors.reply_facts(trace_id),
        "passages": passages_of(row),
        "timeline": pictures.timeline(row.timings),
    }
    return page(request, "replies/detail.html", context)


def _recalled(entry: ReplyMemory) -> RecalledMemory:
    """With the words of today: a trace holds none."""
    message = entry.message
    return RecalledMemory(
        key=message.key,
        discord_message_id=message.discord_id,
        channel_id=message.channel_id,
        channel_name=str(message.channel),
        author_id=message.author_id,
        author_name=message.author_name,
        text=message.text or message.captions,
        sent_at=message.sent_at,
        score=entry.score,
        scores=entry.scores,
        injected=entry.injected,
        why_excluded=entry.why_excluded,
    )
