"""Where a citation leads: the passage that was cited, and the document around it."""

from __future__ import annotations

from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_safe

from memory import selectors
from memory.models import Chunk, Document
from musebot_site.dashboard.http import number
from musebot_site.dashboard.permissions import Permission, rights
from musebot_site.members import reading
from musebot_site.members.http import show, to_sign_in
from musebot_site.members.sign_in import Person, person_of

PASSAGES = 40
BEFORE = 3
"""Passages before the one that is linked to."""


@require_safe
def source(request: HttpRequest, document_id: int) -> HttpResponseBase:
    """Whoever looks after documents is led to the dashboard. To others a document that they may not read is none at all."""
    if rights(request).may(Permission.DOCUMENTS):
        query = request.META.get("QUERY_STRING", "")
        address = reverse("dashboard:document", args=[document_id])
        return HttpResponseRedirect(f"{address}?{query}" if query else address)
    person = person_of(request)
    if person is None:
        return to_sign_in(request)
    row = selectors.document(document_id)
    if row is None or not reading.may_read(person, row):
        raise Http404
    response = _page(request, person, row)
    response.headers["Cache-Control"] = "private, no-store"
    return response


def _page(request: HttpRequest, person: Person, row: Document) -> HttpResponseBase:
    assert row.active_id is not None
    cited = _cited(request, row)
    after = number(request.GET.get("after", ""))
    if after is None and cited is not None:
        after = cited.key - BEFORE - 1
    rows = selectors.passages(row.active_id, after=-1 if after is None else after, limit=PASSAGES + 1)
    more, rows = len(rows) > PASSAGES, rows[:PASSAGES]
    context = {
        "row": row,
        "cited": cited,
        "changed": cited is None and bool(request.GET.get("chunk")),
        "parts": reading.sections(rows),
        "beginning": not rows or rows[0].index == 0,
        "next_after": rows[-1].key if more else None,
    }
    return show(request, person, "own/source.html", context)


def _cited(request: HttpRequest, row: Document) -> Chunk | None:
    """The passage of the link, if it still is one of the version that answers: older words may have been taken back."""
    key = number(request.GET.get("chunk", ""))
    chunk = selectors.passage(key) if key is not None else None
    return chunk if chunk is not None and chunk.version_id == row.active_id else None
