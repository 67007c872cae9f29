"""What somebody does with what is stored of them: take it along, correct, forget, withdraw."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib import messages
from django.contrib.auth import logout
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from memory import audit, erasure, export, facts, selectors
from memory.errors import MusebotError
from memory.facts import own as own_facts
from memory.models import ErasureRequest
from memory.pseudonyms import subject_hash
from memory.selectors import own as reads
from musebot_site.dashboard import health
from musebot_site.dashboard.forms import TypedConfirmation
from musebot_site.dashboard.http import number
from musebot_site.members.http import addressed, own, show
from musebot_site.members.sign_in import Person

FIRST_SECONDS = 2.0
"""Most erasures are done in this time; the worker goes on with the others."""


@own
@require_POST
def take_along(request: HttpRequest, person: Person) -> StreamingHttpResponse:
    """Everything that is stored of them, as JSON, while it is read. Raises ``NotFound`` where there is nothing."""
    pieces = export.member_json(person.user_id)
    _record(person, "own.exported")
    response = StreamingHttpResponse(pieces, content_type="application/json; charset=utf-8")
    name = f"musebot-export-{timezone.now():%Y-%m-%d}.json"
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


@own
@require_POST
def correct_fact(request: HttpRequest, person: Person) -> HttpResponse:
    key, words = number(request.POST.get("key", "")) or 0, request.POST.get("text", "")
    try:
        fact = own_facts.correct(
            user_id=person.user_id, fact_id=key, text=words, before=request.POST.get("before", "")
        )
    except MusebotError as error:
        messages.error(request, error.message)
    else:
        _record(person, "own.fact_corrected", kind="fact", object_id=str(key))
        waits = fact.state == fact.State.QUARANTINED
        messages.success(
            request, "Corrected. It is used again once an admin has looked at it." if waits else "Corrected."
        )
    return redirect("own:facts")


@own
@require_POST
def forget_fact(request: HttpRequest, person: Person) -> HttpResponse:
    key = number(request.POST.get("key", "")) or 0
    if facts.forget_by_id(person.user_id, key):
        _record(person, "own.fact_forgotten", kind="fact", object_id=str(key))
        messages.success(request, "Forgotten, with its history.")
    else:
        messages.info(request, "There is no such fact about you any more.")
    return redirect("own:facts")


@own
@require_http_methods(["GET", "HEAD", "POST"])
def withdraw(request: HttpRequest, person: Person) -> HttpResponse:
    """Shows what would go, counted now, and does it once their name was typed: the same as ``/memory forget``."""
    member = selectors.member(person.user_id)
    if member is None or member.withdrawn_at is not None:
        return redirect("own:index")
    names = [member.username or person.username, str(person.user_id)]
    form = TypedConfirmation(request.POST or None, accepted=names)
    preview = erasure.preview(person.user_id)
    if request.method == "POST" and form.is_valid():
        _record(person, "own.withdrawn", counts={"memories": preview.get("memories", 0)})
        asked = erasure.request(user_id=person.user_id, origin="member")
        erasure.run(asked.id, seconds=FIRST_SECONDS)
        return redirect("own:erasure", request_id=asked.id)
    context = {
        "member": member,
        "form": form,
        "preview": addressed(preview),
        "total": preview.get("memories", 0),
    }
    return show(request, person, "own/withdraw.html", context, status=422 if form.errors else 200)


@own
@require_safe
def progress(request: HttpRequest, person: Person, request_id: uuid.UUID) -> HttpResponse:
    """How far an erasure of theirs is, and its receipt. The part that shows it asks for itself again until it has ended."""
    row = reads.erasure(person.user_id, request_id)
    if row is None:
        raise Http404
    state = ErasureRequest.State
    running = row.state in {state.RUNNING, state.VERIFYING} or (row.state == state.DONE and bool(row.stage))
    context: dict[str, Any] = {"row": row, "running": running, "counts": addressed(row.counts)}
    if running:
        context["worker"] = health.processes()["worker"]
    return show(request, person, "own/erasure.html", context, parts={"progress": "own/_progress.html"})


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    logout(request)
    return redirect("own:sign-in")


def _record(
    person: Person,
    action: str,
    *,
    kind: str = "member",
    object_id: str = "",
    counts: dict[str, int] | None = None,
) -> None:
    audit.record(
        actor=audit.member(person.user_id),
        action=action,
        kind=kind,
        object_id=object_id or subject_hash(person.user_id),
        counts=counts,
    )
