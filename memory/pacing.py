"""Batches that hold the one writer for a short time, however slow the disk is, and let others write in between."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction

TARGET_SECONDS = 0.12
LEAST, FIRST, MOST = 20, 200, 1000
REST_SECONDS = 0.02
"""SQLite's waiting writers look every 25 ms or so; without a rest they would find the lock taken each time."""


class Pace:
    """Chooses how many rows a transaction takes, from how long the last one took."""

    def __init__(self) -> None:
        self.size = FIRST
        self.longest = 0.0
        """Seconds that the longest transaction held the lock."""
        self._first = True

    @contextmanager
    def transaction(self) -> Iterator[int]:
        """A transaction; gives the number of rows to take in it."""
        if not self._first and not connection.in_atomic_block:
            time.sleep(REST_SECONDS)
        self._first = False
        with transaction.atomic():
            begin = time.monotonic()
            yield self.size
        took = time.monotonic() - begin
        self.longest = max(self.longest, took)
        if took > 1.5 * TARGET_SECONDS:
            self.size = max(LEAST, self.size // 2)
        elif took < 0.6 * TARGET_SECONDS:
            self.size = min(MOST, self.size + self.size // 4 + 1)
