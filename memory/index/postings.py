"""Words in tables of PostgreSQL, ranked as FTS5 ranks them: BM25 over fields with weights.

PostgreSQL's ``tsvector`` and GIN would find the words, but a GIN index cannot be limited to one guild, and ``ts_rank`` does not know
how rare a word is. So a term, a row's key and how often it stands in each field is a row of ``…_postings``: its primary key holds
everything that ranking needs, so that one range of an index answers a query, and the guild in the high bits of a key limits it.
``…_words`` has one row for each that is indexed. How rare a word is counts within the range that is searched.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction

from memory.index import words

K1, B = 1.2, 0.75
RAREST = 1e-6
"""What a word counts that stands in more than half of all rows, as in FTS5."""
SAMPLE = 2_000
"""Rows, the newest of the range, that the average length is taken of."""
MOST_ONCE = 32_000


@dataclass(frozen=True, slots=True)
class Entry:
    key: int
    scope: int
    """What searches are filtered by: a channel, a document's version."""
    texts: tuple[str, ...]
    """One a field."""


@dataclass(frozen=True, slots=True)
class Where:
    """What may be found: a range of keys, both inclusive; scopes and keys that may be; keys that may not; conditions on a joined table."""

    keys: tuple[int, int] | None = None
    scopes: Collection[int] | None = None
    only: Collection[int] | None = None
    exclude: Collection[int] = ()
    join: str = ""
    conditions: tuple[str, ...] = ()
    values: tuple[Any, ...] = ()


