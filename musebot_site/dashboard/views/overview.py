"""The first page: what needs attention, how the parts are, what is left to set up, and what happened lately."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST, require_safe

from memory import selectors
from musebot_site.dashboard import health, pictures
from musebot_site.dashboard.http import Request, page, scope


@require_safe
def index(request: Request) -> HttpResponse:
    """The models are asked by the part that the page loads after itself, or at once with ``?check=1``."""
    guild_id = scope(request)
    here, all_of_it = selectors.figures(guild_id), selectors.figures()
    asked = health.models(wait=bool(request.htmx) or "check" in request.GET)
    running = health.processes()
    parts = [running["bot"], running["worker"], *(asked.values() if asked else ()), health.queue()]
    steps = health.steps(all_of_it, asked, running)
    context = {
        "figures": here,
        "asked": asked,
        "parts": parts,
        "steps": steps,
        "done": sum(step.done for step in steps),
        "attention": health.attention(all_of_it, parts),
        "chart": pictures.activity_chart(selectors.activity(guild_id)),
        "sample": next((row for row in selectors.guilds() if row.is_sample), None),
        "guild_id": guild_id,
    }
    return page(request, "overview/index.html", context, parts={"status": "overview/_status.html"})


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
    return redirect("dashboard:overview")
