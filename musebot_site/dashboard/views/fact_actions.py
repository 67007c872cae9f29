"""What is done to facts: add, edit, renew, let out of quarantine, settle a contradiction, merge, forget."""

from __future__ import annotations

from typing import cast

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect, QueryDict
from django.urls import reverse
from django.views.decorators.http import require_POST

from memory import facts, selectors
from memory.errors import InvalidInput, MusebotError
from memory.facts.decisions import Choice
from memory.models import Fact
from musebot_site.dashboard.fact_forms import FactForm
from musebot_site.dashboard.http import Request, number, page

SETTLED = {
    "new": "The new fact is kept, the old one is history.",
    "old": "The old fact is kept, the new one is gone.",
    "both": "Both facts are kept.",
}


@require_POST
def add(request: Request) -> HttpResponse:
    form = FactForm(request.POST)
    if not form.is_valid():
        reason = next(iter(form.errors.values()))[0]
        messages.error(request, f"{reason} Nothing was added.")
        return _back(request)
    member = form.cleaned_data["member"]
    try:
        new = facts.add(user_id=member.user_id, text=form.cleaned_data["text"])
    except MusebotError as error:
        messages.error(request, error.message)
        return _back(request)
    messages.success(
        request, f"Added to what is known of {member}." if new else "This is known; it was renewed."
    )
    return _back(request)


@require_POST
def edit(request: Request) -> HttpResponse:
    key, text = _one(request), request.POST.get("text", "")
    try:
        facts.edit(fact_id=key, text=text, before=request.POST.get("before"))
    except MusebotError as error:
        messages.error(request, error.message)
    else:
        messages.success(request, "Changed. The old words are in its history.")
    return _back(request, fact=key)


@require_POST
def renew(request: Request) -> HttpResponse:
    return _each(request, lambda key: facts.renew(fact_id=key), "Renewed {}.")


@require_POST
def approve(request: Request) -> HttpResponse:
    return _each(request, lambda key: facts.approve(fact_id=key), "Let {} out of quarantine.")


@require_POST
def settle(request: Request) -> HttpResponse:
    choice = cast(Choice, request.POST.get("choice", ""))
    try:
        facts.settle(fact_id=_one(request), choice=choice)
    except MusebotError as error:
        messages.error(request, error.message)
    else:
        messages.success(request, SETTLED[choice])
    return _back(request)


@require_POST
def merge(request: Request) -> HttpResponse:
    """Shows the facts side by side; with one chosen, makes one of them."""
    rows = selectors.facts_by_id(_keys(request))
    keep = number(request.POST.get("keep", ""))
    context = {"rows": rows, "filters": request.POST.get("filters", ""), "back": _address(request)}
    if len(rows) < 2 or len({row.member_id for row in rows}) > 1:
        messages.info(request, "Select two facts or more of one member to merge them.")
        return _back(request)
    if keep is None:
        return page(request, "facts/merge.html", context)
    try:
        facts.merge(keep_id=keep, other_ids=[row.id for row in rows], text=request.POST.get("text", ""))
    except MusebotError as error:
        messages.error(request, error.message)
        return page(request, "facts/merge.html", {**context, "keep": keep}, status=error.status)
    messages.success(request, f"Made one fact of {len(rows)}.")
    return _back(request)


@require_POST
def forget(request: Request) -> HttpResponse:
    """Asks first; then the facts go, with their history."""
    rows = selectors.facts_by_id(_keys(request))
    if not rows:
        messages.info(request, "Nothing was selected.")
        return _back(request)
    if "confirmed" not in request.POST:
        context = {"rows": rows, "filters": request.POST.get("filters", ""), "back": _address(request)}
        return page(request, "facts/forget.html", context)
    gone = sum(facts.forget_by_id(row.member_id, row.id) for row in rows)
    messages.success(request, f"Forgot {_many(gone)}.")
    return _back(request)


def _each(request: Request, decide: object, done: str) -> HttpResponse:
    assert callable(decide)
    changed = 0
    for key in _keys(request):
        try:
            decide(key)
            changed += 1
        except MusebotError as error:
            messages.error(request, error.message)
    if changed:
        messages.success(request, done.format(_many(changed)))
    return _back(request)


def _many(count: int) -> str:
    return f"{count:,} {'fact' if count == 1 else 'facts'}"


def _keys(request: Request) -> list[int]:
    found = [number(value) for value in request.POST.getlist("key")[:500]]
    return list(dict.fromkeys(key for key in found if key is not None))


def _one(request: Request) -> int:
    keys = _keys(request)
    if not keys:
        raise InvalidInput("No fact was named. Go back to the list.")
    return keys[0]


def _back(request: Request, fact: int | None = None) -> HttpResponseRedirect:
    there = fact is not None and Fact.objects.filter(id=fact).exists()
    return HttpResponseRedirect(_address(request, fact if there else None))


def _address(request: Request, fact: int | None = None) -> str:
    path = reverse("dashboard:facts") if fact is None else reverse("dashboard:fact", args=[fact])
    return f"{path}?{QueryDict(request.POST.get('filters', '')).urlencode()}"
