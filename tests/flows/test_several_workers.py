"""Several workers over one broker: each piece of work is done once, and nothing is lost with a worker or the broker."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator

import psutil
import pytest
from redis import Redis

from tests import servers
from tests.flows.stack import Stack

pytestmark = pytest.mark.flow

STORE = """
import time
from memory import capture, consent
from tests.factories import incoming, person
people = [person(f"p{number}") for number in range(%d)]
first = incoming()
capture.remember_guild(first.guild, [first.channel])
for one in people:
    consent.give(person=one, origin="discord", guild=first.guild)
answer = [capture.record_message(incoming("the ferry sails", author=one, id=time.time_ns())) for one in people]
"""
INDEX = (
    "from memory.backends import vector_index\nfrom memory.models import EmbeddingSpace\n"
    "index = vector_index(EmbeddingSpace.objects.get(state='active'))\nanswer = [index.count(), len(index.keys())]"
)
LATER = """
from memory import outbox
from memory.rag import orphans
from django.db import transaction
with transaction.atomic():
    outbox.enqueue(orphans.SCAN, [1])
"""
needs_redis = pytest.mark.skipif(shutil.which("redis-server") is None, reason="redis-server is not installed")


@pytest.fixture
def broker() -> Iterator[str]:
    """A Redis of its own, which may be stopped without anybody else noticing."""
    with servers.redis() as url:
        yield url


@pytest.fixture
def stack(install: Callable[..., Stack]) -> Stack:
    return install(MUSEBOT_EMBEDDING_MODEL="hash")


def start(stack: Stack, name: str, *arguments: str) -> None:
    stack.start(name, "manage.py", "worker", *arguments)


def test_two_workers_do_everything_once(stack: Stack) -> None:
    start(stack, "one")
    start(stack, "two")
    stack.ask_django(STORE % 60)
    stack.wait_embedded()
    assert stack.ask_django(INDEX) == [60, 60]
    for name in ("one", "two"):
        assert stack.stop(name) == 0
        assert "Traceback" not in stack.log(name)


def test_a_worker_takes_from_its_own_queues(stack: Stack) -> None:
    start(stack, "later", "--queues", "later")
    stack.ask_django(STORE % 5 + LATER)
    stack.wait(
        lambda: not stack.count("memory_outboxentry", "kind = 'scan_documents'"), what="the scan was done"
    )
    assert stack.count("memory_message", "embedding = 'pending'") == 5
    start(stack, "rest", "--queues", "soon,usual", "--no-schedule")
    stack.wait_embedded()


@needs_redis
def test_what_a_hanging_broker_did_not_carry_is_found_when_it_is_back(
    install: Callable[..., Stack], broker: str
) -> None:
    stack = install(MUSEBOT_EMBEDDING_MODEL="hash", CELERY_BROKER_URL=broker)
    start(stack, "worker")
    stack.wait(lambda: stack.count("memory_installationstate", "name = 'swept'"), what="the worker runs")
    with Redis.from_url(broker) as client:
        server = psutil.Process(int(client.info()["process_id"]))
    server.suspend()
    try:
        assert len(stack.ask_django(STORE % 10)) == 10
        assert stack.count("memory_message") == 10
    finally:
        server.resume()
    stack.wait_embedded()


@needs_redis
def test_work_of_a_killed_worker_goes_to_another(install: Callable[..., Stack], broker: str) -> None:
    stack = install(MUSEBOT_EMBEDDING_MODEL="hash", CELERY_BROKER_URL=broker)
    start(stack, "one")
    stack.ask_django(STORE % 40)
    stack.kill("one")
    stack.ask_django(STORE % 40)
    # What the dead worker held is free again once its lease is over; nobody has to wait for that here.
    stack.storage.write("UPDATE memory_outboxentry SET lease_until = created_at WHERE state = 'running'")
    start(stack, "two")
    stack.wait_embedded()
    assert stack.ask_django(INDEX) == [80, 80]
