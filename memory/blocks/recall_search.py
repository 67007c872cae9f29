"""Recall memory: what was said, as it is stored of members who opted in, by words and by dates.

Scope and audience are those of every recall: the same server, and only channels that all readers of the answer can read.
"""

from __future__ import annotations

from django.db.models import QuerySet

from memory.backends import text_index
from memory.blocks.archive import between, days
from memory.blocks.archive_search import paged
from memory.blocks.audience import visible_channels
from memory.blocks.errors import EmptyQuery
from memory.blocks.text import query_words
from memory.blocks.types import Found, Place, Results
from memory.models import Guild, Message

CANDIDATES = 400
MAX_SHOWN = 600
"""Characters of one message in a result; the whole message stays where it is."""


def search(
    place: Place, query: str, *, start: str = "", end: str = "", limit: int = 10, cursor: str = ""
) -> Results:
    """By words the best first, by dates alone the newest first. Raises ``EmptyQuery``, ``InvalidDate``."""
    since, until = days(place, start, end)
    words = query_words(query) if query.strip() else ()
    if not words and since is None and until is None:
        raise EmptyQuery()
    guild = Guild.objects.filter(discord_id=place.guild_id).first()
    if guild is None:
        return Results(zone=place.zone)
    channels = visible_channels(place)
    rows = _usable(guild, channels, place).filter(between(since, until, "sent_at"))
    if not words:
        keys = list(rows.order_by("-sent_at", "-key").values_list("key", flat=True)[:CANDIDATES])
        scores = dict.fromkeys(keys, 0.0)
    else:
        hits = text_index().search(guild.ordinal, list(words), CANDIDATES, channels=channels)
        scores = {hit.key: hit.fielded for hit in hits}
        there = set(rows.filter(key__in=scores).values_list("key", flat=True))
        keys = [hit.key for hit in hits if hit.key in there]
    some, following = paged(keys, limit, cursor)
    found = {row.key: row for row in rows.filter(key__in=some)}
    return Results(
        tuple(_found(found[key], scores[key]) for key in some if key in found), following, False, place.zone
    )


def _usable(guild: Guild, channels: frozenset[int] | None, place: Place) -> QuerySet[Message]:
    rows = Message.objects.filter(
        guild=guild, paused=False, member__withdrawn_at=None, member__paused_at=None
    )
    if channels is not None:
        rows = rows.filter(channel_id__in=channels)
    # The question itself is in the prompt already.
    return rows if place.message_key is None else rows.exclude(key=place.message_key)


def _found(row: Message, score: float) -> Found:
    text = f"{row.text} [image: {row.captions}]".strip() if row.captions else row.text
    if len(text) > MAX_SHOWN:
        text = text[: MAX_SHOWN - 1].rstrip() + "…"
    return Found(str(row.key), row.sent_at, f"{row.author_name}: {text}", score, row.key)
