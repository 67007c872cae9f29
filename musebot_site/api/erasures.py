"""Forget a member, and the receipt of it."""

from __future__ import annotations

import uuid

from django.http import HttpRequest
from ninja import Router, Status

from memory import erasure, errors, selectors
from memory.models import ErasureRequest
from musebot_site.api.auth import ERASE
from musebot_site.api.schemas import REFUSALS, ErasureIn, ErasureOut, Problem

router = Router(tags=["erasures"])

SECONDS_HERE = 2.0
"""How long the request itself works on the erasure; most are done by then, and the worker does the rest."""


def _is_done(row: ErasureRequest) -> bool:
    # While it is sealed, the log of the database still knows the id.
    return row.state == ErasureRequest.State.DONE and not row.stage


@router.post("erasures", auth=ERASE, response={201: ErasureOut, 202: ErasureOut, REFUSALS: Problem})
def create_erasure(request: HttpRequest, body: ErasureIn) -> Status[ErasureOut]:
    """Erases everything of the member, with which the consent ends, or a part of it. 201 when done, 202 while it goes on."""
    part = erasure.Part(body.guild_id, body.channel_id, body.from_, body.to, body.memory_id)
    row = erasure.request(user_id=body.user_id, origin="api", part=None if part == erasure.Part() else part)
    row = erasure.run(row.id, seconds=SECONDS_HERE)
    return Status(201 if _is_done(row) else 202, _out(row))


@router.get("erasures/{erasure_id}", auth=ERASE, response={200: ErasureOut, REFUSALS: Problem})
def get_erasure(request: HttpRequest, erasure_id: uuid.UUID) -> ErasureOut:
    """How far an erasure is; its receipt once it is done."""
    row = selectors.erasure(erasure_id)
    if row is None:
        raise errors.NotFound("There is no such erasure.")
    return _out(row)


def _out(row: ErasureRequest) -> ErasureOut:
    return ErasureOut(
        id=str(row.id),
        state=row.state,
        stage=row.stage,
        total=row.total,
        done=row.done,
        origin=row.origin,
        received_at=row.received_at,
        due_at=row.due_at,
        finished_at=row.finished_at,
        part=erasure.Part.of(row).to_json() if row.partial else None,
        error=row.error,
        remains=row.remains,
        receipt=erasure.receipt(row) if _is_done(row) else None,
    )
