"""What every test may rely on."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _sound_indexes(request: pytest.FixtureRequest) -> None:
    """Django empties its tables after a test that commits, but knows nothing of virtual ones: the next test finds none of theirs."""
    marker = request.node.get_closest_marker("django_db")
    if marker is None or not (marker.kwargs.get("transaction") or "transactional_db" in request.fixturenames):
        return
    request.getfixturevalue("transactional_db")
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO memory_message_fts(memory_message_fts) VALUES ('rebuild')")
        cursor.execute("INSERT INTO memory_chunk_fts(memory_chunk_fts) VALUES ('rebuild')")
        cursor.execute("INSERT INTO memory_archival_fts(memory_archival_fts) VALUES ('rebuild')")
        cursor.execute(
            "SELECT name FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL%' AND "
            "(name LIKE 'memory_vectors_%' OR name LIKE 'memory_archival_vectors_%' OR name LIKE 'memory_chunk_vectors_%')"
        )
        for (name,) in cursor.fetchall():
            cursor.execute(f"DROP TABLE {name}")
