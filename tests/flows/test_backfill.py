"""A long history is read for many members under Discord's limits and failures, by a worker that is killed again and again.

Small by default; ``MUSEBOT_TEST_BACKFILL=full`` reads 100,000 messages in 40 channels and 200 threads for 25 members, with ten kills.
"""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.flows.stack import Stack
from tests.simulators.discord import DiscordSim

pytestmark = [pytest.mark.flow, pytest.mark.slow]


@dataclass(frozen=True)
class Size:
    messages: int
    channels: int
    threads: int
    members: int
    kills: int
    seconds: float


SMALL = Size(messages=5_000, channels=6, threads=10, members=8, kills=3, seconds=120)
FULL = Size(messages=100_000, channels=40, threads=200, members=25, kills=10, seconds=1_200)
SIZE = FULL if os.environ.get("MUSEBOT_TEST_BACKFILL") == "full" else SMALL
STRANGERS = 10
MOST_MEMORY_MB = 300


@pytest.fixture
def realistic() -> Iterator[DiscordSim]:
    with DiscordSim.start("--rate-profile", "realistic") as sim:
        yield sim
        assert not sim.requests()["unimplemented"]


class History:
    """What was said on the server before anybody opted in, and what of it is to be remembered."""

    def __init__(self, sim: DiscordSim, size: Size) -> None:
        self.sim = sim
        self.chance = random.Random(7)
        self.members = [sim.user(f"member{number}") for number in range(size.members)]
        self.strangers = [sim.user(f"stranger{number}") for number in range(STRANGERS)]
        people = self.members + self.strangers
        names = [f"c{number}" for number in range(size.channels)]
        self.guild = sim.guild("Harbour", members=people, channels=names)
        self.channels = list(self.guild["channels"].values())
        self.expected: dict[int, int] = {}
        """By message, the member it belongs to."""
        self.pages = 0
        places = self.channels + self._threads(size.threads)
        weights = [4.0] * size.channels + [1.0] * size.threads
        for place, weight in zip(places, weights, strict=True):
            self._fill(place, round(size.messages * weight / sum(weights)))

    def _threads(self, count: int) -> list[str]:
        made = []
        for number in range(count):
            parent = self.channels[number % len(self.channels)]
            options = {
                "name": f"t{number}",
                "user_id": self.strangers[0],
                "silent": True,
                "archived": number % 2 == 0,
            }
            made.append(self.sim.post(f"/channels/{parent}/threads", **options)["id"])
        return made

    def _fill(self, place: str, count: int) -> None:
        self.pages += count // 100 + 1
        start = time.time() - 90 * 86_400
        for begin in range(0, count, 1_000):
            said = [self._one(number) for number in range(min(1_000, count - begin))]
            ids = self.sim.post(
                f"/channels/{place}/preload", messages=said, start=start + begin * 60, interval_ms=60_000
            )["ids"]
            for number, (message, id) in enumerate(zip(said, ids, strict=True)):
                owner = message["user_id"]
                if owner == self.sim.bot_id:
                    owner = said[number - 1]["user_id"] if message.get("reply_prev") else ""
                if owner in self.members:
                    self.expected[int(id)] = int(owner)

    def _one(self, number: int) -> dict[str, object]:
        if number and number % 10 == 9:
            return {"user_id": self.sim.bot_id, "content": f"answer {number}", "reply_prev": number % 20 == 9}
        return {"user_id": self.chance.choice(self.members + self.strangers), "content": f"saying {number}"}


