"""Requests to forget somebody, and their receipts."""

from __future__ import annotations

import uuid

from django.db.models import F
from django.utils import timezone

from memory.models import Channel, ErasureRequest, Guild
from memory.selectors.paging import Page, keyset_page

MOST_OPEN = 200


def erasures(*, limit: int = 100) -> list[ErasureRequest]:
    """Those that are not over first, the most urgent before all; then the latest."""
    opened = open_erasures()[:limit]
    return [*opened, *ended_erasures(limit=limit).rows][:limit]


def open_erasures() -> list[ErasureRequest]:
    """Requests that are not over, the one that is due first before all others."""
    rows = ErasureRequest.objects.not_over()
    return list(rows.order_by(F("due_at").asc(nulls_last=True), "received_at", "id")[:MOST_OPEN])


def ended_erasures(*, limit: int = 50, cursor: str | None = None) -> Page[ErasureRequest]:
    """Requests that are over, the latest first."""
    rows = ErasureRequest.objects.filter(state__in=[ErasureRequest.State.DONE, ErasureRequest.State.CLOSED])
    return keyset_page(rows, moment="received_at", key="id", limit=limit, cursor=cursor, key_type=uuid.UUID)


def erasure(request_id: uuid.UUID) -> ErasureRequest | None:
    return ErasureRequest.objects.filter(id=request_id).first()


def is_overdue(row: ErasureRequest) -> bool:
    over = row.state in {ErasureRequest.State.DONE, ErasureRequest.State.CLOSED}
    return not over and row.due_at is not None and row.due_at < timezone.now()


def part_names(row: ErasureRequest) -> tuple[str, str]:
    """Names of the server and the channel that a part is about; empty where there is none or it is not known any more."""
    guild = Guild.objects.filter(discord_id=row.guild_id).first() if row.guild_id else None
    channel = Channel.objects.filter(discord_id=row.channel_id).first() if row.channel_id else None
    return str(guild) if guild else "", str(channel) if channel else ""
