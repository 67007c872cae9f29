"""Core memory: the persona, what is noted of members, and what the sessions are about."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from memory import blocks, selectors
from memory.blocks import Actor, Block, BlockConflict, BlockRef, OverLimit, proposals
from memory.conf import get_config
from memory.consent import Consent
from memory.models import BlockRevision, MemoryBlock, Scope
from musebot_site.dashboard.core_memory_forms import BlockFilterForm, BlockForm, LimitForm
from musebot_site.dashboard.differences import Part, differences
from musebot_site.dashboard.http import Request, allowed_servers, number, page, require_server, scope
from musebot_site.dashboard.paging import PAGE_SIZE

SHOWN, ALL = 20, 200
"""Revisions on the page at first, and when all are asked for."""


@dataclass(frozen=True, slots=True)
class Change:
    """A revision with what it changed."""

    revision: BlockRevision
    parts: list[Part]
    actor: str


@require_safe
def index(request: Request) -> HttpResponse:
    form = BlockFilterForm(request.GET)
    chosen = scope(request)
    found = None
    if form.is_valid():
        cursor = request.GET.get("cursor") or None
        filters = replace(form.filters(chosen), only_here=allowed_servers(request) is not None)
        found = selectors.memory_blocks(filters, limit=PAGE_SIZE, cursor=cursor)
    guild = selectors.guild(chosen) if chosen is not None else None
    context = {
        "form": form,
        "found": found,
        "rows": selectors.block_rows(found.rows) if found else [],
        "filtered": any(request.GET.get(name) for name in ("q", "label")),
        "list_url": reverse("dashboard:core-memory"),
        "persona": blocks.get(blocks.persona()),
        "guild": guild,
        "own_persona": blocks.get(blocks.persona(guild.id)) if guild else None,
        "waiting": [
            (
                row,
                now,
                differences(now.value, row.value),
                selectors.guild(row.scope_key) if row.scope == Scope.GUILD else None,
            )
            for row, now in proposals.waiting()
            if _may_change(request, row.scope, row.scope_key)
        ],
        "provider": get_config().core_memory.provider,
    }
    return page(request, "core_memory/index.html", context, parts={"results": "core_memory/_results.html"})


@require_http_methods(["GET", "HEAD", "POST"])
def persona(request: Request) -> HttpResponse:
    """The persona of the installation, or with ``?server=`` or ``?channel=`` what that has in its place."""
    if "channel" in request.GET:
        channel = selectors.channel(number(request.GET["channel"]) or 0)
        if channel is None:
            raise Http404
        require_server(request, channel.guild.discord_id)
        return _block_page(request, blocks.channel_persona(channel.discord_id))
    wanted = request.GET.get("server", "")
    guild_id = number(wanted)
    if wanted and (guild_id is None or selectors.guild(guild_id) is None):
        raise Http404
    return _block_page(request, blocks.persona(guild_id))


@require_http_methods(["GET", "HEAD", "POST"])
def detail(request: Request, key: int) -> HttpResponse:
    row = selectors.memory_block(key)
    if row is None:
        raise Http404
    return _block_page(request, Block.of(row).ref)


def _may_change(request: Request, of: str, key: int) -> bool:
    servers = allowed_servers(request)
    return servers is None or selectors.block_server(of, key) in servers


def _require(request: Request, ref: BlockRef) -> None:
    """Whoever sees some servers only gets at their blocks and those of their channels; members' are of all servers."""
    require_server(request, selectors.block_server(ref.scope, ref.key))


def _block_page(request: Request, ref: BlockRef) -> HttpResponse:
    _require(request, ref)
    block = blocks.get(ref)
    form, conflict, status = BlockForm.of(block), None, 200
    if request.method == "POST":
        form = BlockForm(request.POST)
        if form.is_valid():
            try:
                written = blocks.edit(
                    ref,
                    form.cleaned_data["value"],
                    version=form.cleaned_data["version"],
                    actor=_admin(request, block, form.cleaned_data["reason"]),
                )
                messages.success(request, f"Saved as version {written.version}.")
                return redirect(_address(ref))
            except BlockConflict as error:
                block, status = error.block, 409
                conflict = differences(block.value, form.cleaned_data["value"])
                form = form.with_version(block.version)
            except OverLimit as error:
                form.add_error("value", error.message)
        status = 422 if form.errors else status
    context = _context(request, block, form) | {"conflict": conflict}
    return page(request, "core_memory/detail.html", context, status=status)


