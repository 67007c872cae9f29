"""Requests to forget somebody, and their receipts."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from django.db.models import F, QuerySet
from django.utils import timezone

from memory.models import Channel, ErasureRequest, Guild
from memory.pseudonyms import subject_hash
from memory.selectors.paging import Page, keyset_page

MOST_OPEN = 200
OPEN = "open"


@dataclass(frozen=True, slots=True)
class ErasureFilters:
    """What narrows the list of erasures; empty fields do not."""

    state: str = ""
    """One of the states of a request, or ``OPEN`` for all that are not over."""
    user_id: int | None = None
    """Whose: found by the keyed hash, also when the id was forgotten."""
    overdue: bool = False

    def narrow(self, rows: QuerySet[ErasureRequest]) -> QuerySet[ErasureRequest]:
        if self.state and self.state != OPEN:
            rows = rows.filter(state=self.state)
        if self.user_id is not None:
            rows = rows.filter(subject=subject_hash(self.user_id))
        return rows.filter(due_at__lt=timezone.now()) if self.overdue else rows

    @property
    def only_open(self) -> bool:
        """Whether nothing that is over can match: only what is still to be answered can be overdue."""
        return self.overdue or self.state == OPEN


EVERYTHING = ErasureFilters()


def erasures(*, limit: int = 100) -> list[ErasureRequest]:
    """Those that are not over first, the most urgent before all; then the latest."""
    opened = open_erasures()[:limit]
    return [*opened, *ended_erasures(limit=limit).rows][:limit]


def open_erasures(filters: ErasureFilters = EVERYTHING) -> list[ErasureRequest]:
    """Requests that are not over, the one that is due first before all others."""
    rows = filters.narrow(ErasureRequest.objects.not_over())
    return list(rows.order_by(F("due_at").asc(nulls_last=True), "received_at", "id")[:MOST_OPEN])


def ended_erasures(
    filters: ErasureFilters = EVERYTHING, *, limit: int = 50, cursor: str | None = None
) -> Page[ErasureRequest]:
    """Requests that are over, the latest first."""
    if filters.only_open:
        return Page(())
    rows = ErasureRequest.objects.filter(state__in=[ErasureRequest.State.DONE, ErasureRequest.State.CLOSED])
    return keyset_page(
        filters.narrow(rows), moment="received_at", key="id", limit=limit, cursor=cursor, key_type=uuid.UUID
    )


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
