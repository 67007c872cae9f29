"""Erasures: the list, the progress of one, and its receipt."""

from __future__ import annotations

import uuid

from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from memory import erasure, selectors
from memory.models import ErasureRequest
from musebot_site.dashboard import health
from musebot_site.dashboard.http import Request, page

SECONDS = 5.0


@require_safe
def index(request: Request) -> HttpResponse:
    return page(request, "erasures/index.html", {"rows": selectors.erasures()})


@require_safe
def detail(request: Request, request_id: uuid.UUID) -> HttpResponse:
    """The part of the page that shows progress asks for itself again until the work has ended."""
    row = selectors.erasure(request_id)
    if row is None:
        raise Http404
    # Done with a stage: all is gone, and the log of the database is being emptied once more.
    running = row.state in {ErasureRequest.State.RUNNING, ErasureRequest.State.VERIFYING} or (
        row.state == ErasureRequest.State.DONE and bool(row.stage)
    )
    context = {"row": row, "running": running, **_pace(row)}
    if running:
        context["worker"] = health.processes()["worker"]
    else:
        context["receipt"] = erasure.receipt(row)
    return page(request, "erasures/detail.html", context, parts={"progress": "erasures/_progress.html"})


def _pace(row: ErasureRequest) -> dict[str, object]:
    seconds = (timezone.now() - row.received_at).total_seconds()
    rate = row.done / seconds if seconds > 0.5 and row.done else 0.0
    left = (row.total - row.done) / rate if rate and row.total > row.done else None
    return {"rate": rate, "left": left}


@require_POST
def resume(request: Request, request_id: uuid.UUID) -> HttpResponse:
    """Goes on with an erasure here, for a few seconds: where no worker runs, or where it failed."""
    if selectors.erasure(request_id) is None:
        raise Http404
    erasure.run(request_id, seconds=SECONDS)
    return redirect("dashboard:erasure", request_id=request_id)
