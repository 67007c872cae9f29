"""What was said right before and after the best memories, for prompts that have room for it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from django.db import connection

from memory.index.sql import among, array
from memory.retrieval.candidates import EPISODE_GAP, Row, load_rows

LEAST_BUDGET = 1500
"""Tokens; with fewer, neighbours would take the places of memories that answer better."""
MEMORIES = 3
"""The best ones, whose neighbours are shown."""

_BESIDE = (
    "(SELECT other.key FROM memory_message AS other WHERE other.channel_id = message.channel_id "
    "AND (other.sent_at, other.key) {} (message.sent_at, message.key) ORDER BY other.sent_at {}, other.key {} LIMIT 1)"
)


def beside(rows: Sequence[Row], *, taken: Collection[int], exclude: Collection[int]) -> list[Row]:
    """The messages next to each of ``rows`` in its channel and episode, in that order.

    Without those that are ``taken`` (keys), those in the prompt already (``exclude``, ids of Discord), and all that must not be recalled.
    """
    before_and_after = [_BESIDE.format("<", "DESC", "DESC"), _BESIDE.format(">", "ASC", "ASC")]
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT message.key, {', '.join(before_and_after)} FROM {among()} "
            "CROSS JOIN memory_message AS message WHERE message.key = wanted.value",
            (array([row.key for row in rows]),),
        )
        near = {key: others for key, *others in cursor.fetchall()}
    found = {row.key: row for row in load_rows({key for others in near.values() for key in others if key})}
    wanted: dict[int, Row] = {}
    for row in rows:
        for key in near.get(row.key, ()):
            other = found.get(key)
            if other is None or key in taken or other.discord_id in exclude:
                continue
            if abs(other.sent_at - row.sent_at) <= EPISODE_GAP and (other.text or other.captions):
                wanted[key] = other
    return list(wanted.values())
