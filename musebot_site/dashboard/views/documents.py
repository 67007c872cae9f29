"""Documents: the list, one document with its progress, passages and versions."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from memory import selectors
from memory.conf import get_config
from memory.models import Chunk, Document, DocumentVersion
from memory.rag import ingest, spaces
from memory.rag.chunking import Chunk as Piece
from memory.rag.chunking import join
from musebot_site.dashboard import health
from musebot_site.dashboard.differences import Part, differences
from musebot_site.dashboard.document_forms import DocumentFilterForm, ScopeForm
from musebot_site.dashboard.http import (
    Request,
    allowed_servers,
    number,
    own_servers,
    page,
    require_server,
    scope,
)
from musebot_site.dashboard.paging import PAGE_SIZE

PASSAGES = 60
STAGES = ("queued", "parse", "chunk", "embed", "ready")
MOST_CHANGES = 200


@require_safe
def index(request: Request) -> HttpResponse:
    return page(
        request, "documents/index.html", listing(request), parts={"results": "documents/_results.html"}
    )


def listing(request: Request) -> dict[str, Any]:
    form, guild_id = DocumentFilterForm(request.GET), scope(request)
    found = None
    if form.is_valid():
        cursor = request.GET.get("cursor") or None
        found = selectors.documents(form.filters(guild_id), limit=PAGE_SIZE, cursor=cursor)
    rows = [_within(request, row) for row in found.rows] if found else []
    guilds = own_servers(request)
    return {
        "form": form,
        "found": found,
        "busy": any(version.busy for row in rows for version in row.all_versions),  # type: ignore[attr-defined]
        "filtered": any(request.GET.get(name) for name in ("q", "state")),
        "list_url": reverse("dashboard:documents"),
        "scope_form": ScopeForm(guilds=guilds, everywhere=allowed_servers(request) is None),
        "guilds": guilds,
        "chosen": guild_id,
        "limit_mib": get_config().rag.max_file_bytes // (1024 * 1024),
        "rebuild": ingest.rebuild_progress(),
        "off": not get_config().rag.enabled,
        "words_only": get_config().memory_enabled is False,
        "serving": spaces.serving(),
    }


@require_safe
def detail(request: Request, document_id: int) -> HttpResponse:
    """The part that shows progress asks for itself again until the work has ended."""
    row = find(request, document_id)
    version: DocumentVersion | None = row.newest  # type: ignore[attr-defined]
    context: dict[str, Any] = {"row": row, "version": version, **_progress(version)}
    context["may_change"] = may_change(request, row)
    if not (request.htmx and request.htmx.target == "progress"):
        context |= _rest(request, row)
    return page(request, "documents/detail.html", context, parts={"progress": "documents/_progress.html"})


def find(request: Request, document_id: int) -> Document:
    """What answers everywhere is seen by all who see documents; what is limited to servers by those of one of them."""
    row = selectors.document(document_id)
    if row is None:
        raise Http404
    servers = allowed_servers(request)
    if servers is not None and not row.everywhere:
        require_server(request, next((id_ for id_ in _places(row) if id_ in servers), None))
    return _within(request, row)


def may_change(request: Request, row: Document) -> bool:
    """Who sees some servers only changes what answers on those alone: everything else others rely on, too."""
    servers = allowed_servers(request)
    return servers is None or (not row.everywhere and bool(_places(row)) and _places(row) <= servers)


def _places(row: Document) -> frozenset[int]:
    return frozenset(guild.discord_id for guild in row.guilds.all())


def _within(request: Request, row: Document) -> Document:
    """The document without the names of servers that this account may not see."""
    servers = allowed_servers(request)
    if servers is not None:
        row.places = [guild for guild in row.places if guild.discord_id in servers]  # type: ignore[attr-defined]
    return row


def _progress(version: DocumentVersion | None) -> dict[str, Any]:
    if version is None:
        return {"stages": [], "busy": False}
    at = STAGES.index(version.state) if version.state in STAGES else -1
    context: dict[str, Any] = {
        "stages": [
            (name, "done" if place < at or version.state == "ready" else "now" if place == at else "todo")
            for place, name in enumerate(STAGES)
        ],
        "busy": version.busy,
    }
    if version.busy:
        context |= _pace(version)
        context["wait"] = selectors.ingest_wait(version)
        context["worker"] = health.processes()["worker"]
    return context


def _pace(version: DocumentVersion) -> dict[str, Any]:
    seconds = (timezone.now() - version.stage_at).total_seconds()
    rate = (
        version.chunks_done / seconds
        if version.state == "embed" and seconds > 1 and version.chunks_done
        else 0.0
    )
    left = (version.chunks_total - version.chunks_done) / rate if rate else None
    return {"rate": rate, "left": left}


def _rest(request: Request, row: Document) -> dict[str, Any]:
    guilds = own_servers(request)
    chosen = _shown(request, row)
    initial = {
        "where": "everywhere" if row.everywhere else "guilds",
        "guild": [str(guild.discord_id) for guild in row.guilds.all()],
    }
    return {
        "scope_form": ScopeForm(guilds=guilds, everywhere=allowed_servers(request) is None, initial=initial),
        "guilds": guilds,
        "here": {guild.discord_id for guild in row.guilds.all()},
        "limit_mib": get_config().rag.max_file_bytes // (1024 * 1024),
        **(_passages(request, chosen) if chosen else {"sections": [], "shown": None}),
    }


def _shown(request: Request, row: Document) -> DocumentVersion | None:
    """The version whose passages are shown: the one that is asked for, the one of the passage, or the one that answers."""
    wanted = number(request.GET.get("version", ""))
    versions: list[DocumentVersion] = row.all_versions  # type: ignore[attr-defined]
    named = next((version for version in versions if version.number == wanted), None)
    key = number(request.GET.get("chunk", ""))
    if named is None and key is not None:
        chunk = selectors.passage(key)
        named = next((version for version in versions if chunk and version.pk == chunk.version_id), None)
    return named or row.active


@dataclass(frozen=True, slots=True)
class SourceSection:
    """A stretch of the source beside the passages that were cut out of it."""

    heading: tuple[str, ...]
    where: str
    text: str
    chunks: list[Chunk]


def _passages(request: Request, version: DocumentVersion) -> dict[str, Any]:
    after = number(request.GET.get("after", ""))
    key = number(request.GET.get("chunk", ""))
    if after is None and key is not None:
        after = max(key - 5, 0)  # a passage that is linked to, with a little before it
    rows = selectors.passages(version.pk, after=-1 if after is None else after, limit=PASSAGES + 1)
    more = len(rows) > PASSAGES
    rows = rows[:PASSAGES]
    return {
        "shown": version,
        "sections": [_section(list(group)) for _, group in groupby(rows, key=lambda row: row.section)],
        "next_after": rows[-1].key if more else None,
        "first": rows[0].index if rows else 0,
        "last": rows[-1].index if rows else 0,
        "beginning": after is None,
        "marked": key,
    }


def _section(chunks: list[Chunk]) -> SourceSection:
    first = chunks[0]
    where = (
        f"page {first.page}"
        if first.page is not None
        else f"record {first.row}"
        if first.row is not None
        else ""
    )
    pieces = [
        Piece(row.index, row.text, row.heading_path, row.page, row.row, row.section, row.start, row.end)
        for row in chunks
    ]
    return SourceSection(first.heading_path, where, join(pieces), chunks)


@require_safe
def compare(request: Request, document_id: int, version_number: int) -> HttpResponse:
    """What a version would change in what answers now, passage by passage."""
    row = find(request, document_id)
    versions: list[DocumentVersion] = row.all_versions  # type: ignore[attr-defined]
    other = next((version for version in versions if version.number == version_number), None)
    if other is None or row.active is None or other.pk == row.active_id:
        raise Http404
    changes = _changes(row.active, other)
    context = {
        "row": row,
        "other": other,
        "changes": changes[:MOST_CHANGES],
        "more": len(changes) > MOST_CHANGES,
        "may_change": may_change(request, row),
    }
    return page(request, "documents/compare.html", context)


@dataclass(frozen=True, slots=True)
class Change:
    kind: str
    """changed, added or removed."""
    heading: str
    parts: list[Part]


def _changes(now: DocumentVersion, other: DocumentVersion) -> list[Change]:
    """By section of the source: sections of the same headings (and page, record) are compared with each other."""
    before, after = _by_place(now), _by_place(other)
    found = []
    for place in dict.fromkeys([*before, *after]):
        old, new = before.get(place, ""), after.get(place, "")
        if old != new:
            kind = "added" if not old else "removed" if not new else "changed"
            found.append(Change(kind, place, differences(old, new)))
    return found


def _by_place(version: DocumentVersion) -> dict[str, str]:
    found: dict[str, str] = {}
    rows = selectors.passages(version.pk, limit=100_000)
    for _, group in groupby(rows, key=lambda row: row.section):
        section = _section(list(group))
        place = " › ".join(section.heading) or section.where or "Beginning"
        found[place] = f"{found[place]}\n\n{section.text}" if place in found else section.text
    return found
