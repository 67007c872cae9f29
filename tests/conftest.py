"""What every test may rely on."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

WORDS = ("memory_message_fts", "memory_chunk_fts", "memory_archival_fts")
VECTORS = (
    "SELECT name FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL%' AND "
    "(name LIKE 'memory_vectors_%' OR name LIKE 'memory_archival_vectors_%' OR name LIKE 'memory_chunk_vectors_%')"
)


def pytest_configure(config: pytest.Config) -> None:
    if os.environ.get("MUSEBOT_TEST_DATABASE_URL"):
        from django.db.backends.postgresql.operations import DatabaseOperations

        DatabaseOperations.sql_flush = _delete_all_rows  # type: ignore[method-assign]


def _delete_all_rows(self: Any, style: Any, tables: Sequence[str], **options: Any) -> list[str]:
    """Django truncates its tables after each test that commits, which takes PostgreSQL a second for so many; rows are few."""
    deletions = [f"DELETE FROM {self.quote_name(table)}" for table in sorted(tables)]
    return ["SET session_replication_role = replica", *deletions, "RESET session_replication_role"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """``sqlite_only`` says why a test is about SQLite alone."""
    if not os.environ.get("MUSEBOT_TEST_DATABASE_URL"):
        return
    for item in items:
        if marker := item.get_closest_marker("sqlite_only"):
            item.add_marker(pytest.mark.skip(reason=f"SQLite only: {marker.args[0]}"))


@pytest.fixture(autouse=True)
def _sound_indexes(request: pytest.FixtureRequest) -> Iterator[None]:
    """Django empties its tables after a test that commits, but knows nothing of virtual ones: the next test finds none of theirs."""
    marker = request.node.get_closest_marker("django_db")
    if marker is None or not (marker.kwargs.get("transaction") or "transactional_db" in request.fixturenames):
        yield
        return
    request.getfixturevalue("transactional_db")
    empty_indexes()
    yield
    empty_indexes()


def empty_indexes() -> None:
    from django.db import connection

    if connection.vendor == "postgresql":
        _empty_postgres(connection)
        return
    with connection.cursor() as cursor:
        for table in WORDS:
            cursor.execute(f"INSERT INTO {table}({table}) VALUES ('delete-all')")
        cursor.execute(VECTORS)
        for (name,) in cursor.fetchall():
            cursor.execute(f"DROP TABLE {name}")


def _empty_postgres(connection: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT relname FROM pg_class WHERE relkind = 'r' AND relname LIKE 'memory\\_%'")
        names = sorted(name for (name,) in cursor.fetchall())
        if words := [name for name in names if name.endswith(("_postings", "_words"))]:
            cursor.execute(f"TRUNCATE {', '.join(words)}")
        for name in names:
            if "_vectors_" in name:
                cursor.execute(f"DROP TABLE {name}")
