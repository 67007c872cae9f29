"""What every test may rely on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

WORDS = ("memory_message_fts", "memory_chunk_fts", "memory_archival_fts")
VECTORS = (
    "SELECT name FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL%' AND "
    "(name LIKE 'memory_vectors_%' OR name LIKE 'memory_archival_vectors_%' OR name LIKE 'memory_chunk_vectors_%')"
)


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

    with connection.cursor() as cursor:
        for table in WORDS:
            cursor.execute(f"INSERT INTO {table}({table}) VALUES ('delete-all')")
        cursor.execute(VECTORS)
        for (name,) in cursor.fetchall():
            cursor.execute(f"DROP TABLE {name}")
