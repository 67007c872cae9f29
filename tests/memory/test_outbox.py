"""Durable work: claimed once, given back when its worker dies, kept with a reason when it fails."""

import os
import subprocess
import sys
from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from memory import outbox
from memory.errors import InvalidInput, ModelRejected, ModelUnavailable
from memory.models import OutboxEntry

pytestmark = pytest.mark.django_db


def make_due():
    OutboxEntry.objects.update(due_at=timezone.now() - timedelta(seconds=1))


def test_work_is_claimed_by_one_worker_only():
    outbox.enqueue("embed", [1, 2, 3])
    first, second = outbox.claim("embed", 2), outbox.claim("embed", 5)
    assert [entry.subject for entry in first] == [1, 2]
    assert [entry.subject for entry in second] == [3]
    assert outbox.claim("embed", 5) == []


def test_the_same_work_is_noted_once():
    outbox.enqueue("embed", [1])
    outbox.enqueue("embed", [1])
    assert OutboxEntry.objects.count() == 1


def test_work_that_is_done_goes():
    outbox.enqueue("embed", [1])
    assert outbox.finish(outbox.claim("embed", 1)) == 1
    assert not OutboxEntry.objects.exists()


def test_work_noted_anew_while_it_is_done_stays():
    outbox.enqueue("embed", [1])
    claimed = outbox.claim("embed", 1)
    outbox.enqueue("embed", [1])
    assert outbox.finish(claimed) == 0
    assert [entry.subject for entry in outbox.claim("embed", 1)] == [1]


def test_a_worker_that_died_loses_its_lease():
    outbox.enqueue("embed", [1])
    dead = outbox.claim("embed", 1)
    OutboxEntry.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    assert outbox.release_expired() == 1
    assert [entry.subject for entry in outbox.claim("embed", 1)] == [1]
    assert outbox.extend(dead) is False
    assert outbox.finish(dead) == 0


def test_a_worker_whose_process_is_gone_loses_its_lease_at_once():
    outbox.enqueue("embed", [1, 2])
    outbox.claim("embed", 1)
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    mine = outbox.claim("embed", 1)[0]
    OutboxEntry.objects.filter(subject=1).update(lease=mine.lease.replace(str(os.getpid()), str(gone.pid)))
    assert outbox.release_expired() == 1
    assert OutboxEntry.objects.get(subject=2).lease == mine.lease


def test_a_lease_that_is_held_can_be_prolonged():
    outbox.enqueue("embed", [1, 2])
    claimed = outbox.claim("embed", 2)
    OutboxEntry.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    assert outbox.extend(claimed) is True
    assert outbox.release_expired() == 0


def test_a_host_that_does_not_answer_is_tried_for_ever():
    outbox.enqueue("embed", [1])
    for _ in range(outbox.MAX_ATTEMPTS + 3):
        make_due()
        outbox.fail(outbox.claim("embed", 1), ModelUnavailable("no host answers"))
    entry = OutboxEntry.objects.get()
    assert (entry.state, entry.error_code) == ("queued", "model_unavailable")
    assert entry.due_at > timezone.now() + timedelta(seconds=30)


def test_work_that_fails_for_a_reason_of_its_own_ends_as_failed_and_can_be_retried():
    outbox.enqueue("embed", [1])
    for _ in range(outbox.MAX_ATTEMPTS):
        make_due()
        outbox.fail(outbox.claim("embed", 1), ModelRejected("too odd"))
    make_due()
    assert outbox.claim("embed", 1) == []
    entry = OutboxEntry.objects.get()
    assert (entry.state, entry.error) == ("failed", "too odd")
    assert outbox.retry("embed") == 1
    assert len(outbox.claim("embed", 1)) == 1


def test_bad_input_is_not_tried_again():
    outbox.enqueue("embed", [1])
    outbox.fail(outbox.claim("embed", 1), InvalidInput("cannot be"))
    assert OutboxEntry.objects.get().state == "failed"


def test_what_waits_is_held_back_while_its_host_is_down():
    outbox.enqueue("embed", [1, 2])
    outbox.postpone("embed", 60)
    assert outbox.claim("embed", 5) == []
    assert outbox.due_kinds() == []


def test_a_members_work_goes_with_them():
    outbox.enqueue("embed", [1], user_id=7)
    outbox.enqueue("embed", [2], user_id=8)
    assert outbox.drop_user(7) == 1
    assert [entry.subject for entry in outbox.claim("embed", 5)] == [2]


@pytest.mark.django_db(transaction=True)
def test_a_worker_is_woken_after_the_commit_and_not_before(monkeypatch):
    sent = []
    monkeypatch.setattr(outbox, "_send", sent.append)
    with transaction.atomic():
        outbox.enqueue("embed", [1])
        assert sent == []
    assert sent == ["embed"]


@pytest.mark.django_db(transaction=True)
def test_a_broker_that_is_down_does_not_fail_the_write(monkeypatch):
    def broken(*args, **kwargs):
        raise OSError("no broker")

    monkeypatch.setattr(outbox._celery(), "send_task", broken)
    outbox.enqueue("embed", [1])
    assert outbox.due_kinds() == ["embed"]
