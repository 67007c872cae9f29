"""Audit: who saw or changed what, whether the chain is whole, and taking it along."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.http import HttpResponse, QueryDict, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.urls import NoReverseMatch, reverse
from django.views.decorators.http import require_POST, require_safe

from memory import audit, selectors
from memory.errors import InvalidInput
from memory.models import AuditEntry
from memory.selectors import AuditFilters
from musebot_site.dashboard.audit_forms import AuditFilterForm, in_words
from musebot_site.dashboard.http import Request, page, scope
from musebot_site.dashboard.paging import PAGE_SIZE
from musebot_site.dashboard.permissions import Permission, rights
from musebot_site.spreadsheets import csv_lines

PLACES = {
    "memory": ("dashboard:memory", Permission.MEMORIES),
    "fact": ("dashboard:fact", Permission.FACTS),
    "reply": ("dashboard:reply", Permission.REPLIES),
    "core_memory": ("dashboard:block", Permission.CORE_MEMORY),
    "document": ("dashboard:document", Permission.DOCUMENTS),
    "erasure": ("dashboard:erasure", Permission.ERASURES),
    "account": ("dashboard:account", Permission.ACCOUNTS),
}
"""Where the object of an entry is found, by its kind."""

ACTORS = {
    "member": "a member",
    "key": "API key",
    "command": "the command line",
    "discord": "Discord",
    "visitor": "nobody signed in",
    "retention": "retention",
    "api": "the API",
    "admin": "an admin",
}
"""Actors that are no account of the dashboard."""


@dataclass(frozen=True, slots=True)
class Line:
    """An entry as people read it."""

    entry: AuditEntry
    who: str
    action: str
    server: str
    counts: str
    href: str


@require_safe
def index(request: Request) -> HttpResponse:
    return page(request, "audit/index.html", _context(request), parts={"results": "audit/_results.html"})


@require_POST
def verify(request: Request) -> HttpResponse:
    """Computes the chain anew, which takes about a second for 20,000 entries."""
    found = audit.verify()
    context = {**_context(request), "verified": found}
    return page(request, "audit/index.html", context)


@require_safe
def export(request: Request) -> HttpResponseBase:
    """What the filters leave, oldest first, as it is read from the database."""
    form = AuditFilterForm(request.GET)
    if not form.is_valid():
        raise InvalidInput("The filters are not valid. Nothing was exported.")
    entries = selectors.audit_export(form.filters(scope(request)))
    ending = "csv" if request.GET.get("format") == "csv" else "jsonl"
    lines = _csv(entries) if ending == "csv" else _json_lines(entries)
    kind = "text/csv" if ending == "csv" else "application/x-ndjson"
    response = StreamingHttpResponse(lines, content_type=f"{kind}; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="musebot-audit.{ending}"'
    return response


def _context(request: Request) -> dict[str, Any]:
    form, guild_id = AuditFilterForm(request.GET), scope(request)
    found = None
    if form.is_valid():
        filters: AuditFilters = form.filters(guild_id)
        cursor = request.GET.get("cursor") or None
        found = selectors.audit_entries(filters, limit=PAGE_SIZE, cursor=cursor)
    return {
        "form": form,
        "found": found,
        "lines": _lines(request, found.rows) if found else [],
        "filtered": guild_id is not None or any(request.GET.get(name) for name in form.fields),
        "more": sum(bool(request.GET.get(name)) for name in ("member", "object", "result", "since", "until")),
        "entries": selectors.audit_count(),
        "accounts": User.objects.order_by("username").values_list("username", flat=True)[:200],
        "list_url": reverse("dashboard:audit"),
        "query": _query(request),
    }


def _lines(request: Request, rows: Iterable[AuditEntry]) -> list[Line]:
    rows = list(rows)
    ids = {int(row.actor[6:]) for row in rows if row.actor.startswith("admin:") and row.actor[6:].isdigit()}
    ids |= {int(row.object_id) for row in rows if row.kind == "account" and row.object_id.isdigit()}
    accounts = User.objects.in_bulk(ids)
    servers = {row.id: row.name for row in selectors.guilds()}
    held = rights(request)
    return [
        Line(
            row,
            _who(row.actor, accounts),
            in_words(row.action),
            servers.get(row.guild, str(row.guild)) if row.guild is not None else "",
            ", ".join(_many(number, name) for name, number in row.counts.items()),
            _href(row, held.may),
        )
        for row in rows
    ]


def _many(number: int, name: str) -> str:
    """``1 memory``, ``2 memories``: counts are named in the plural."""
    if number == 1:
        name = name.removesuffix("ies") + "y" if name.endswith("ies") else name.removesuffix("s")
    return f"{number:,} {name}"


def _who(actor: str, accounts: dict[int, User]) -> str:
    kind, _, name = actor.partition(":")
    if kind == "admin" and name:
        account = accounts.get(int(name)) if name.isdigit() else None
        return account.get_username() if account else f"account {name}, which is gone"
    return f"{ACTORS.get(kind, kind)} {name[:8]}".strip()


def _href(row: AuditEntry, may: Any) -> str:
    name, permission = PLACES.get(row.kind, ("", Permission.AUDIT))
    if not name or not row.object_id or not may(permission):
        return ""
    try:
        return reverse(name, args=[row.object_id])
    except NoReverseMatch:  # an id that is none of that page
        return ""


def _query(request: Request) -> str:
    query: QueryDict = request.GET.copy()
    query.pop("cursor", None)
    return query.urlencode()


def _json_lines(entries: Iterable[AuditEntry]) -> Iterator[str]:
    for entry in entries:
        yield json.dumps({**audit.canonical(entry), "hash": entry.hash}, ensure_ascii=True) + "\n"


def _csv(entries: Iterable[AuditEntry]) -> Iterator[str]:
    return csv_lines(_rows(entries))


def _rows(entries: Iterable[AuditEntry]) -> Iterator[Sequence[object]]:
    names = ("number", "at", "actor", "action", "kind", "object_id", "guild", "result", "counts", "hash")
    yield names
    for entry in entries:
        fields = {**audit.canonical(entry), "counts": json.dumps(entry.counts), "hash": entry.hash}
        yield [fields[name] for name in names]
