"""Erasures: what was asked for and is due, noting a request, looking at what would go, running it, and its receipt."""

from __future__ import annotations

import uuid

from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from memory import erasure, selectors
from memory.errors import MusebotError
from memory.models import ErasureRequest, Member
from musebot_site.dashboard import health, records
from musebot_site.dashboard.erasure_forms import ErasureFilterForm, RequestForm
from musebot_site.dashboard.forms import TypedConfirmation
from musebot_site.dashboard.http import Request, page
from musebot_site.dashboard.paging import PAGE_SIZE

SECONDS = 5.0
FIRST_SECONDS = 2.0
"""Most erasures are done in this time, and whoever asked sees the receipt at once; the worker goes on with the others."""

State = ErasureRequest.State


@require_safe
def index(request: Request) -> HttpResponse:
    """What is not over stands first, the most urgent before all."""
    cursor = request.GET.get("cursor") or None
    form = ErasureFilterForm(request.GET)
    context: dict[str, object] = {
        "form": form,
        "filtered": any(request.GET.get(name) for name in form.fields),
        "now": timezone.now(),
        "list_url": reverse("dashboard:erasures"),
    }
    if form.is_valid():
        filters = form.filters()
        context["opened"] = [] if cursor else selectors.open_erasures(filters)
        context["found"] = selectors.ended_erasures(filters, limit=PAGE_SIZE, cursor=cursor)
    return page(request, "erasures/index.html", context, parts={"results": "erasures/_results.html"})


@require_http_methods(["GET", "HEAD", "POST"])
def add(request: Request) -> HttpResponse:
    """Notes a request that came in; nothing is erased by it."""
    form = RequestForm(request.POST or None, initial={"member": request.GET.get("member", "")})
    if request.method == "POST" and form.is_valid():
        try:
            row = erasure.receive(
                user_id=form.cleaned_data["member"],
                origin=form.cleaned_data["origin"],
                received_at=form.received_at(),
                due_at=form.due_at(),
                part=form.part(),
            )
        except MusebotError as error:
            form.add_error(None, error.message)
        else:
            records.note(request, object_id=str(row.id))
            return redirect("dashboard:erasure", request_id=row.id)
    return page(request, "erasures/add.html", {"form": form}, status=422 if form.errors else 200)


@require_safe
def detail(request: Request, request_id: uuid.UUID) -> HttpResponse:
    """The part of the page that shows progress asks for itself again until the work has ended."""
    row = _row(request_id)
    if row.state in {State.RECEIVED, State.PREVIEWED}:
        return _waiting(request, row, _confirmation(row))
    # Done with a stage: all is gone, and the log of the database is being emptied once more.
    running = row.state in {State.RUNNING, State.VERIFYING} or (row.state == State.DONE and bool(row.stage))
    context = {"row": row, "running": running, "part": selectors.part_names(row), **_pace(row)}
    if running:
        context["worker"] = health.processes()["worker"]
    elif row.state == State.DONE:
        context["receipt"] = erasure.receipt(row)
    return page(request, "erasures/detail.html", context, parts={"progress": "erasures/_progress.html"})


@require_POST
def look(request: Request, request_id: uuid.UUID) -> HttpResponse:
    """Counts what would go."""
    row = erasure.look(_row(request_id).id)
    records.note(request, counts=row.preview)
    return redirect("dashboard:erasure", request_id=row.id)


@require_POST
def begin(request: Request, request_id: uuid.UUID) -> HttpResponse:
    """Begins what was looked at, once the member's name or id was typed."""
    row = _row(request_id)
    if row.state == State.RECEIVED:  # nobody has seen yet what would go
        return redirect("dashboard:erasure", request_id=erasure.look(row.id).id)
    if row.state == State.PREVIEWED and not (form := _confirmation(row, request.POST)).is_valid():
        return _waiting(request, row, form, status=422)
    erasure.begin(row.id)
    erasure.run(row.id, seconds=FIRST_SECONDS)
    return redirect("dashboard:erasure", request_id=row.id)


@require_POST
def close(request: Request, request_id: uuid.UUID) -> HttpResponse:
    """Ends a request without an erasure."""
    erasure.close(_row(request_id).id)
    return redirect("dashboard:erasure", request_id=request_id)


@require_safe
def receipt(request: Request, request_id: uuid.UUID) -> HttpResponse:
    """The receipt as a file, as it stands in ``erasures.jsonl``."""
    row = _row(request_id)
    if row.state != State.DONE or row.stage:
        raise Http404
    response = JsonResponse(erasure.receipt(row), json_dumps_params={"indent": 2})
    response["Content-Disposition"] = f'attachment; filename="erasure-{str(row.id)[:8]}.json"'
    return response


@require_POST
def resume(request: Request, request_id: uuid.UUID) -> HttpResponse:
    """Goes on with an erasure here, for a few seconds: where no worker runs, or where it failed."""
    erasure.run(_row(request_id).id, seconds=SECONDS)
    return redirect("dashboard:erasure", request_id=request_id)


def _row(request_id: uuid.UUID) -> ErasureRequest:
    row = selectors.erasure(request_id)
    if row is None:
        raise Http404
    return row


def _waiting(
    request: Request, row: ErasureRequest, form: TypedConfirmation, *, status: int = 200
) -> HttpResponse:
    context = {
        "row": row,
        "member": selectors.member(row.user_id) if row.user_id else None,
        "overdue": selectors.is_overdue(row),
        "part": selectors.part_names(row),
        "form": form,
        "total": row.preview.get("memories", 0),
    }
    return page(request, "erasures/waiting.html", context, status=status)


def _confirmation(row: ErasureRequest, given: object = None) -> TypedConfirmation:
    member: Member | None = selectors.member(row.user_id) if row.user_id else None
    return TypedConfirmation(given, accepted=[member.username if member else "", str(row.user_id or "")])


def _pace(row: ErasureRequest) -> dict[str, object]:
    seconds = (timezone.now() - (row.started_at or row.received_at)).total_seconds()
    rate = row.done / seconds if seconds > 0.5 and row.done else 0.0
    left = (row.total - row.done) / rate if rate and row.total > row.done else None
    return {"rate": rate, "left": left}
