"""What is said at about the same time is stored together, and each gets the answer that it would have got alone."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace

import pytest

from botrunner.bridge import Bridge
from botrunner.gathering import Gathering
from memory import capture
from memory.benchmarks.people import conversation, member
from memory.models import Message

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def bridge():
    return Bridge(reply_threads=1)


@pytest.fixture
def held(monkeypatch):
    """The first message is stored only once this is set; ``batches`` holds how many were stored together after it."""
    event, batches = threading.Event(), []
    alone, together = capture.record_message, capture.record_together

    def slow(message):
        event.wait(10)
        return alone(message)

    def noted(messages):
        batches.append(len(messages))
        return together(messages)

    monkeypatch.setattr(capture, "record_message", slow)
    monkeypatch.setattr(capture, "record_together", noted)
    event.batches = batches
    return event


async def store(bridge, messages, held):
    gathering = Gathering(bridge)
    tasks = [asyncio.create_task(gathering.store(one)) for one in messages]
    await asyncio.sleep(0.05)
    held.set()
    found = await asyncio.gather(*tasks, return_exceptions=True)
    await bridge.close()
    return found


async def test_those_that_come_meanwhile_are_stored_in_one_go(bridge, held) -> None:
    people = [await asyncio.to_thread(member, number) for number in range(2)]
    messages = list(conversation(people, 8))
    stranger = replace(messages[3], author=replace(people[0], id=people[0].id - 1))
    bot = replace(messages[4], author=replace(people[0], is_bot=True))
    messages[3:5] = [stranger, bot]
    keys = await store(bridge, messages, held)
    assert held.batches == [8] or held.batches == [7]
    assert keys[3] is keys[4] is None
    stored = await asyncio.to_thread(lambda: dict(Message.objects.values_list("key", "discord_id")))
    assert [stored[key] for key in keys if key] == [
        one.id for n, one in enumerate(messages) if n not in {3, 4}
    ]
    again = await asyncio.to_thread(capture.record_together, messages[:2])
    assert again == keys[:2]


async def test_one_that_cannot_be_stored_takes_no_other_with_it(bridge, held, monkeypatch) -> None:
    people = [await asyncio.to_thread(member, 0)]
    messages = list(conversation(people, 4))
    alone = capture.record_message

    def fails(message):
        if message.id == messages[2].id:
            raise ValueError("this one")
        return alone(message)

    monkeypatch.setattr(capture, "record_message", fails)
    monkeypatch.setattr(capture, "record_together", lambda messages: 1 / 0)
    found = await store(bridge, messages, held)
    assert isinstance(found[2], ValueError)
    assert all(isinstance(key, int) for n, key in enumerate(found) if n != 2)
