"""Why did it say that?"""

from __future__ import annotations

import uuid
from typing import Any

from django.http import HttpRequest
from ninja import Router

from memory import chat, errors, selectors
from musebot_site.api.auth import READ_OF_SERVERS, reaches
from musebot_site.api.schemas import REFUSALS, Problem

router = Router(tags=["replies"])


@router.get("replies/{trace_id}", auth=READ_OF_SERVERS, response={200: dict[str, Any], REFUSALS: Problem})
def get_reply(request: HttpRequest, trace_id: uuid.UUID) -> dict[str, Any]:
    """The trace of a reply: what was injected and why, what was left out, model and timings."""
    row = selectors.reply(trace_id)
    if row is None or not reaches(request, row.guild.discord_id if row.guild else None):
        raise errors.NotFound("There is no such reply.")
    return chat.trace(str(trace_id))
