"""Members: who opted in, what is held of one, and all of it as JSON."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, StreamingHttpResponse
from ninja import Router

from memory import errors, export, facts, selectors
from memory.capture import backfill
from musebot_site.api.auth import READ
from musebot_site.api.schemas import REFUSALS, Id, MemberOut, Problem

router = Router(tags=["members"])


@router.get("members/{user_id}", auth=READ, response={200: MemberOut, REFUSALS: Problem})
def get_member(request: HttpRequest, user_id: Id) -> MemberOut:
    """Consent and counts of one member."""
    member = selectors.member(user_id)
    if member is None:
        raise errors.NotFound("This person has not opted in; nothing is stored of them.")
    held = {name.replace(" ", "_"): count for name, count in selectors.member_inventory(user_id).items()}
    return MemberOut(
        user_id=member.user_id,
        username=member.username,
        display_name=member.display_name,
        consented_at=member.consented_at,
        notice_version=member.notice_version,
        origin=member.origin,
        paused_at=member.paused_at,
        erasing=member.withdrawn_at is not None,
        last_message_at=member.last_message_at,
        counts={"memories": member.message_count, "facts": len(facts.memory(user_id)), **held},
        backfill=[_history(one) for one in backfill.member_progress(user_id)],
    )


def _history(one: backfill.MemberProgress) -> dict[str, Any]:
    """How far the reading of their history has got on one server."""
    scan = one.scan
    return {
        "guild_id": str(scan.guild_id) if scan.guild_id else None,
        "state": scan.state,
        "stage": scan.stage,
        "channels_done": scan.channels_done,
        "channels": scan.channels,
        "unreadable": scan.unreadable,
        "scanned": scan.scanned,
        "stored": one.stored,
        "rate": round(scan.rate, 1),
        "seconds_left": scan.seconds_left,
    }


@router.get("members/{user_id}/export", auth=READ, response={200: dict[str, Any], REFUSALS: Problem})
def export_member(request: HttpRequest, user_id: Id) -> StreamingHttpResponse:
    """Everything that is stored of one member."""
    response = StreamingHttpResponse(
        export.member_json(user_id), content_type="application/json; charset=utf-8"
    )
    response["Content-Disposition"] = f'attachment; filename="musebot-{user_id}.json"'
    response["Cache-Control"] = "no-store"
    return response
