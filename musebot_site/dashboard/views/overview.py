"""The first page: what needs attention, how the parts are, what is left to set up, and what happened lately."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

from django.contrib import messages
from django.core.cache import cache
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from memory import outbox, selectors
from musebot_site.dashboard import attention, health, pictures
from musebot_site.dashboard.http import Request, page, scope
from musebot_site.dashboard.job_kinds import kind_words
from musebot_site.dashboard.permissions import Permission, rights

DAYS, LONG = 30, 90
KEPT_SECONDS = 60
"""The counts of days are added up over members, which takes a moment in a large community."""
QUALITY = {"hit@1": "Found first", "hit@3": "Among three", "hit@5": "Among five"}
RUNS = 20


@require_safe
def index(request: Request) -> HttpResponse:
    """The models are asked by the part that the page loads after itself, or at once with ``?check=1``."""
    guild_id = scope(request)
    held = rights(request)
    figures, days = selectors.figures(guild_id), _days(guild_id)
    context: dict[str, Any] = {
        "figures": figures,
        "counts": selectors.rail_counts(guild_id),
        "erasures_due": figures.erasures_waiting + figures.erasures_running,
        "chart": pictures.activity_chart(days[-DAYS:]),
        "before": sum(count for _, count in days[-2 * DAYS : -DAYS]),
        "growth": pictures.growth_chart(days, figures.memories),
        "guild_id": guild_id,
    }
    everything, parts = None, []
    if held.may(Permission.SETTINGS):
        everything = figures if guild_id is None else selectors.figures()
        found = _installation(request, everything)
        parts = found["parts"]
        context |= found
    if held.may(Permission.EVALUATION):
        context["quality"] = pictures.quality_chart(_runs(), QUALITY)
    if held.may(Permission.JOBS):
        queued = _queue()
        context["queue"] = pictures.queue_chart(queued)
        context["work"] = sum(waiting + failed for _, waiting, failed in queued)
    context["attention"] = attention.needs(held, guild_id, everything, parts)
    return page(request, "overview/index.html", context, parts={"status": "overview/_status.html"})


def _days(guild_id: int | None) -> Sequence[tuple[date, int]]:
    key = f"dashboard:days:{guild_id or 'all'}"
    kept: Sequence[tuple[date, int]] | None = cache.get(key)
    if kept is None:
        kept = selectors.activity(guild_id, days=LONG)
        cache.set(key, kept, KEPT_SECONDS)
    return kept


def _runs() -> list[tuple[date, str, dict[str, float]]]:
    address = reverse("dashboard:evaluation")
    rows = reversed(selectors.evaluation_runs(RUNS))
    return [(row.created_at.date(), f"{address}?run={row.pk}", row.measures) for row in rows]


def _queue() -> list[tuple[str, int, int]]:
    counts: dict[str, list[int]] = {}
    for row in outbox.summary():
        pair = counts.setdefault(str(row["kind"]), [0, 0])
        pair[row["state"] == "failed"] += int(str(row["count"]))
    return [(": ".join(filter(None, kind_words(kind))), *pair) for kind, pair in counts.items()]  # type: ignore[misc]


def _installation(request: Request, figures: selectors.Figures) -> dict[str, Any]:
    """How the parts are and what is left to do: for those who can do something about it."""
    asked = health.models(wait=bool(request.htmx) or "check" in request.GET)
    running = health.processes()
    parts = [running["bot"], running["worker"], *(asked.values() if asked else ()), health.queue()]
    steps = health.steps(figures, asked, running)
    return {
        "asked": asked,
        "parts": parts,
        "steps": steps,
        "done": sum(step.done for step in steps),
        "sample": next((row for row in selectors.guilds() if row.is_sample), None),
    }


@require_POST
def sample(request: Request) -> HttpResponse:
    """Loads or removes the sample community."""
    from memory import demo

    if request.POST.get("action") == "remove":
        demo.remove()
        request.session["guild"] = None
        messages.success(request, "The sample community is gone, with everything that was stored of it.")
    else:
        demo.load()
        messages.success(
            request, "The sample community is here: invented people, to look at. Try the Playground."
        )
    cache.delete("dashboard:days:all")
    return redirect("dashboard:overview")
