"""What stays of deleted rows in a PostgreSQL, as far as it is in reach from here.

Deleted rows are dead until a vacuum takes them out of tables and indexes, which it does once no transaction can see them any more.
The bytes of the server's files, its write-ahead log and its backups are out of reach: they are the server's, and a receipt says so.
"""

from __future__ import annotations

import time

from django.db import connection

PROVEN = (
    "Rows and entries of indexes are gone, and the tables were vacuumed. Files, write-ahead log and backups of the PostgreSQL "
    "server are not looked into: their keeping is the server's."
)
SEARCHED_FILES = (
    "Tables, vectors, words, traces, queue, logs and the bytes of the database files were searched."
)
SEARCHED_ROWS = (
    "Tables, vectors, words, traces, queue and logs were searched, and the tables vacuumed. Files, write-ahead log and backups of the "
    "PostgreSQL server are out of reach from here."
)
PAUSE_SECONDS = 0.2


def searched() -> str:
    """What the re-scan of an erasure looks into, for people."""
    return SEARCHED_ROWS if connection.vendor == "postgresql" else SEARCHED_FILES


def vacuum(*, seconds: float) -> bool:
    """Vacuums every table of this installation; False if some transaction still sees what was deleted: try again later.

    Not possible inside a transaction.
    """
    if connection.in_atomic_block:
        return False
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint")
        now = int(cursor.fetchone()[0])
    if not _wait_for_readers(now, seconds):
        return False
    with connection.cursor() as cursor:
        for table in _tables():
            cursor.execute(f"VACUUM (SKIP_LOCKED false, TRUNCATE false) {connection.ops.quote_name(table)}")
    return True


def _wait_for_readers(now: int, seconds: float) -> bool:
    """Until every transaction that began before is over."""
    until = time.monotonic() + seconds
    while True:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint")
            ended = int(cursor.fetchone()[0]) >= now
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() "
                "AND backend_xmin IS NOT NULL AND age(backend_xmin) > age(mod(%s::bigint, 4294967296)::text::xid)",
                [now],
            )
            if ended and not cursor.fetchone()[0]:
                return True
        if time.monotonic() + PAUSE_SECONDS > until:
            return False
        time.sleep(PAUSE_SECONDS)


def _tables() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace ORDER BY relname"
        )
        return [str(row[0]) for row in cursor.fetchall()]
