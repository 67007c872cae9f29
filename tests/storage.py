"""What a test may ask of either storage."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.db import connection

sqlite_only = pytest.mark.sqlite_only
"""For tests about SQLite's files; the reason is the marker's argument."""


def database() -> Path:
    """The database's file; on PostgreSQL the place where it would be, beside which receipts and the broker are."""
    if connection.vendor == "sqlite":
        return Path(connection.settings_dict["NAME"])
    from memory.conf import get_config

    return get_config().database_path


def stored_bytes() -> bytes:
    """Every row of every table of a PostgreSQL, as text, and its vectors as little-endian floats. Nothing on SQLite, which has files."""
    if connection.vendor == "sqlite":
        return b""
    from memory.index import pgvector

    parts: list[bytes] = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            name = connection.ops.quote_name(table)
            cursor.execute(
                f"SELECT attname FROM pg_attribute WHERE attrelid = '{name}'::regclass AND atttypid = 'vector'::regtype"
            )
            for (column,) in cursor.fetchall():
                cursor.execute(f"SELECT vector_send({column}) FROM {name}")
                parts += [pgvector.read(row[0]).tobytes() for row in cursor.fetchall()]
            cursor.execute(f"SELECT concat(to_jsonb(stored)::text, stored::text) FROM {name} AS stored")
            parts += [row[0].encode() for row in cursor.fetchall()]
    return b"\n".join(parts)
