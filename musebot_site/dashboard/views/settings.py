"""Settings and health: what counts and where it comes from, whether everything answers, keys, retention, and another embedding model."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from memory import access, embedding, retention, selectors, upkeep
from memory.conf import get_config
from memory.embedding.keeping import answers
from memory.errors import InvalidInput, ModelError
from musebot_site import effective
from musebot_site.dashboard import connections, health, installation, jobs, records
from musebot_site.dashboard.http import Request, number, page
from musebot_site.dashboard.settings_forms import EstimateForm, KeepForm, KeyForm

SEARCH_LENGTH = 100
SHOWN = 50
"""Servers and keys on one page."""


@require_safe
def index(request: Request) -> HttpResponse:
    """Every setting as it counts, by group, or those that a search finds."""
    text = request.GET.get("q", "").strip()[:SEARCH_LENGTH]
    rows = effective.effective(text)
    groups = [(name, list(some)) for name, some in groupby(rows, key=lambda row: row.group)]
    problems = installation.problems()
    context = {"groups": groups, "q": text, "problems": problems, "tab": "settings"}
    return page(request, "settings/index.html", context, parts={"results": "settings/_groups.html"})


@require_safe
def status(request: Request) -> HttpResponse:
    """Problems, connections, processes, sizes and ages. Nothing is asked until somebody presses a button."""
    snapshots = installation.snapshots()
    context = {
        "tab": "health",
        "problems": installation.problems(),
        "connections": connections.connections(),
        "processes": health.processes().values(),
        "disk": installation.disk(),
        "backlog": installation.backlog(),
        "versions": installation.versions(),
        "snapshots": snapshots[:5],
        "old_snapshots": sum(old for _, old in snapshots),
        "servers": len(snapshots),
        "scan": upkeep.last(),
    }
    return page(request, "settings/health.html", context, parts={"scan": "settings/_scan.html"})


@require_POST
def test(request: Request) -> HttpResponse:
    """Looks at one part now."""
    found = connections.test(request.POST.get("part", ""))
    result = found.result
    records.note(request, object_id=found.name)
    if request.htmx:
        return page(request, "settings/_connection.html", {"row": found})
    if result is not None:
        notify = messages.success if result.state == "ok" else messages.error
        notify(request, f"{found.title}: {result.word}. {result.detail}".strip())
    return redirect("dashboard:settings-health")


@require_POST
def scan(request: Request) -> HttpResponse:
    """Has the worker look for what does not fit together, or mend it."""
    mend = request.POST.get("action") == "mend"
    upkeep.begin(mend=mend)
    messages.success(request, "The worker mends it." if mend else "The worker looks through everything.")
    return redirect("dashboard:settings-health")


@require_safe
def keep(request: Request) -> HttpResponse:
    """How long each server is kept, with the way to where it is set."""
    rows = retention.overview()
    context = {"tab": "retention", "rows": rows[:SHOWN], "more": max(len(rows) - SHOWN, 0)}
    return page(request, "settings/retention.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def keys(request: Request) -> HttpResponse:
    """Keys of the API; a new one is shown in the answer to the request that made it, and never again."""
    form, made, key = KeyForm(request.POST or None), None, ""
    if request.method == "POST" and form.is_valid():
        try:
            made, key = access.make_key(
                name=form.cleaned_data["name"], scopes=form.cleaned_data["scopes"], guild_ids=form.guild_ids()
            )
            records.note(request, object_id=str(made.pk))
            form = KeyForm()
        except InvalidInput as error:
            field = error.details.get("field")
            form.add_error("servers" if field == "guild_ids" else field, error.message)
    names = {str(row.id): row.name for row in selectors.guilds()}
    context = {
        "tab": "keys",
        "form": form,
        "rows": [(row, _names(row.guilds, names)) for row in access.all_keys()[:SHOWN]],
        "made": made,
        "key": key,
        "scopes": access.SCOPES,
    }
    return page(request, "settings/keys.html", context, status=422 if form.errors else 201 if made else 200)


def _names(ids: list[str] | None, names: dict[str, str]) -> list[str]:
    return [names.get(one, one) for one in ids or ()]


@require_POST
def revoke(request: Request, key_id: int) -> HttpResponse:
    row = access.revoke_key(key_id=key_id)
    messages.success(request, f"The key {row.name} is revoked: whoever has it is refused from now on.")
    return redirect("dashboard:settings-keys")


@require_http_methods(["GET", "HEAD", "POST"])
def vectors(request: Request) -> HttpResponse:
    """The embedding model: what is configured and what serves, what a change would take, how far one is, and the way back."""
    form, found, status_code = EstimateForm(request.POST or None), None, 200
    if request.method == "POST" and form.is_valid():
        try:
            found = embedding.estimate(form.cleaned_data["model"])
        except ModelError as error:
            form.add_error("model", f"{error.message} Nothing was changed.")
    if form.errors:
        status_code = 422
    return page(
        request,
        "settings/embedding.html",
        _vectors(form, found),
        parts={"change": "settings/_change.html"},
        status=status_code,
    )


def _vectors(form: EstimateForm, found: embedding.Estimate | None) -> dict[str, Any]:
    kept, serving = embedding.kept(), embedding.serving_space()
    change = embedding.change()
    configured = get_config().memory.embedding_model
    return {
        "tab": "embedding",
        "form": form,
        "estimate": found,
        "configured": configured,
        "serving": serving,
        "memories": selectors.figures().memories,
        "job": jobs.of_vectors(),
        "change": change,
        "kept": kept,
        "kept_is_configured": kept is not None and change is not None and change.state == "declined",
        "disk": installation.disk(),
        "keep_form": KeepForm(),
    }


@require_POST
def vectors_act(request: Request) -> HttpResponse:
    """Goes back to the older vectors, keeps them longer, or drops them."""
    action = request.POST.get("action", "")
    records.note(request, object_id=action[:20])
    if action == "back":
        kept = embedding.kept()
        if kept is not None and not answers(kept.space_id):
            messages.error(
                request,
                f"{kept.model} does not answer, or is another build by now. Start it, then try again.",
            )
        else:
            model = embedding.roll_back()
            messages.success(
                request, f"{model} serves again. What was said since the switch is embedded now."
            )
    elif action == "drop":
        embedding.drop_kept()
        messages.success(request, "The older vectors are being dropped.")
    elif action == "keep":
        until = embedding.keep_for(number(request.POST.get("days", "")) or 0)
        messages.success(request, f"They are kept until {until.day} {until:%B %Y}.")
    else:
        raise InvalidInput("That cannot be done to the older vectors.")
    return redirect("dashboard:settings-embedding")