class Postings:
    """One full-text index; ``fields`` are the names of its columns."""

    def __init__(self, name: str, fields: tuple[str, ...]) -> None:
        self.postings = f"memory_{name}_postings"
        self.words = f"memory_{name}_words"
        self.fields = fields

    def create_statements(self) -> list[str]:
        columns = ", ".join(f"{field} smallint NOT NULL" for field in self.fields)
        kept = ", ".join(self.fields)
        return [
            f'CREATE TABLE {self.postings} (term text COLLATE "C" NOT NULL, key bigint NOT NULL, '
            f"scope bigint NOT NULL, {columns}, length integer NOT NULL, "
            f"PRIMARY KEY (term, key) INCLUDE (scope, {kept}, length))",
            f"CREATE INDEX {self.postings}_key ON {self.postings} (key)",
            f"CREATE TABLE {self.words} (key bigint PRIMARY KEY, length integer NOT NULL)",
        ]

    def drop_statements(self) -> list[str]:
        return [f"DROP TABLE {self.postings}", f"DROP TABLE {self.words}"]

    def add(self, entries: Iterable[Entry]) -> None:
        """Indexes rows; those that are indexed already stay as they are."""
        made = {entry.key: (entry, [words.terms(text) for text in entry.texts]) for entry in entries}
        if not made:
            return
        lengths = {key: sum(count for _, count in fields) for key, (_, fields) in made.items()}
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(
                f"INSERT INTO {self.words} (key, length) SELECT * FROM unnest(%s::bigint[], %s::integer[]) "
                "ON CONFLICT DO NOTHING RETURNING key",
                [list(lengths), list(lengths.values())],
            )
            new = {row[0] for row in cursor.fetchall()}
            rows = [row for key in sorted(new) for row in self._rows(*made[key], lengths[key])]
            places = ["%s::text[]", *["%s::bigint[]"] * 2, *["%s::smallint[]"] * len(self.fields)]
            for start in range(0, len(rows), MOST_ONCE):
                columns = [list(column) for column in zip(*rows[start : start + MOST_ONCE], strict=True)]
                cursor.execute(
                    f"INSERT INTO {self.postings} SELECT * FROM unnest({', '.join(places)}, %s::integer[])",
                    columns,
                )

    def _rows(
        self, entry: Entry, fields: Sequence[tuple[list[str], int]], length: int
    ) -> Iterable[tuple[Any, ...]]:
        counts = [Counter(found) for found, _ in fields]
        for term in sorted(set().union(*counts)):
            times = (min(count[term], 32_767) for count in counts)
            yield (term, entry.key, entry.scope, *times, length)

    def remove(self, keys: Collection[int]) -> None:
        """Takes rows out; others are no error."""
        if not keys:
            return
        given = [sorted(int(key) for key in keys)]
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"DELETE FROM {self.postings} WHERE key = ANY(%s::bigint[])", given)
            cursor.execute(f"DELETE FROM {self.words} WHERE key = ANY(%s::bigint[])", given)

    def search(
        self,
        asked: Sequence[str],
        k: int,
        *,
        weights: Sequence[Sequence[float]],
        where: Where,
        after: tuple[float, int] | None = None,
        documents: int | None = None,
        newest_first: bool = False,
        needs: str = "",
    ) -> list[tuple[Any, ...]]:
        """(key, a score for each set of ``weights``), the best by the first score first; higher is better.

        ``documents`` is how many rows the range has, where it is known; ``after`` goes on behind a score and key; ``needs`` names a
        field that a word has to stand in.
        """
        terms = words.wanted(asked)
        if not terms or k <= 0:
            return []
        found, values = self._hits(list(terms), where, needs)
        count, average = self._statistics(where, documents)
        join, conditions, more = self._filters(where)
        scores = ", ".join(
            f"sum(rare * f{n} * {K1 + 1} / (f{n} + {K1} * ({1 - B} + {B} * length / {average!r}))) AS s{n}"
            for n in range(len(weights))
        )
        parts = ", ".join(f"({self._sum(one)})::float8 AS f{n}" for n, one in enumerate(weights))
        beyond = "WHERE s0 < %s OR (s0 = %s AND key > %s)" if after else ""
        statement = (
            f"WITH found AS MATERIALIZED ({found}), "
            f"rarity AS (SELECT found.term, times * greatest(ln((greatest({count}, count(*)) - count(*) + 0.5) / "
            f"(count(*) + 0.5))::float8, {RAREST}) AS rare FROM found "
            "JOIN unnest(%s::text[], %s::float8[]) AS asked(term, times) ON asked.term = found.term "
            "GROUP BY found.term, times), "
            f"allowed AS (SELECT found.key, rare, found.length, {parts} FROM found "
            f"JOIN rarity ON rarity.term = found.term {join} WHERE {' AND '.join(conditions)}), "
            f"ranked AS (SELECT key, {scores} FROM allowed GROUP BY key) "
            f"SELECT * FROM ranked {beyond} ORDER BY s0 DESC, key {'DESC' if newest_first else ''} LIMIT %s"
        )
        values += [list(terms), list(map(float, terms.values())), *more]
        values += [after[0], after[0], after[1]] if after else []
        with connection.cursor() as cursor:
            cursor.execute(statement, [*values, k])
            return list(cursor.fetchall())

    def _hits(self, terms: list[str], where: Where, needs: str) -> tuple[str, list[Any]]:
        query = f"SELECT * FROM {self.postings} WHERE term = ANY(%s::text[])"
        values: list[Any] = [terms]
        if where.keys is not None:
            query += " AND key BETWEEN %s AND %s"
            values += where.keys
        if needs:
            query += f" AND {needs} > 0"
        return query, values

    def _filters(self, where: Where) -> tuple[str, list[str], list[Any]]:
        conditions, values = ["true"], []
        for condition, given in (
            ("found.scope = ANY(%s::bigint[])", where.scopes),
            ("found.key = ANY(%s::bigint[])", where.only),
            ("found.key <> ALL(%s::bigint[])", where.exclude or None),
        ):
            if given is not None:
                conditions.append(condition)
                values.append(sorted(given))
        return where.join, [*conditions, *where.conditions], [*values, *where.values]

    def _sum(self, weights: Sequence[float]) -> str:
        return " + ".join(
            f"{weight} * found.{field}" for field, weight in zip(self.fields, weights, strict=True)
        )

    def _statistics(self, where: Where, documents: int | None) -> tuple[int, float]:
        """How many rows the range has (at least), and their average length."""
        condition, values = ("WHERE key BETWEEN %s AND %s", list(where.keys)) if where.keys else ("", [])
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT count(*), avg(length) FROM (SELECT length FROM {self.words} {condition} "
                f"ORDER BY key DESC LIMIT {SAMPLE}) AS newest",
                values,
            )
            count, average = cursor.fetchone()
            if count == SAMPLE and documents is None:
                cursor.execute(f"SELECT count(*) FROM {self.words} {condition}", values)
                documents = int(cursor.fetchone()[0])
        return max(int(count), documents or 0), max(float(average or 0.0), 1.0)

    def count_with(self, word: str) -> int:
        """How many rows hold a word, or any word of one that is several."""
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT count(DISTINCT key) FROM {self.postings} WHERE term = ANY(%s::text[])",
                [list(words.wanted([word]))],
            )
            return int(cursor.fetchone()[0])

    def missing(self, source: str, limit: int) -> list[int]:
        """Keys of a query's rows (``SELECT … AS key``) that are not indexed."""
        return self._keys(
            f"SELECT key FROM ({source}) AS source WHERE NOT EXISTS "
            f"(SELECT 1 FROM {self.words} AS entry WHERE entry.key = source.key) LIMIT %s",
            limit,
        )

    def strays(self, source: str, limit: int) -> list[int]:
        """Indexed keys that are none of a query's."""
        return self._keys(
            f"SELECT key FROM (SELECT key FROM {self.words} UNION SELECT key FROM {self.postings}) AS entry "
            f"WHERE NOT EXISTS (SELECT 1 FROM ({source}) AS source WHERE source.key = entry.key) LIMIT %s",
            limit,
        )

    def is_sound(self) -> bool:
        """Whether both tables hold the same rows."""
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT EXISTS (SELECT 1 FROM {self.postings} AS posting WHERE NOT EXISTS "
                f"(SELECT 1 FROM {self.words} AS entry WHERE entry.key = posting.key)) OR EXISTS "
                f"(SELECT 1 FROM {self.words} AS entry WHERE length > 0 AND NOT EXISTS "
                f"(SELECT 1 FROM {self.postings} AS posting WHERE posting.key = entry.key))"
            )
            return not cursor.fetchone()[0]

    def clear(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"TRUNCATE {self.postings}, {self.words}")

    def _keys(self, statement: str, limit: int) -> list[int]:
        with connection.cursor() as cursor:
            cursor.execute(statement, [limit])
            return [int(row[0]) for row in cursor.fetchall()]
