"""Full text of messages on PostgreSQL: what ``fulltext`` does with FTS5, over ``postings``."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import Any

from django.db import connection

from memory.index.base import Page, TextHit, key_range
from memory.index.postings import Entry, Postings, Where
from memory.index.terms import body_terms, who_terms

POSTINGS = Postings("message", ("body", "who"))
FIELDED, BODY = (1.0, 0.3), (1.0, 0.0)
_BATCH = 500
_MESSAGE = "JOIN memory_message AS message ON message.key = found.key"


class PostgresTextIndex:
    """``TextIndex`` over ``memory_message_postings`` of the default database."""

    def add(self, keys: Sequence[int]) -> None:
        for start in range(0, len(keys), _BATCH):
            with connection.cursor() as cursor:
                cursor.execute(
                    "SELECT key, channel_id, text, captions, author_name, sent_at FROM memory_message "
                    "WHERE key = ANY(%s::bigint[])",
                    [list(keys[start : start + _BATCH])],
                )
                rows = cursor.fetchall()
            POSTINGS.add(
                Entry(key, channel, (body_terms(text, captions), who_terms(author, _utc(sent_at))))
                for key, channel, text, captions, author, sent_at in rows
            )

    def remove(self, keys: Sequence[int], *, merged_later: bool = False) -> None:
        POSTINGS.remove(keys)

    def search(
        self,
        guild: int | None,
        words: Sequence[str],
        k: int,
        *,
        channels: Collection[int] | None = None,
        exclude: Collection[int] = (),
    ) -> list[TextHit]:
        if channels is not None and not channels:
            return []
        where = Where(_keys(guild), scopes=channels, exclude=exclude)
        return [TextHit(*row) for row in self._search(guild, words, k, (FIELDED, BODY), where)]

    def page(self, guild: int | None, words: Sequence[str], k: int, page: Page) -> list[tuple[int, float]]:
        where = Where(_keys(guild))
        if page.conditions:
            where = Where(
                _keys(guild), join=_MESSAGE, conditions=tuple(page.conditions), values=tuple(page.values)
            )
        return [
            (int(key), float(score))
            for key, score in self._search(guild, words, k, (FIELDED,), where, page.after)
        ]

    def _search(
        self,
        guild: int | None,
        words: Sequence[str],
        k: int,
        weights: Sequence[Sequence[float]],
        where: Where,
        after: tuple[float, int] | None = None,
    ) -> list[tuple[Any, ...]]:
        return POSTINGS.search(words, k, weights=weights, where=where, after=after, documents=_count(guild))

    def optimize(self) -> None:
        """Nothing to merge: an erasure vacuums the tables."""

    def rebuild(self) -> None:
        POSTINGS.clear()
        after = -1
        while keys := _stored(after):
            self.add(keys)
            after = keys[-1]

    def strays(self) -> int:
        return len(POSTINGS.strays("SELECT key FROM memory_message", 1_000_000))

    def remove_strays(self) -> int:
        keys = POSTINGS.strays("SELECT key FROM memory_message", 1_000_000)
        POSTINGS.remove(keys)
        return len(keys)


def _keys(guild: int | None) -> tuple[int, int] | None:
    return None if guild is None else key_range(guild)


def _count(guild: int | None) -> int:
    """Messages of a guild or of all, as they are kept in its row."""
    condition, values = ("", []) if guild is None else ("WHERE ordinal = %s", [guild])
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT coalesce(sum(message_count), 0) FROM memory_guild {condition}", values)
        return int(cursor.fetchone()[0])


def _stored(after: int) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT key FROM memory_message WHERE key > %s ORDER BY key LIMIT {_BATCH}", [after])
        return [int(row[0]) for row in cursor.fetchall()]


def _utc(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat()
