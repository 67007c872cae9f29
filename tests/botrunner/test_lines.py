"""Questions of one channel are answered in the order in which they came, whatever each has to wait for before."""

import asyncio

from botrunner.lines import Lines


async def test_turns_come_in_the_order_of_arrival_not_of_readiness():
    lines, done = Lines(), []

    async def handle(name, busy):
        place = lines.take(1)
        try:
            await asyncio.sleep(busy)  # what each message awaits before its answer takes its own time
            await place.turn()
            await asyncio.sleep(0)
            done.append(name)
        finally:
            place.leave()

    await asyncio.gather(handle("first", 0.03), handle("second", 0), handle("third", 0.01))
    assert done == ["first", "second", "third"]


async def test_somebody_who_leaves_early_does_not_let_the_next_overtake():
    lines = Lines()
    first, second, third = (lines.take(1) for _ in range(3))
    second.leave()
    assert not third.is_first.is_set()
    first.leave()
    await asyncio.wait_for(third.turn(), 1)


async def test_lines_do_not_wait_for_one_another_and_go_when_they_are_empty():
    lines = Lines()
    here, there = lines.take(1), lines.take(2)
    await asyncio.wait_for(there.turn(), 1)
    for place in (here, there, here):
        place.leave()
    assert lines._lines == {}
