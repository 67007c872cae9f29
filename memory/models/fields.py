"""Columns that Django has no field for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import models

if TYPE_CHECKING:
    BigInteger = models.BigIntegerField[int, int]
else:
    BigInteger = models.BigIntegerField


class RowKeyField(BigInteger):
    """A 64-bit primary key that the writer chooses. On SQLite it is the row's own number, so a look-up needs no second index."""

    def db_type(self, connection: Any) -> str | None:
        return "integer" if connection.vendor == "sqlite" else super().db_type(connection)

    def rel_db_type(self, connection: Any) -> str | None:
        return BigInteger().db_type(connection)
