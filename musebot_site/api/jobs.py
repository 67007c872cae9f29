"""Work that waits, runs or failed."""

from __future__ import annotations

from typing import Annotated, Literal

from django.http import HttpRequest
from ninja import Field, Query, Router, Schema

from memory import outbox
from memory.models import OutboxEntry
from musebot_site.api.auth import READ
from musebot_site.api.schemas import REFUSALS, Id, JobOut, JobsOut, Problem

router = Router(tags=["jobs"])


class Filters(Schema):
    kind: Annotated[str, Field(max_length=20)] = ""
    state: Literal["", "queued", "running", "failed", "paused"] = ""
    limit: Annotated[int, Field(ge=1, le=200)] = 50
    cursor: Id | None = None


@router.get("jobs", auth=READ, response={200: JobsOut, REFUSALS: Problem})
def list_jobs(request: HttpRequest, filters: Query[Filters]) -> JobsOut:
    """Counts by kind and state, and the entries, oldest first. What is done is gone."""
    rows = OutboxEntry.objects.order_by("id")
    if filters.kind:
        rows = rows.filter(kind=filters.kind)
    if filters.state:
        rows = rows.filter(state=filters.state)
    if filters.cursor:
        rows = rows.filter(id__gt=filters.cursor)
    found = list(rows[: filters.limit + 1])
    page = found[: filters.limit]
    return JobsOut(
        summary=outbox.summary(),
        results=[_out(row) for row in page],
        next_cursor=str(page[-1].id) if len(found) > len(page) else None,
    )


def _out(row: OutboxEntry) -> JobOut:
    return JobOut(
        id=row.id,
        kind=row.kind,
        subject=str(row.subject),
        state=row.state,
        attempts=row.attempts,
        due_at=row.due_at,
        lease_until=row.lease_until,
        error=row.error_code,
        message=row.error,
        created_at=row.created_at,
    )
