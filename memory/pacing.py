"""Batches that hold the one writer for a short time, however slow the disk is, and let others write in between."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction

TARGET_SECONDS = 0.12
LEAST, FIRST, MOST = 20, 200, 1000
LESS, MORE = 0.5, 1.3
"""How much smaller or larger than the last a batch may be."""
REST_SECONDS = 0.02
"""SQLite's waiting writers look every 25 ms or so; without a rest they would find the lock taken each time."""
CHECKPOINT_SECONDS = 0.5
AUTOCHECKPOINT_PAGES = 1000
"""SQLite's own; see ``_without_checkpoints``."""


class Pace:
    """Chooses how many rows a transaction takes, from how long the last one held the lock."""

    def __init__(self) -> None:
        self.size = FIRST
        self.longest = 0.0
        """Seconds that the longest transaction held the lock."""
        self._first = True
        self._checkpointed = time.monotonic()

    @contextmanager
    def transaction(self) -> Iterator[int]:
        """A transaction; gives the number of rows to take in it."""
        if not self._first and not connection.in_atomic_block:
            self._rest()
        self._first = False
        with _without_checkpoints():
            with transaction.atomic():
                begin = time.monotonic()
                yield self.size
            self._adapt(time.monotonic() - begin)

    def _adapt(self, took: float) -> None:
        self.longest = max(self.longest, took)
        factor = min(MORE, max(LESS, TARGET_SECONDS / max(took, 0.001)))
        self.size = min(MOST, max(LEAST, round(self.size * factor)))

    def _rest(self) -> None:
        """Lets others write for a moment; now and then what is in the log is moved into the file meanwhile."""
        now = time.monotonic()
        if connection.vendor == "sqlite" and now - self._checkpointed > CHECKPOINT_SECONDS:
            with connection.cursor() as cursor:
                # Keeps neither readers nor writers out.
                cursor.execute("PRAGMA wal_checkpoint(PASSIVE)")
                cursor.fetchone()
            self._checkpointed = time.monotonic()
        time.sleep(max(0.0, REST_SECONDS - (time.monotonic() - now)))


@contextmanager
def _without_checkpoints() -> Iterator[None]:
    """SQLite ends a large transaction by moving the log into the file, when the lock is free already: that would look as if it was
    held for as long as that takes, and batches would become small for no reason."""
    if connection.vendor != "sqlite" or connection.in_atomic_block:
        yield
        return
    _autocheckpoint(0)
    try:
        yield
    finally:
        _autocheckpoint(AUTOCHECKPOINT_PAGES)


def _autocheckpoint(pages: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA wal_autocheckpoint = {pages}")
