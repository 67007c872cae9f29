"""Full text with FTS5: an external-content table over the view ``memory_message_terms``, constrained to a guild's keys.

FTS5 finds in all guilds at once; the guild in the high bits of the key makes the constraint a range of rowids.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Sequence
from typing import Any

from django.db import connection, transaction

from memory.index.base import TextHit, key_range
from memory.index.terms import match_expression

TABLE = "memory_message_fts"
VIEW = "memory_message_terms"
_BATCH = 500
_MERGE_PAGES = 500
_REST_SECONDS = 0.01
_MARK = "mergemark"
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
        expression = match_expression(words)
        if not expression or k <= 0 or (channels is not None and not channels):
            return []
        conditions = [f"{TABLE} MATCH %s"]
        values: list[Any] = [expression]
        join = ""
        if guild is not None:
            conditions.append(f"{TABLE}.rowid BETWEEN %s AND %s")
            values += key_range(guild)
        if channels is not None:
            join = f"JOIN memory_message AS message ON message.key = {TABLE}.rowid"
            conditions.append("message.channel_id IN (SELECT value FROM json_each(%s))")
            values.append(json.dumps(sorted(channels)))
        if exclude:
            conditions.append(f"{TABLE}.rowid NOT IN (SELECT value FROM json_each(%s))")
            values.append(json.dumps(sorted(exclude)))
        query = (
            f"SELECT {TABLE}.rowid, {FIELDED} AS fielded, {BODY} FROM {TABLE} {join} "
            f"WHERE {' AND '.join(conditions)} ORDER BY fielded DESC, {TABLE}.rowid LIMIT %s"
        )
        with connection.cursor() as cursor:
            cursor.execute(query, [*values, k])
            return [TextHit(*row) for row in cursor.fetchall()]

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
