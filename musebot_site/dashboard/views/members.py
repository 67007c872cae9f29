"""Members: who opted in, what is held of them, taking it out, pausing, and forgetting one."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from memory import consent, erasure, export, selectors
from memory.models import ConsentEvent
from memory.pseudonyms import subject_hash
from memory.selectors import own
from musebot_site.dashboard import records
from musebot_site.dashboard.forms import MemberFilterForm, TypedConfirmation
from musebot_site.dashboard.http import Request, page, scope
from musebot_site.dashboard.paging import PAGE_SIZE

FIRST_SECONDS = 2.0
"""Most erasures are done in this time, and whoever asked sees the receipt at once; the worker goes on with the others."""


@require_safe
def index(request: Request) -> HttpResponse:
    form = MemberFilterForm(request.GET)
    found = None
    if form.is_valid():
        filters = form.filters(scope(request))
        found = selectors.members(filters, limit=PAGE_SIZE, cursor=request.GET.get("cursor") or None)
    filtered = any(request.GET.get(name) for name in ("q", "origin"))
    people = found.rows if found else ()
    details = selectors.member_details([row.user_id for row in people])
    context: dict[str, Any] = {
        "form": form,
        "found": found,
        "rows": [(row, details[row.user_id]) for row in people],
        "filtered": filtered,
        "list_url": reverse("dashboard:members"),
    }
    return page(request, "members/index.html", context, parts={"results": "members/_results.html"})


@require_safe
def detail(request: Request, user_id: int) -> HttpResponse:
    member = selectors.member(user_id)
    if member is None:
        raise Http404
    context = {
        "member": member,
        "inventory": selectors.member_inventory(user_id),
        "places": selectors.member_places(user_id),
        "histories": own.histories(user_id),
        "last_used": selectors.member_last_used(user_id),
        "consents": ConsentEvent.objects.filter(subject=subject_hash(user_id)).order_by("-at", "-id")[:20],
    }
    return page(request, "members/detail.html", context)


@require_POST
def take_along(request: Request, user_id: int) -> StreamingHttpResponse:
    """Everything that is stored of a member, as JSON, for whoever answers their request. Raises ``NotFound``."""
    response = StreamingHttpResponse(
        export.member_json(user_id), content_type="application/json; charset=utf-8"
    )
    name = f"musebot-{user_id}-{timezone.now():%Y-%m-%d}.json"
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


@require_POST
def pause(request: Request, user_id: int) -> HttpResponse:
    """Stops or goes on storing what a member says. Neither gives nor ends a consent."""
    paused = request.POST.get("paused") == "1"
    change = consent.pause if paused else consent.resume
    change(user_id=user_id, origin="admin", by=records.actor(request))
    records.note(request, action="member.paused" if paused else "member.resumed")
    messages.success(
        request,
        "Nothing new of them is stored until you go on." if paused else "What they say is stored again.",
    )
    return redirect("dashboard:member", user_id=user_id)


@require_http_methods(["GET", "HEAD", "POST"])
def erase(request: Request, user_id: int) -> HttpResponse:
    """Shows what would go, counted now, and does it once the member's name or id was typed."""
    member = selectors.member(user_id)
    if member is None:
        raise Http404
    form = TypedConfirmation(request.POST or None, accepted=[member.username, str(user_id)])
    if request.method == "POST" and form.is_valid():
        asked = erasure.request(user_id=user_id, origin="admin")
        erasure.run(asked.id, seconds=FIRST_SECONDS)
        return redirect("dashboard:erasure", request_id=asked.id)
    preview = erasure.preview(user_id)
    context = {"member": member, "form": form, "preview": preview, "total": preview.get("memories", 0)}
    return page(request, "members/erase.html", context, status=422 if form.errors else 200)
