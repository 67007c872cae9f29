"""Who goes first, where SQLite has one writer and PostgreSQL many.

A transaction on SQLite begins by taking the write lock, so that what it looks up still holds when it writes. On PostgreSQL the same
is had by locking what a decision rests on: a row (``select_for_update``) or, where there is none, a topic.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from django.db import OperationalError, connection, models, transaction

Row = TypeVar("Row", bound=models.Model)
Result = TypeVar("Result")

SCANS = "scans"
"""Topic of beginning, joining and planning the reading of histories."""
SPACES = "spaces"
"""Topic of which model's vectors serve and which are being built."""
DOCUMENTS = "documents"
"""Topic of which documents and versions there are."""

ATTEMPTS = 3
_DEADLOCK = "40P01"


def again(write: Callable[[], Result]) -> Result:
    """Runs it in a transaction, and once more where PostgreSQL ended that because two waited for each other."""

    def attempt() -> Result:
        with transaction.atomic():
            return write()

    return retried(attempt)


def retried(call: Callable[[], Result]) -> Result:
    """Calls what does no harm twice, and again where PostgreSQL ended its transaction because two waited for each other."""
    for _ in range(ATTEMPTS - 1):
        try:
            return call()
        except OperationalError as error:
            if connection.in_atomic_block or not is_deadlock(error):
                raise
    return call()


def is_deadlock(error: BaseException) -> bool:
    """Whether PostgreSQL undid a transaction because two waited for each other; done again, it succeeds."""
    return getattr(error.__cause__, "sqlstate", "") == _DEADLOCK


def hold(topic: str, number: int = 0) -> None:
    """Until the transaction ends, only this one has the topic (of that number); others wait. Nothing on SQLite.

    Take topics before rows, and several of one kind in ascending order: then nobody waits in a circle.
    """
    if connection.vendor == "sqlite":
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"{topic}:{number}"])


def locked(rows: models.QuerySet[Row]) -> models.QuerySet[Row]:
    """The rows, which stay as they are until the transaction ends; outside of one, just the rows.

    What refers to them by a key may be written meanwhile. The order in which everybody locks: members, servers, channels, the rest.
    """
    if connection.vendor == "sqlite" or not connection.in_atomic_block:
        return rows
    return rows.select_for_update(no_key=True, of=("self",))


def taken(rows: models.QuerySet[Row]) -> models.QuerySet[Row]:
    """Those of the rows that nobody else has locked: several workers that ask for work get different ones."""
    return rows.select_for_update(skip_locked=True) if connection.vendor != "sqlite" else rows
