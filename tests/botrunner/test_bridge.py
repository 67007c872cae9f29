"""Synchronous work runs on threads of its own, and closing a stream stops what produces it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator

import pytest

from botrunner.bridge import Bridge


@pytest.fixture
async def bridge() -> AsyncIterator[Bridge]:
    made = Bridge(reply_threads=2)
    yield made
    await made.close(0)


async def test_results_and_errors_come_back(bridge: Bridge) -> None:
    assert await bridge.capture(lambda a, b: a + b, 1, b=2) == 3
    with pytest.raises(ZeroDivisionError):
        await bridge.command(lambda: 1 / 0)


async def test_a_stream_yields_as_it_goes(bridge: Bridge) -> None:
    go = threading.Event()

    def source() -> Iterator[int]:
        yield 1
        go.wait(5)
        yield 2

    seen = []
    async for item in bridge.stream(source):
        seen.append(item)
        go.set()
    assert seen == [1, 2]


async def test_an_error_in_a_stream_is_raised_after_what_came_before(bridge: Bridge) -> None:
    def source() -> Iterator[int]:
        yield 1
        raise ValueError

    stream = bridge.stream(source)
    assert await anext(stream) == 1
    with pytest.raises(ValueError):
        await anext(stream)


async def test_closing_a_stream_closes_the_iterator(bridge: Bridge) -> None:
    closed = threading.Event()

    def source() -> Iterator[int]:
        try:
            number = 0
            while True:
                yield number
                number += 1
        finally:
            closed.set()

    stream = bridge.stream(source)
    assert await anext(stream) == 0
    await stream.aclose()
    assert await asyncio.to_thread(closed.wait, 5)


async def test_answers_that_hang_do_not_hold_up_capture(bridge: Bridge) -> None:
    release = threading.Event()

    def hanging() -> Iterator[int]:
        release.wait(10)
        yield 1

    streams = [asyncio.ensure_future(anext(bridge.stream(hanging))) for _ in range(5)]
    assert await asyncio.wait_for(bridge.capture(lambda: "stored"), 5) == "stored"
    assert await asyncio.wait_for(bridge.command(lambda: "done"), 5) == "done"
    assert not any(stream.done() for stream in streams)
    release.set()
    assert await asyncio.wait_for(asyncio.gather(*streams), 5) == [1] * 5


async def test_close_says_whether_something_still_runs() -> None:
    bridge = Bridge()
    release, begun = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        release.wait(10)

    task = asyncio.ensure_future(bridge.command(work))
    await asyncio.to_thread(begun.wait, 5)
    assert await bridge.close(0.1) is False
    release.set()
    await task
    assert await bridge.close(5) is True
