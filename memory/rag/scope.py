"""Which documents answer where. It fails closed: what is not known to be allowed is not looked in."""

from __future__ import annotations

from django.db import connection
from django.db.models import Q

from memory.models import Document
from memory.rag.options import Filters


def versions(filters: Filters) -> dict[int, int]:
    """The versions that may be found, and the document of each."""
    rows = Document.objects.filter(enabled=True, active__isnull=False)
    if not filters.everything:
        allowed = Q(everywhere=True)
        if filters.guild_id is not None:
            there = Document.guilds.through.objects.filter(guild__discord_id=filters.guild_id)
            allowed |= Q(pk__in=there.values("document_id"))
        rows = rows.filter(allowed)
    if filters.documents is not None:
        rows = rows.filter(pk__in=filters.documents)
    statement, values = rows.values_list("active_id", "pk").query.sql_with_params()
    with connection.cursor() as cursor:
        # Read at once: thousands of rows for each question, which the ORM hands out one by one.
        cursor.execute(statement, values)
        return dict(cursor.fetchall())


def any_document() -> bool:
    """Whether there is anything to look in at all."""
    return Document.objects.filter(enabled=True, active__isnull=False).exists()