def test_killed_again_and_again(realistic: DiscordSim, install: Callable[..., Stack]) -> None:
    sim = realistic
    history = History(sim, SIZE)
    stack = install(
        DISCORD_API_BASE=sim.api_base,
        DISCORD_TOKEN=sim.token,
        MUSEBOT_EMBEDDING_MODEL="hash",
        MUSEBOT_CHAT_MODEL="local",
    )
    stack.start_bot()
    sim.wait_ready(commands=True)
    for member in history.members:
        done = sim.invoke(history.channels[0], member, "memory remember", timeout=60)
        assert done["state"] == "acked"
    assert stack.rows("SELECT count(*) FROM memory_scan WHERE kind = 'backfill'") == [(1,)]
    stack.storage.write("UPDATE memory_scan SET begins_at = opened_at WHERE kind = 'backfill'")
    stack.storage.write("UPDATE memory_outboxentry SET due_at = created_at WHERE kind = 'history'")
    inject_faults(sim)

    stack.start_worker()
    begun = time.monotonic()
    memory: list[float] = []
    for kill in range(SIZE.kills):
        # Somewhere within this part of the pages, and at any point of a page.
        goal = history.pages * (kill + history.chance.random()) / (SIZE.kills + 1)
        stack.wait(
            lambda goal=goal: pages_read(stack) >= goal, what=f"{goal:.0f} pages", seconds=SIZE.seconds
        )
        time.sleep(history.chance.random() * 0.2)
        memory.append(peak_mb(stack))
        stack.kill("worker")
        # The dead worker's lease runs out by itself within half a minute; nobody waits for that here.
        stack.storage.write("UPDATE memory_outboxentry SET lease_until = created_at WHERE state = 'running'")
        stack.start_worker()
    state = "SELECT state FROM memory_scan WHERE kind = 'backfill'"
    stack.wait(lambda: stack.rows(state) == [("done",)], what="all was read", seconds=SIZE.seconds)
    took = time.monotonic() - begun
    memory.append(peak_mb(stack))

    stored = dict(stack.rows("SELECT discord_id, member_id FROM memory_message"))
    assert stored == history.expected
    assert stack.count("memory_message") == len(history.expected)
    requested = Counter(pages_requested(sim))
    again = sum(count - 1 for count in requested.values())
    print(
        f"\n{SIZE.messages:,} messages, {len(stored):,} stored, {sum(requested.values()):,} pages, {again} of them again after "
        f"{SIZE.kills} kills, {took:.0f} s, worker at most {max(memory):.0f} MB; answers: {sim.requests()['routes'].get('GET /channels/{channel_id}/messages')}"
    )
    assert max(requested.values()) <= 1 + SIZE.kills
    assert again <= 8 * SIZE.kills  # one page of each channel that was being read
    assert max(memory) < MOST_MEMORY_MB
    stack.wait(lambda: "history read" in status_of(sim, history), what="the status says so")


def inject_faults(sim: DiscordSim) -> None:
    where = "GET /channels/*/messages"
    sim.fault(where, status=429, retry_after=0.3, count=-1, probability=0.02)
    sim.fault(where, status=429, retry_after=0.2, count=-1, probability=0.005, **{"global": True})
    for status in (500, 502, 503):
        sim.fault(where, status=status, count=-1, probability=0.01)
    for action in ("drop", "drop_after"):
        sim.fault(where, action=action, count=-1, probability=0.01)


def pages_read(stack: Stack) -> int:
    return int(stack.rows("SELECT coalesce(sum(pages), 0) FROM memory_scan WHERE kind = 'backfill'")[0][0])


def pages_requested(sim: DiscordSim) -> list[tuple[str, str]]:
    log = sim.get("/requests/log", match="GET /channels/*/messages", limit=1_000_000)["log"]
    pages = [one for one in log if one["status"] == 200 and one["path"].endswith("/messages")]
    return [(one["path"], one["query"].get("before", "")) for one in pages if "after" not in one["query"]]


def status_of(sim: DiscordSim, history: History) -> str:
    done = sim.invoke(history.channels[0], history.members[0], "memory status", timeout=60)
    return "\n".join(message["content"] for message in done["messages"])


def peak_mb(stack: Stack) -> float:
    status = Path(f"/proc/{stack.processes['worker'].pid}/status")
    if not status.exists():  # not on Linux
        return 0.0
    line = next(one for one in status.read_text().splitlines() if one.startswith("VmHWM"))
    return int(line.split()[1]) / 1024
