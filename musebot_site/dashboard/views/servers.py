"""Servers: what is remembered, answered and recalled where, how long it is kept, and what goes when."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from memory import blocks, policies, retention, selectors
from memory.capture import switches
from memory.capture.switches import PolicyConflict
from memory.conf import get_config
from memory.selectors import ServerRow
from musebot_site.dashboard import records
from musebot_site.dashboard.forms import TypedConfirmation
from musebot_site.dashboard.http import Request, number, page, require_server
from musebot_site.dashboard.server_forms import BulkForm, ChannelForm, RetentionForm, ServerForm

MOST_PAGES = 1_000
SWITCHED_OFF = 100
"""Channels that are named in an address after they were switched off."""


@require_safe
def index(request: Request) -> HttpResponse:
    text, at, size = _text(request), _page_number(request), selectors.SERVERS_SHOWN
    among = request.reach.servers
    start = (at - 1) * size
    here = selectors.servers(left=False, text=text, among=among, start=start, limit=size + 1)
    context = {
        "here": here[:size],
        "left": selectors.servers(left=True, text=text, among=among, limit=size) if at == 1 else [],
        "private": selectors.private_conversations() if among is None else 0,
        "q": text,
        **_pages(at, more=len(here) > size),
    }
    return page(request, "servers/index.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def detail(request: Request, guild_id: int) -> HttpResponse:
    """A server with its channels; saves the policies that count where a channel says nothing else."""
    row = _server(request, guild_id)
    form = _server_form(row, request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            saved = switches.change_server(guild_id, form.values(), as_of=form.cleaned_data["as_of"])
        except PolicyConflict as error:
            return _detail(request, _server(request, guild_id), conflict=error, status=409)
        messages.success(request, f"The policies of {row.guild} are saved.")
        closed = (
            row.guild.enabled and row.guild.capture_enabled and not (saved.enabled and saved.capture_enabled)
        )
        return _back(guild_id, [guild_id] if closed else [])
    return _detail(request, row, form=form, status=422 if form.errors else 200)


def _detail(
    request: Request,
    row: ServerRow,
    *,
    form: ServerForm | None = None,
    keep: RetentionForm | None = None,
    bulk: BulkForm | None = None,
    conflict: PolicyConflict | None = None,
    status: int = 200,
) -> HttpResponse:
    guild = row.guild
    text, at, size = _text(request), _page_number(request), selectors.CHANNELS_SHOWN
    channels = selectors.server_channels(guild.discord_id, text=text, start=(at - 1) * size)
    matching, to_change = selectors.count_channels(guild.discord_id, text=text)
    context = {
        "row": row,
        "form": form or _server_form(row, None),
        "keep": keep or RetentionForm.of(guild, None),
        "bulk": bulk or BulkForm(initial={"as_of": guild.policy_count}),
        "channels": channels,
        "open_channels": to_change,
        "matching": matching,
        "inherited": policies.inherited(guild),
        "ticked": set(request.POST.getlist("key")),
        "persona": blocks.get(blocks.persona(guild.discord_id)),
        "q": text,
        "conflict": conflict,
        **_pages(at, more=at * size < matching),
        **_switched_off(request, row),
    }
    return page(request, "servers/detail.html", context, status=status)


def _text(request: Request) -> str:
    return request.GET.get("q", "").strip()[:100]


def _page_number(request: Request) -> int:
    return min(max(number(request.GET.get("page", "")) or 1, 1), MOST_PAGES)


def _pages(at: int, *, more: bool) -> dict[str, Any]:
    return {"previous_page": at - 1 if at > 1 else None, "next_page": at + 1 if more else None}


def _server_form(row: ServerRow, data: QueryDict | None) -> ServerForm:
    return ServerForm.of(row.guild, data, mention_configured=get_config().discord.requires_mention)


def _server(request: Request, guild_id: int) -> ServerRow:
    require_server(request, guild_id)
    row = selectors.server(guild_id)
    if row is None:
        raise Http404
    return row


def _switched_off(request: Request, row: ServerRow) -> dict[str, Any]:
    """What is still stored of places that were just switched off."""
    ids = [one for value in request.GET.getlist("off")[:SWITCHED_OFF] if (one := number(value)) is not None]
    if row.guild.discord_id in ids:
        closed = not (row.guild.enabled and row.guild.capture_enabled)
        return {"all_off": closed and row.guild.message_count > 0}
    return {"off": selectors.still_stored(row.guild.discord_id, ids)}


def _back(guild_id: int, off: Collection[int], *, channel_id: int | None = None) -> HttpResponse:
    args = [guild_id] if channel_id is None else [guild_id, channel_id]
    address = reverse("dashboard:server" if channel_id is None else "dashboard:server-channel", args=args)
    query = QueryDict(mutable=True)
    query.setlist("off", [str(one) for one in list(off)[:SWITCHED_OFF]])
    return HttpResponseRedirect(f"{address}?{query.urlencode()}" if off else address)


@require_POST
def keep(request: Request, guild_id: int) -> HttpResponse:
    """How long things are kept. What would purge something is asked about first, with the exact number."""
    row = _server(request, guild_id)
    form = RetentionForm.of(row.guild, request.POST)
    if not form.is_valid():
        return _detail(request, row, keep=form, status=422)
    days = form.cleaned_data
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
        messages.success(request, f"How long {row.guild} is kept is saved.")
        return redirect("dashboard:server", guild_id=guild_id)
    context = {"row": row, "values": days, "number": purged, "form": typed}
    return page(request, "servers/confirm.html", context, status=422 if typed.errors else 200)


@require_POST
def channels(request: Request, guild_id: int) -> HttpResponse:
    """Changes the channels that were ticked, or all of them."""
    row = _server(request, guild_id)
    form = BulkForm(request.POST)
    if not form.is_valid():
        return _detail(request, row, bulk=form, status=422)
    values, chosen = form.values(), form.chosen()
    if not values or chosen == []:
        messages.info(request, "Choose channels, and what to change of them.")
        return _back(guild_id, [])
    try:
        changed = switches.change_channels(guild_id, chosen, values, as_of=form.cleaned_data["as_of"])
    except PolicyConflict as error:
        return _detail(request, _server(request, guild_id), conflict=error, status=409)
    records.note(request, counts={"channels": len(changed)})
    noun = "channel was" if len(changed) == 1 else "channels were"
    messages.success(
        request, f"{len(changed):,} {noun} changed." if changed else "Nothing had to be changed."
    )
    return _back(guild_id, [one.discord_id for one in changed] if "capture_enabled" in values else [])


@require_http_methods(["GET", "HEAD", "POST"])
def channel(request: Request, guild_id: int, channel_id: int) -> HttpResponse:
    """One channel: its policies with where each comes from, its persona, its threads."""
    row = _server(request, guild_id)
    found = selectors.server_channel(guild_id, channel_id)
    if found is None:
        raise Http404
    inherited = policies.inherited(row.guild, found.channel)
    known = {"policy": found.policy, "inherited": inherited}
    form = ChannelForm.of(found.channel, request.POST or None, as_of=row.guild.policy_count, **known)
    conflict, status = None, 200
    if request.method == "POST" and form.is_valid():
        values = form.values()
        try:
            switches.change_channels(guild_id, [channel_id], values, as_of=form.cleaned_data["as_of"])
            messages.success(request, f"The policies of {found.channel} are saved.")
            return _back(
                guild_id,
                [channel_id] if values.get("capture_enabled") is False else [],
                channel_id=channel_id,
            )
        except PolicyConflict as error:
            conflict, status = error, 409
            data = request.POST.copy()
            data["as_of"] = str(row.guild.policy_count)
            form = ChannelForm.of(found.channel, data, as_of=row.guild.policy_count, **known)
    context = {
        "row": row,
        "entry": found,
        "form": form,
        "inherited": inherited,
        "conflict": conflict,
        "threads": selectors.threads_of(channel_id),
        "below": selectors.channels_of(channel_id),
        "persona": blocks.get(blocks.channel_persona(channel_id)),
        "used_persona": blocks.persona_for(guild_id, [channel_id]),
        **_switched_off(request, row),
    }
    return page(request, "servers/channel.html", context, status=422 if form.errors else status)
