"""What was deleted is still in the files: in the write-ahead log until a checkpoint empties it, and in the space that SQLite does
not use of its pages until something overwrites it."""

from __future__ import annotations

import time
from pathlib import Path

from django.db import connection

from memory.erasure.server import vacuum
from memory.index.connection import BUSY_TIMEOUT_SECONDS
from memory.index.pages import overwrite_unallocated

ATTEMPT_MILLISECONDS = 100
"""While it waits for readers a checkpoint keeps writers out, so each attempt is short."""
PAUSE_SECONDS = 0.1
SMALL_BYTES = 256 << 20
"""A database of which all pages are looked at within a second or two."""
MOST_PAUSE_SECONDS = 1.0


def database_path() -> Path | None:
    """The file of the database; None where it is none."""
    if connection.vendor != "sqlite":
        return None
    return Path(str(connection.settings_dict["NAME"]))


def empty_log(*, seconds: float = 10.0) -> bool:
    """Moves the write-ahead log into the database and cuts it to nothing, trying again for up to ``seconds``.

    False if a reader held on to an old snapshot all that time; try again later. Not possible inside a transaction.
    """
    if connection.vendor != "sqlite":
        return True
    if connection.in_atomic_block:
        return False
    until = time.monotonic() + seconds
    pause = PAUSE_SECONDS
    while True:
        if _try_once():
            return True
        if time.monotonic() + pause > until:
            return False
        time.sleep(pause)
        pause = min(pause * 2, MOST_PAUSE_SECONDS)


def _try_once() -> bool:
    with connection.cursor() as cursor:
        # Passive first: it copies most of the log and keeps nobody waiting.
        cursor.execute("PRAGMA wal_checkpoint(PASSIVE)")
        cursor.fetchone()
        cursor.execute(f"PRAGMA busy_timeout = {ATTEMPT_MILLISECONDS}")
        try:
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            busy = cursor.fetchone()[0]
        finally:
            cursor.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_SECONDS * 1000}")
    return not busy


def is_small() -> bool:
    """Whether somebody who waits for an answer can wait for ``clean_files``."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_database_size(current_database()) < %s", [SMALL_BYTES])
            return bool(cursor.fetchone()[0])
    path = database_path()
    return path is None or not path.exists() or path.stat().st_size < SMALL_BYTES


def clean_files(*, log_seconds: float = 10.0, seconds: float = 600.0) -> bool:
    """Takes the bytes of deleted rows out of the files; False if readers or writers left no moment for it: try again later.

    Not possible inside a transaction.
    """
    if connection.vendor == "postgresql":
        return vacuum(seconds=log_seconds)
    path = database_path()
    if path is None or connection.settings_dict["NAME"] == ":memory:":
        return True
    if not empty_log(seconds=log_seconds):
        return False
    return overwrite_unallocated(path, seconds=seconds).done and empty_log(seconds=log_seconds)
