"""Rows of one table: copied as they are, and summed up so that two storages can be compared.

A row's hash is that of its values as Python has them (times in UTC, numbers that are whole as such, JSON with sorted keys). A
table's is the sum of its rows': storages sort texts differently, and the order is no part of what is compared.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db import DataError, IntegrityError, models
from django.db.backends.base.base import BaseDatabaseWrapper

from memory.errors import InvalidInput

BATCH = 500
READ_AT_ONCE = 5_000
_BITS = 256


@dataclass(slots=True)
class Sum:
    """Rows that were seen, and the sum of their hashes."""

    rows: int = 0
    total: int = 0

    def add(self, *values: Any) -> None:
        text = json.dumps([_plain(value) for value in values], sort_keys=True, separators=(",", ":"))
        self.rows += 1
        self.total = (self.total + int.from_bytes(hashlib.sha256(text.encode()).digest())) % (1 << _BITS)

    @property
    def digest(self) -> str:
        return f"{self.total:064x}"


def fields_of(model: type[models.Model]) -> list[Any]:
    return list(model._meta.concrete_fields)


def read(model: type[models.Model], alias: str) -> Iterator[tuple[Any, ...]]:
    """All rows, by their primary key."""
    names = [field.attname for field in fields_of(model)]
    rows = model._base_manager.using(alias).order_by("pk").values_list(*names)
    return iter(rows.iterator(chunk_size=READ_AT_ONCE))


def sum_of(model: type[models.Model], alias: str) -> Sum:
    found = Sum()
    for row in read(model, alias):
        found.add(*row)
    return found


def write(model: type[models.Model], rows: Sequence[tuple[Any, ...]], target: BaseDatabaseWrapper) -> None:
    """Inserts rows with all their values. Raises ``InvalidInput`` for one that the target does not take."""
    fields = fields_of(model)
    quote = target.ops.quote_name
    columns = ", ".join(quote(field.column) for field in fields)
    line = f"({', '.join(['%s'] * len(fields))})"
    values = [
        [
            field.get_db_prep_save(_storable(value, target), target)
            for field, value in zip(fields, row, strict=True)
        ]
        for row in rows
    ]
    begin = f"INSERT INTO {quote(model._meta.db_table)} ({columns}) VALUES "
    try:
        with target.cursor() as cursor:
            if target.vendor == "sqlite":
                cursor.executemany(begin + line, values)
            else:
                cursor.execute(
                    begin + ", ".join([line] * len(values)), [one for row in values for one in row]
                )
    except (DataError, IntegrityError) as error:
        if len(rows) > 1:
            for row in rows:
                write(model, [row], target)
            return
        key = rows[0][[field.primary_key for field in fields].index(True)]
        raise InvalidInput(
            f"{model._meta.db_table} {key} does not fit into the target: {str(error).splitlines()[0]}"
        ) from error


def _storable(value: Any, target: BaseDatabaseWrapper) -> Any:
    """PostgreSQL stores no NUL in a text, and nothing is read differently without it."""
    return _without_nul(value) if target.vendor == "postgresql" else value


def _without_nul(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace("\0", "")
    if isinstance(value, dict):
        return {_without_nul(key): _without_nul(one) for key, one in value.items()}
    return [_without_nul(one) for one in value] if isinstance(value, list) else value


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat() if value.tzinfo else value.isoformat()
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, bytes | memoryview):
        return bytes(value).hex()
    if isinstance(value, UUID | Decimal):
        return str(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {str(_plain(key)): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return _without_nul(value)
