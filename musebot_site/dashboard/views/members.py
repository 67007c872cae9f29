"""Members: who opted in, what is held of them, and forgetting one."""

from __future__ import annotations

from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from memory import erasure, selectors
from memory.models import ConsentEvent
from memory.pseudonyms import subject_hash
from musebot_site.dashboard.forms import MemberFilterForm, TypedConfirmation
from musebot_site.dashboard.http import Request, page, scope

PAGE_SIZE = 40
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
    context = {"form": form, "found": found, "filtered": filtered, "list_url": reverse("dashboard:members")}
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
        "consents": ConsentEvent.objects.filter(subject=subject_hash(user_id)).order_by("-at", "-id")[:20],
    }
    return page(request, "members/detail.html", context)


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
