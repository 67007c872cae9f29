"""Messages that were deleted or edited while a history is being read, by whichever process hears of it.

A page that was fetched before the deletion must not bring the message back, nor its old words. Ids only, and only while a scan is
open.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta

from django.db import connection
from django.utils import timezone

from memory.models import Scan, TouchedMessage

KEPT = timedelta(hours=1)
OPEN = (Scan.State.LISTING, Scan.State.RUNNING)


def note(discord_ids: Collection[int], *, deleted: bool) -> None:
    """Inside the transaction that takes the deletion or edit over."""
    if not discord_ids or not Scan.objects.filter(state__in=OPEN).exists():
        return
    table = TouchedMessage._meta.db_table
    now = timezone.now()
    with connection.cursor() as cursor:
        cursor.executemany(
            f"INSERT INTO {table} (discord_id, deleted, at) VALUES (%s, %s, %s) ON CONFLICT (discord_id) "
            f"DO UPDATE SET at = excluded.at, deleted = {table}.deleted OR excluded.deleted",
            [(one, deleted, connection.ops.adapt_datetimefield_value(now)) for one in discord_ids],
        )


def since(moment: datetime, discord_ids: Collection[int]) -> tuple[set[int], set[int]]:
    """Those of these messages that were deleted, and those that were edited, after a page with them was asked for."""
    rows = TouchedMessage.objects.filter(at__gte=moment).values_list("discord_id", "deleted")
    asked = set(discord_ids)
    found = [(one, gone) for one, gone in rows if one in asked]  # of the last second or so: few, mostly none
    return {one for one, gone in found if gone}, {one for one, gone in found if not gone}


def tidy() -> int:
    """Drops what no page can be older than; returns how many."""
    return TouchedMessage.objects.filter(at__lt=timezone.now() - KEPT).delete()[0]
