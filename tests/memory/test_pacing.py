"""Batches adapt to how long they hold the lock, and leave the moving of the log to the moments in between."""

from __future__ import annotations

import pytest
from django.db import connection, transaction

from memory import pacing
from memory.pacing import FIRST, LEAST, MOST, TARGET_SECONDS, Pace
from tests.storage import sqlite_only

pytestmark = pytest.mark.django_db(transaction=True)


class Clock:
    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


@pytest.fixture
def clock(monkeypatch):
    found = Clock()
    monkeypatch.setattr(pacing, "time", found)
    return found


def batches(pace, clock, count, seconds_a_row):
    """Sizes of so many transactions in which each row takes so long."""
    sizes = []
    for _ in range(count):
        with pace.transaction() as size:
            clock.now += size * seconds_a_row
        sizes.append(size)
    return sizes


def test_the_size_settles_where_a_batch_takes_as_long_as_it_should(clock):
    pace = Pace()
    assert batches(pace, clock, 20, 0.0003)[-1] == pytest.approx(TARGET_SECONDS / 0.0003, rel=0.02)
    # The disk becomes ten times as slow: a few batches later it has settled again.
    slow = batches(pace, clock, 8, 0.003)
    assert slow[-1] == pytest.approx(TARGET_SECONDS / 0.003, rel=0.05)
    assert pace.longest == pytest.approx(max(slow) * 0.003)


def test_it_stays_between_the_least_and_the_most(clock):
    pace = Pace()
    assert batches(pace, clock, 20, 0.0)[0] == FIRST and pace.size == MOST
    batches(pace, clock, 20, 10.0)
    assert pace.size == LEAST


@sqlite_only("PostgreSQL moves nothing from a log into a file")
def test_sqlite_moves_its_log_between_batches_only(clock):
    def pages():
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA wal_autocheckpoint")
            return cursor.fetchone()[0]

    pace, inside, said = Pace(), [], []

    def watch(execute, sql, *arguments):
        if "wal_checkpoint" in sql:
            said.append((sql, connection.in_atomic_block))
        return execute(sql, *arguments)

    usual = pages()
    with connection.execute_wrapper(watch):
        for _ in range(3):
            with pace.transaction():
                inside.append(pages())
                clock.now += 0.4
    assert inside == [0, 0, 0] and pages() == usual
    assert said == [("PRAGMA wal_checkpoint(PASSIVE)", False)]
    with pytest.raises(ZeroDivisionError), pace.transaction():
        raise ZeroDivisionError
    assert pages() == usual


def test_inside_of_a_transaction_nothing_rests(clock):
    pace = Pace()
    with transaction.atomic():
        before = clock.now
        batches(pace, clock, 3, 0.0)
        assert clock.now == before
