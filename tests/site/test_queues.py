"""Which queue a kind of work takes, and that a schedule in each worker is as good as one."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from memory import outbox, tasks
from memory.errors import InvalidInput
from memory.models import InstallationState
from musebot_site import queues
from musebot_site.celery import app


def queue_of(name: str, *args: str) -> str:
    return app.amqp.router.route({}, name, args=args)["queue"].name


def test_the_task_that_wakes_is_the_one_that_is_routed() -> None:
    assert queues.WAKE_TASK == outbox.WAKE_TASK


def test_every_kind_of_work_has_its_queue() -> None:
    from botrunner import tasks as _  # noqa: F401  (registers the reading of histories)

    assert set(tasks.HANDLERS) <= set(queues.QUEUE_OF)
    assert set(queues.QUEUE_OF.values()) == set(queues.NAMES)


def test_erasures_stand_before_embeddings_and_those_before_histories() -> None:
    assert queue_of("memory.work", "erase") == queue_of("memory.sweep") == "musebot-soon"
    assert queue_of("memory.work", "embed") == queue_of("memory.work", "not known") == "musebot-usual"
    assert queue_of("memory.work", "history") == "musebot-later"
    assert [queue.name for queue in app.conf.task_queues] == [
        "musebot-soon",
        "musebot-usual",
        "musebot-later",
    ]


def test_all_that_removes_data_goes_soon() -> None:
    removes = outbox.NEVER_PAUSED - {"history", "respace"}
    assert {queues.QUEUE_OF[kind] for kind in removes} == {queues.SOON}


def test_a_worker_takes_from_the_queues_that_it_is_told() -> None:
    assert queues.named("soon, usual") == ["musebot-soon", "musebot-usual"]
    assert queues.named("") == ["musebot-soon", "musebot-usual", "musebot-later"]
    with pytest.raises(InvalidInput, match="soon, usual, later"):
        queues.named("sooner")
    with pytest.raises(CommandError, match="no queue 'sooner'"):
        call_command("worker", queues="sooner")


@pytest.mark.django_db
def test_of_many_schedules_the_first_one_sweeps(monkeypatch: pytest.MonkeyPatch) -> None:
    swept: list[int] = []
    monkeypatch.setattr(outbox, "release_expired", lambda: swept.append(1))
    for _ in range(3):
        tasks.sweep(every=5.0)
    assert swept == [1]
    InstallationState.objects.filter(name=tasks.SWEPT).update(at=timezone.now() - timedelta(seconds=5))
    for _ in range(3):
        tasks.sweep(every=5.0)
    assert swept == [1, 1]
    tasks.sweep()  # whoever asks for it gets it
    assert swept == [1, 1, 1]


@pytest.mark.django_db
def test_after_a_broker_that_is_gone_nobody_else_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def away(*args: object, **kwargs: object) -> None:
        asked.append("asked")
        raise ConnectionError

    monkeypatch.setattr(outbox._celery(), "send_task", away)
    monkeypatch.setattr(outbox, "_quiet_until", 0.0)
    for _ in range(5):
        outbox._send("embed")
    assert asked == ["asked"]
    monkeypatch.setattr(outbox, "_quiet_until", 0.0)
    outbox._send("embed")
    assert len(asked) == 2
