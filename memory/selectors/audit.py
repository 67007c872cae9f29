"""Entries of the audit as pages, newest first; the thousandth page costs what the first does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet

from memory.errors import InvalidInput
from memory.models import AuditEntry
from memory.selectors.paging import Page

BATCH = 1000


@dataclass(frozen=True, slots=True)
class AuditFilters:
    """What to show; empty values leave out nothing. ``until`` is exclusive."""

    actor: str = ""
    action: str = ""
    kind: str = ""
    object_id: str = ""
    guild_id: int | None = None
    result: str = ""
    """``ok``, or ``other`` for all that was refused or failed."""
    since: datetime | None = None
    until: datetime | None = None


def audit_entries(filters: AuditFilters, *, limit: int = 100, cursor: str | None = None) -> Page[AuditEntry]:
    """A page. A cursor is ``n`` (older than) or ``p`` (newer than) and a number; raises ``InvalidInput`` for another."""
    rows, backwards = _matching(filters), False
    if cursor:
        backwards, number = _decode(cursor)
        rows = rows.filter(number__gt=number) if backwards else rows.filter(number__lt=number)
    found = list(rows.order_by("number" if backwards else "-number")[: limit + 1])
    more, found = len(found) > limit, found[:limit]
    if backwards:
        found.reverse()
    if not found:
        return Page(())
    later = bool(cursor) if not backwards else more
    earlier = more if not backwards else True
    return Page(
        tuple(found),
        next_cursor=f"n{found[-1].number}" if earlier else None,
        previous_cursor=f"p{found[0].number}" if later else None,
    )


def audit_export(filters: AuditFilters) -> Iterator[AuditEntry]:
    """All that match, the first first, read in batches."""
    last = 0
    while True:
        batch = list(_matching(filters).filter(number__gt=last).order_by("number")[:BATCH])
        yield from batch
        if len(batch) < BATCH:
            return
        last = batch[-1].number


def audit_count() -> int:
    """How many entries there are: the number of the last."""
    last = AuditEntry.objects.order_by("-number").values_list("number", flat=True).first()
    return last or 0


def audit_actions(*, limit: int = 200) -> list[str]:
    """The codes of all actions that were ever recorded, by name; one step through an index for each."""
    return _distinct("action", limit)


def _distinct(column: str, limit: int) -> list[str]:
    found: list[str] = []
    while len(found) < limit:
        rows = AuditEntry.objects.filter(**{f"{column}__gt": found[-1] if found else ""}).order_by(column)
        following = rows.values_list(column, flat=True).first()
        if following is None:
            break
        found.append(following)
    return found


def _matching(filters: AuditFilters) -> QuerySet[AuditEntry]:
    rows: QuerySet[AuditEntry] = AuditEntry.objects.all()
    for name in ("actor", "kind", "object_id"):
        if value := getattr(filters, name):
            rows = rows.filter(**{name: value})
    if filters.action:
        rows = rows.filter(action=filters.action)
    if filters.guild_id is not None:
        rows = rows.filter(guild=filters.guild_id)
    if filters.result == "other":
        # Named one by one: an index leads to what is in a list, not to what is not.
        rows = rows.filter(result__in=[code for code in _distinct("result", 100) if code != "ok"])
    elif filters.result:
        rows = rows.filter(result=filters.result)
    # The numbers follow the times, so a time is a number: an index by another column need not be given up for it.
    if filters.since is not None:
        rows = rows.filter(number__gte=_first_at(filters.since))
    if filters.until is not None:
        rows = rows.filter(number__lt=_first_at(filters.until))
    return rows


def _first_at(moment: datetime) -> int:
    """Number of the first entry at or after a moment; one more than the last if there is none. Halves what is left to look at."""
    low, high = 1, audit_count() + 1
    while low < high:
        middle = (low + high) // 2
        at = AuditEntry.objects.filter(number__gte=middle).order_by("number").values_list("at", flat=True)[:1]
        if at[0] < moment:
            low = middle + 1
        else:
            high = middle
    return low


def _decode(cursor: str) -> tuple[bool, int]:
    number = cursor[1:]
    if cursor[:1] not in {"n", "p"} or not (number.isascii() and number.isdecimal() and len(number) < 19):
        raise InvalidInput("This page's address is damaged. Go back to the first page.")
    return cursor[0] == "p", int(number)
