"""Full text with FTS5: an external-content table over the view ``memory_message_terms``, constrained to a guild's keys.

FTS5 finds in all guilds at once; the guild in the high bits of the key makes the constraint a range of rowids.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Sequence
from typing import Any

from django.db import connection, transaction

from memory.index.base import Page, TextHit, key_range
from memory.index.terms import MAX_QUERY_TOKENS, match_expression

TABLE = "memory_message_fts"
VIEW = "memory_message_terms"
_BATCH = 500
_MERGE_PAGES = 500
_REST_SECONDS = 0.01
_MARK = "mergemark"
_LAST = (1 << 63) - 1
MOST_RANKED = 6_000
"""Messages that are ranked for a question, a microsecond or two each."""
# Weights of the columns (a message's words, its author and date). BM25 of FTS5 is lower for better.
FIELDED = f"-bm25({TABLE}, 1.0, 0.3)"
BODY = f"-bm25({TABLE}, 1.0, 0.0)"


class Fts5Index:
    """``TextIndex`` over ``memory_message_fts`` of the default database."""

    def add(self, keys: Sequence[int]) -> None:
        self._for_each(
            keys, f"INSERT INTO {TABLE}(rowid, body, who) SELECT key, body, who FROM {VIEW}", indexed=False
        )

    def remove(self, keys: Sequence[int], *, merged_later: bool = False) -> None:
        # FTS5 is told the words that leave; they are derived from the row, which must still be as it was.
        statement = (
            f"INSERT INTO {TABLE}({TABLE}, rowid, body, who) SELECT 'delete', key, body, who FROM {VIEW}"
        )
        if not merged_later:
            self._for_each(keys, statement, indexed=True)
            return
        with transaction.atomic():
            # Nobody else sees the setting: it is back before the transaction ends. The inner block writes the entries out.
            self._secure_delete(False)
            with transaction.atomic():
                self._for_each(keys, statement, indexed=True)
            self._secure_delete(True)

    def _secure_delete(self, on: bool) -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"INSERT INTO {TABLE}({TABLE}, rank) VALUES ('secure-delete', %s)", (int(on),))

    def search(
        self,
        guild: int | None,
        words: Sequence[str],
        k: int,
        *,
        channels: Collection[int] | None = None,
        exclude: Collection[int] = (),
    ) -> list[TextHit]:
        if k <= 0 or (channels is not None and not channels):
            return []
        first, last = (0, _LAST) if guild is None else key_range(guild)
        some, first = self._affordable(words, first, last)
        if not some:
            return []
        query = (
            f"SELECT {TABLE}.rowid, {FIELDED} AS fielded, {BODY} FROM {TABLE} "
            f"WHERE {TABLE} MATCH %s AND {TABLE}.rowid BETWEEN %s AND %s ORDER BY fielded DESC, {TABLE}.rowid"
        )
        left_out = set(exclude)
        hits: list[TextHit] = []
        with connection.cursor() as cursor:
            cursor.execute(query, [match_expression(some), first, last])
            # Ranked first and filtered then, best first, until there are enough: the same as the other way round, and looking
            # up the channel of a few hundred takes no time.
            while len(hits) < k and (found := cursor.fetchmany(k + k // 4)):
                ranked = [TextHit(*row) for row in found if row[0] not in left_out]
                hits += ranked if channels is None else _in_channels(ranked, channels)
        return hits[:k]

    def _affordable(self, words: Sequence[str], first: int, last: int) -> tuple[list[str], int]:
        """The rarest of the words, as many as together stand in ``MOST_RANKED`` messages or fewer, and the key to begin at.

        Every message with a word is ranked, so a word that thousands have costs the most and tells the least. Where even the rarest
        stands in more, the newest that have it are looked at.
        """
        counts: dict[str, int] = {}
        with connection.cursor() as cursor:
            for word in words[: 2 * MAX_QUERY_TOKENS]:
                if expression := match_expression([word]):
                    cursor.execute(
                        f"SELECT count(*) FROM (SELECT 1 FROM {TABLE} WHERE {TABLE} MATCH %s "
                        "AND rowid BETWEEN %s AND %s LIMIT %s)",
                        [expression, first, last, MOST_RANKED + 1],
                    )
                    counts[word] = int(cursor.fetchone()[0])
            kept: list[str] = []
            ranked = 0
            for word, count in sorted(counts.items(), key=lambda one: one[1])[:MAX_QUERY_TOKENS]:
                if count and (not kept or ranked + count <= MOST_RANKED):
                    kept.append(word)
                    ranked += count
            if ranked <= MOST_RANKED:
                return kept, first
            cursor.execute(
                f"SELECT rowid FROM {TABLE} WHERE {TABLE} MATCH %s AND rowid BETWEEN %s AND %s "
                "ORDER BY rowid DESC LIMIT 1 OFFSET %s",
                [match_expression(kept), first, last, MOST_RANKED],
            )
            return kept, int(cursor.fetchone()[0])

    def page(self, guild: int | None, words: Sequence[str], k: int, page: Page) -> list[tuple[int, float]]:
        first, last = (0, _LAST) if guild is None else key_range(guild)
        if not page.conditions:
            words, first = self._affordable(words, first, last)
        expression = match_expression(words)
        if not expression:
            return []
        conditions = [f"{TABLE} MATCH %s", f"{TABLE}.rowid BETWEEN %s AND %s"]
        values: list[Any] = [expression, first, last]
        join = f"JOIN memory_message AS message ON message.key = {TABLE}.rowid" if page.conditions else ""
        inner = (
            f"SELECT {TABLE}.rowid AS key, {FIELDED} AS score FROM {TABLE} {join} "
            f"WHERE {' AND '.join([*conditions, *page.conditions])}"
        )
        values += page.values
        beyond = ""
        if page.after is not None:
            beyond = "WHERE score < %s OR (score = %s AND key > %s)"
            values += [page.after[0], page.after[0], page.after[1]]
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT key, score FROM ({inner}) {beyond} ORDER BY score DESC, key LIMIT %s", [*values, k]
            )
            return [(int(key), float(score)) for key, score in cursor.fetchall()]

    def rebuild(self) -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"INSERT INTO {TABLE}({TABLE}) VALUES ('rebuild')")

    def strays(self) -> int:
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT count(*) FROM {TABLE}_docsize AS entry "
                "WHERE entry.id > 0 AND NOT EXISTS (SELECT 1 FROM memory_message WHERE key = entry.id)"
            )
            return int(cursor.fetchone()[0])

    def remove_strays(self) -> int:
        # FTS5 would have to be told their words, which are gone with the rows.
        count = self.strays()
        if count:
            self.rebuild()
        return count

    def optimize(self) -> None:
        """Merges in steps, each a transaction of its own, so that writers are not kept out while a large index is rewritten.

        FTS5 does nothing where there is one segment only, although beginnings of removed words still stand in the table that
        says where its pages begin. An entry that is added and taken out again makes it a second one.
        """
        self._mark("'delete', ")
        self._mark("")
        pages = -_MERGE_PAGES
        while self._merge(pages):
            pages = _MERGE_PAGES
            if not connection.in_atomic_block:
                time.sleep(_REST_SECONDS)
        self._mark("'delete', ")

    def _mark(self, delete: str) -> None:
        there = f"EXISTS (SELECT 1 FROM {TABLE}_docsize WHERE id = 0)"
        columns, condition = (f"{TABLE}, ", there) if delete else ("", f"NOT {there}")
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(
                f"INSERT INTO {TABLE}({columns}rowid, body, who) SELECT {delete}0, %s, '' WHERE {condition}",
                (_MARK,),
            )

    def _merge(self, pages: int) -> bool:
        """One step; False once there is nothing left to merge (FTS5 then writes at most one row)."""
        with transaction.atomic(), connection.cursor() as cursor:
            before = connection.connection.total_changes
            cursor.execute(f"INSERT INTO {TABLE}({TABLE}, rank) VALUES ('merge', %s)", (pages,))
            return bool(connection.connection.total_changes - before >= 2)

    def _for_each(self, keys: Sequence[int], statement: str, *, indexed: bool) -> None:
        # An entry added twice, or removed without being there, would spoil the index: FTS5 does not check.
        there = f"key {'IN' if indexed else 'NOT IN'} (SELECT id FROM {TABLE}_docsize)"
        with transaction.atomic(), connection.cursor() as cursor:
            for start in range(0, len(keys), _BATCH):
                batch = json.dumps([int(key) for key in keys[start : start + _BATCH]])
                cursor.execute(
                    f"{statement} WHERE key IN (SELECT value FROM json_each(%s)) AND {there}", (batch,)
                )


def _in_channels(hits: Sequence[TextHit], channels: Collection[int]) -> list[TextHit]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT message.key, message.channel_id FROM json_each(%s) AS wanted "
            "CROSS JOIN memory_message AS message ON message.key = wanted.value",
            (json.dumps([hit.key for hit in hits]),),
        )
        channel = dict(cursor.fetchall())
    return [hit for hit in hits if channel.get(hit.key) in channels]