def _context(request: Request, block: Block, form: BlockForm) -> dict[str, Any]:
    row = selectors.memory_block(block.id) if block.id is not None else None
    shown = ALL if request.GET.get("history") == "all" else SHOWN
    revisions = selectors.revisions(row.pk, limit=shown) if row else []
    return {
        "current": block,
        "row": selectors.block_rows([row])[0] if row else None,
        "member": row.member if row else None,
        "form": form,
        "limit_form": LimitForm(initial={"limit": block.limit}),
        "history": _history(revisions, shown),
        "more": len(revisions) > shown and shown < ALL,
        "address": _address(block.ref),
        "server": selectors.guild(block.ref.key) if block.ref.scope == "guild" else None,
        "channel": selectors.channel(block.ref.key) if block.ref.scope == "session" else None,
        "left": max(block.limit - block.chars, 0),
        "percent": round(100 * block.chars / block.limit) if block.limit else 100,
    }


def _history(revisions: list[BlockRevision], shown: int) -> list[Change]:
    found = []
    for place, revision in enumerate(revisions[:shown]):
        before = revisions[place + 1].value if place + 1 < len(revisions) else ""
        found.append(Change(revision, differences(before, revision.value), revision.get_actor_kind_display()))
    return found


@require_POST
def restore(request: Request, key: int) -> HttpResponse:
    """Brings back what the block held in a version, if nobody changed it since the page was shown."""
    row = selectors.memory_block(key)
    to, version = number(request.POST.get("to", "")), number(request.POST.get("version", ""))
    if row is None or to is None or version is None:
        raise Http404
    block = Block.of(row)
    _require(request, block.ref)
    try:
        written = blocks.restore(key, to=to, version=version, actor=_admin(request, block, f"version {to}"))
        messages.success(request, f"Version {to} is back, as version {written.version}.")
    except BlockConflict:
        messages.error(request, "It was changed since you opened the page. Look at what it holds now.")
    return redirect(_address(block.ref))


@require_POST
def limit(request: Request, key: int) -> HttpResponse:
    row = selectors.memory_block(key)
    if row is None:
        raise Http404
    form = LimitForm(request.POST)
    ref = Block.of(row).ref
    _require(request, ref)
    if not form.is_valid():
        messages.error(request, f"Limit: {form.errors['limit'][0]}")
        return redirect(_address(ref))
    try:
        blocks.set_limit(ref, form.cleaned_data["limit"])
        messages.success(request, f"It may hold {form.cleaned_data['limit']:,} characters now.")
    except OverLimit:
        messages.error(request, "The text is longer than that. Shorten it first.")
    return redirect(_address(ref))


@require_POST
def decide(request: Request, key: int) -> HttpResponse:
    """Approves or rejects a proposed persona."""
    proposed = proposals.find(key)
    if proposed is None:
        raise Http404
    _require(request, proposals.ref_of(proposed))
    if request.POST.get("decision") == "reject":
        proposals.reject(key)
        messages.success(request, "The proposal was rejected.")
        return redirect("dashboard:core-memory")
    version = number(request.POST.get("version", ""))
    if version is None:
        raise Http404
    try:
        proposals.approve(key, version=version, admin=_account(request))
        messages.success(request, "The proposed persona is in use.")
    except BlockConflict:
        messages.error(request, "The persona was changed since you opened the page. Compare again.")
    return redirect("dashboard:core-memory")


def _admin(request: Request, block: Block, reason: str) -> Actor:
    consent = None
    row: MemoryBlock | None = selectors.memory_block(block.id) if block.id is not None else None
    if row is not None and row.member is not None:
        # An erasure that begins meanwhile wins.
        consent = Consent(row.member.user_id, row.member.epoch)
    return Actor("admin", _account(request), reason, consent=consent)


def _account(request: Request) -> int:
    return int(request.user.pk or 0)


def _address(ref: BlockRef) -> str:
    if ref.label == "persona":
        address = reverse("dashboard:persona")
        named = {"guild": f"?server={ref.key}", "session": f"?channel={ref.key}"}
        return address + named.get(ref.scope, "")
    block = blocks.get(ref)
    return reverse("dashboard:block", args=[block.id]) if block.id else reverse("dashboard:core-memory")
