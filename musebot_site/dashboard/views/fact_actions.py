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
from musebot_site.dashboard import records
from musebot_site.dashboard.fact_forms import FactForm
from musebot_site.dashboard.http import Request, allowed_servers, back_to, number, page, require_server
from musebot_site.dashboard.views.facts import server_of

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
        records.note(request, kind="member", object_id=records.member_id(member.user_id))
    except MusebotError as error:
        records.note(request, result=error.code)
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
        records.note(request, result=error.code)
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
    choice, key = cast(Choice, request.POST.get("choice", "")), _one(request)
    row = selectors.fact(key)
    if row is not None and row.rival is not None:
        # Whichever is kept, something happens to the other one.
        require_server(request, server_of(row.rival))
    try:
        facts.settle(fact_id=key, choice=choice)
    except MusebotError as error:
        records.note(request, result=error.code)
        messages.error(request, error.message)
    else:
        messages.success(request, SETTLED[choice])
    return _back(request)


@require_POST
def merge(request: Request) -> HttpResponse:
    """Shows the facts side by side; with one chosen, makes one of them."""
    rows = selectors.facts_by_id(_keys(request))
    records.note(request, counts={"facts": len(rows)})
    keep = number(request.POST.get("keep", ""))
    context = {"rows": rows, "filters": request.POST.get("filters", ""), "back": _address(request)}
    if len(rows) < 2 or len({row.member_id for row in rows}) > 1:
        messages.info(request, "Select two facts or more of one member to merge them.")
        return _back(request)
    if keep is None:
        records.note(request, action="fact.viewed")
        return page(request, "facts/merge.html", context)
    if keep not in {row.id for row in rows}:
        raise InvalidInput("Keep one of the facts that were selected.")
    try:
        facts.merge(keep_id=keep, other_ids=[row.id for row in rows], text=request.POST.get("text", ""))
    except MusebotError as error:
        records.note(request, result=error.code)
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
        records.note(request, action="fact.viewed", counts={"facts": len(rows)})
        context = {"rows": rows, "filters": request.POST.get("filters", ""), "back": _address(request)}
        return page(request, "facts/forget.html", context)
    gone = sum(facts.forget_by_id(row.member_id, row.id) for row in rows)
    records.note(request, counts={"facts": gone})
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
            records.note(request, result=error.code)
            messages.error(request, error.message)
    records.note(request, counts={"facts": changed})
    if changed:
        messages.success(request, done.format(_many(changed)))
    return _back(request)


def _many(count: int) -> str:
    return f"{count:,} {'fact' if count == 1 else 'facts'}"


def _keys(request: Request) -> list[int]:
    """Those that were selected, without what this account may not see."""
    found = [number(value) for value in request.POST.getlist("key")[:500]]
    keys, servers = list(dict.fromkeys(key for key in found if key is not None)), allowed_servers(request)
    if servers is not None:
        seen = {row.id for row in selectors.facts_by_id(keys) if server_of(row) in servers}
        keys = [key for key in keys if key in seen]
    if len(keys) == 1:
        records.note(request, object_id=str(keys[0]))
    return keys


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
    return back_to(request, f"{path}?{QueryDict(request.POST.get('filters', '')).urlencode()}")
