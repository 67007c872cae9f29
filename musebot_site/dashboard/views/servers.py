"""Servers: what is remembered and recalled where, how long it is kept, and what goes when."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from memory import retention, selectors
from memory.capture import switches
from musebot_site.dashboard.forms import TypedConfirmation
from musebot_site.dashboard.http import Request, page
from musebot_site.dashboard.server_forms import ServerForm, channel_switches


@require_safe
def index(request: Request) -> HttpResponse:
    rows = selectors.servers()
    context = {
        "here": [row for row in rows if row.guild.left_at is None],
        "left": [row for row in rows if row.guild.left_at is not None],
        "private": selectors.private_conversations(),
    }
    return page(request, "servers/index.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def detail(request: Request, guild_id: int) -> HttpResponse:
    """The settings of a server. Those that purge something are asked about first, with the exact number."""
    row = selectors.server(guild_id)
    if row is None:
        raise Http404
    form = ServerForm.of(row.guild, request.POST or None)
    if request.method == "POST" and form.is_valid():
        days = {name: form.cleaned_data[name] for name in ("keep_after_leaving_days", "max_age_days")}
        purged = retention.would_purge(guild_id, **days)
        now = retention.would_purge(
            guild_id,
            keep_after_leaving_days=row.guild.keep_after_leaving_days,
            max_age_days=row.guild.max_age_days,
        )
        typed = TypedConfirmation(
            request.POST if "typed" in request.POST else None, accepted=[str(purged), f"{purged:,}"]
        )
        if purged <= now or ("typed" in request.POST and typed.is_valid()):
            retention.change(guild_id, **days)
            switches.change_server(
                guild_id,
                capture_enabled=form.cleaned_data["capture_enabled"],
                recall_policy=form.cleaned_data["recall_policy"],
            )
            messages.success(request, f"The settings of {row.guild} are saved.")
            return redirect("dashboard:server", guild_id=guild_id)
        context = {"row": row, "values": form.cleaned_data, "number": purged, "form": typed}
        return page(request, "servers/confirm.html", context, status=422 if typed.errors else 200)
    context = {"row": row, "form": form, "channels": selectors.server_channels(guild_id)}
    return page(request, "servers/detail.html", context, status=422 if form.errors else 200)


@require_POST
def channels(request: Request, guild_id: int) -> HttpResponse:
    """Saves the switches of all the channels that were listed."""
    if selectors.server(guild_id) is None:
        raise Http404
    changed = switches.change_channels(guild_id, channel_switches(request.POST))
    noun = "channel was" if changed == 1 else "channels were"
    messages.success(request, f"{changed:,} {noun} changed." if changed else "Nothing had to be changed.")
    return redirect("dashboard:server", guild_id=guild_id)
