"""Jobs: what is being done, how far it is, and pausing, going on, cancelling and trying again."""

from __future__ import annotations

import uuid
from collections.abc import Callable

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST, require_safe

from memory import embedding, erasure, outbox
from memory.capture import backfill
from memory.errors import InvalidInput
from musebot_site.dashboard import health, jobs
from musebot_site.dashboard.http import Request, back_to, number, page
from musebot_site.dashboard.job_kinds import KINDS, kind_words

ERASE_SECONDS = 2.0


@require_safe
def index(request: Request) -> HttpResponse:
    """The part with the tables asks for itself again while something runs."""
    rows = jobs.under_way()
    failed, failed_count = jobs.failed()
    context = {
        "rows": rows,
        "running": any(row.runs for row in rows),
        "ended": jobs.ended(),
        "failed": [(entry, *kind_words(entry.kind)) for entry in failed],
        "failed_count": failed_count,
        "worker": health.processes()["worker"],
    }
    return page(request, "jobs/index.html", context, parts={"jobs": "jobs/_jobs.html"})


@require_safe
def scan(request: Request, scan_id: int) -> HttpResponse:
    """One reading of a history, channel by channel."""
    found = next(iter(backfill.progress(scan_id=scan_id)), None)
    if found is None:
        raise Http404
    context = {"scan": found, "channels": backfill.channels(scan_id), "job": jobs.of_scan(found)}
    return page(request, "jobs/scan.html", context, parts={"scan": "jobs/_scan.html"})


@require_POST
def act(request: Request) -> HttpResponse:
    """Does to a job what its button says."""
    job, action = request.POST.get("job", ""), request.POST.get("action", "")
    kind, _, subject = job.partition("-")
    done = _ACTIONS.get((kind, action))
    if done is None:
        raise InvalidInput("That cannot be done to this job.")
    messages.success(request, done(subject))
    return redirect(back_to(request, "/jobs/"))


def _scan_id(subject: str) -> int:
    found = number(subject)
    if found is None:
        raise InvalidInput("There is no such scan.")
    return found


def _pause_scan(subject: str) -> str:
    backfill.pause(_scan_id(subject))
    return "Reading is paused. What was read stays, and it goes on from there."


def _resume_scan(subject: str) -> str:
    backfill.resume(_scan_id(subject))
    return "Reading goes on."


def _cancel_scan(subject: str) -> str:
    backfill.cancel(_scan_id(subject))
    return "Reading was cancelled. What was stored stays; members can ask again with /memory remember."


def _pause_vectors(_: str) -> str:
    embedding.pause()
    return "Building is paused. The older vectors serve on."


def _resume_vectors(_: str) -> str:
    embedding.resume()
    return "Building goes on."


def _cancel_vectors(_: str) -> str:
    embedding.cancel()
    return "Cancelled: the older model's vectors stay. What was built of the new ones goes."


def _retry_vectors(_: str) -> str:
    change = embedding.change()
    if change is not None and change.state == "declined":
        embedding.start()
        return "The vectors of the configured model are being built."
    embedding.resume()
    return "It is tried again now."


def _retry_erasure(subject: str) -> str:
    try:
        erasure.run(uuid.UUID(subject), seconds=ERASE_SECONDS)
    except ValueError as error:
        raise InvalidInput("There is no such erasure.") from error
    return "The erasure goes on."


def _known(kind: str) -> str:
    if kind not in KINDS:
        raise InvalidInput("There is no such kind of work.")
    return kind


def _pause_kind(kind: str) -> str:
    outbox.pause_kind(_known(kind), paused=True)
    return "Held back. What comes in waits; nothing is lost."


def _resume_kind(kind: str) -> str:
    outbox.pause_kind(_known(kind), paused=False)
    return "It goes on."


def _retry_kind(kind: str) -> str:
    count = outbox.retry(_known(kind))
    return f"{count:,} {'is' if count == 1 else 'are'} tried again."


def _retry_entry(subject: str) -> str:
    if not outbox.retry(ids=[number(subject) or 0]):
        return "That has been done in the meantime."
    return "It is tried again."


_ACTIONS: dict[tuple[str, str], Callable[[str], str]] = {
    ("scan", "pause"): _pause_scan,
    ("scan", "resume"): _resume_scan,
    ("scan", "cancel"): _cancel_scan,
    ("vectors", "pause"): _pause_vectors,
    ("vectors", "resume"): _resume_vectors,
    ("vectors", "cancel"): _cancel_vectors,
    ("vectors", "retry"): _retry_vectors,
    ("erasure", "retry"): _retry_erasure,
    ("kind", "pause"): _pause_kind,
    ("kind", "resume"): _resume_kind,
    ("kind", "retry"): _retry_kind,
    ("entry", "retry"): _retry_entry,
}
