"""Others who use a database while something is measured: each is a process of its own, and tells how long it had to wait.

``python -m memory.benchmarks.beside PATH ROLE`` works until its standard input ends, and then prints milliseconds as JSON.
"""

from __future__ import annotations

import json
import random
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROLES = ("lock", "writer", "reader")
PAUSE_SECONDS = {"lock": 0.005, "writer": 0.1, "reader": 0.1}


class Beside:
    """Runs all roles as long as the block does; ``result()`` afterwards."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._result: dict[str, dict[str, float]] = {}

    def __enter__(self) -> Beside:
        self._processes = {
            role: subprocess.Popen(
                [sys.executable, "-m", __name__, str(self.path), role],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                cwd=Path(__file__).resolve().parents[2],
            )
            for role in ROLES
        }
        for process in self._processes.values():
            assert process.stdout is not None
            process.stdout.readline()  # it has begun
        return self

    def __exit__(self, *args: object) -> None:
        for role, process in self._processes.items():
            answer, _ = process.communicate(input="")
            lines = answer.strip().splitlines()
            self._result[role] = json.loads(lines[-1]) if lines else {}

    def result(self) -> dict[str, dict[str, float]]:
        """Of each role: how often, and milliseconds p50, p95 and at most."""
        return self._result


def _knock(path: Path) -> Callable[[], None]:
    """Wants the write lock for nothing and asks again at once: how long others hold it."""
    other = sqlite3.connect(path, isolation_level=None, timeout=0)

    def once() -> None:
        while True:
            try:
                other.execute("BEGIN IMMEDIATE")
                other.execute("ROLLBACK")
                return
            except sqlite3.OperationalError:
                time.sleep(0.002)

    return once


def _write(path: Path) -> Callable[[], None]:
    """A member's message is stored."""
    from memory import capture
    from memory.benchmarks.people import conversation, member

    people = [member(number) for number in range(1, 11)]
    said = conversation(people, 1_000_000, seed=1_000)

    def once() -> None:
        assert capture.record_message(next(said)) is not None

    return once


def _read(path: Path) -> Callable[[], None]:
    """What recall asks the words for, in a server drawn by chance."""
    from memory.backends import text_index
    from memory.benchmarks.people import WORDS
    from memory.models import Guild

    guilds = list(Guild.objects.values_list("ordinal", flat=True))
    chance = random.Random(3)

    def once() -> None:
        text_index().search(chance.choice(guilds), chance.sample(WORDS, 3), 5)

    return once


def _prepare(path: Path, role: str) -> Callable[[], None]:
    if role == "lock":
        return _knock(path)
    import django

    django.setup()
    from django.db import connection

    from memory import outbox

    connection.settings_dict["NAME"] = str(path)
    outbox._send = lambda kind: None  # nobody is to be woken for it
    return _write(path) if role == "writer" else _read(path)


def _summary(waits: Sequence[float]) -> dict[str, Any]:
    ordered = sorted(waits) or [0.0]
    return {
        "times": len(waits),
        "p50": round(ordered[len(ordered) // 2], 1),
        "p95": round(ordered[int(len(ordered) * 0.95)], 1),
        "most": round(ordered[-1], 1),
    }


def _wait_for_the_end(ended: threading.Event) -> None:
    sys.stdin.read()
    ended.set()


def _main(path: Path, role: str) -> None:
    once = _prepare(path, role)
    once()
    ended = threading.Event()
    threading.Thread(target=_wait_for_the_end, args=(ended,), daemon=True).start()
    print("begun", flush=True)
    waits = []
    while not ended.is_set():
        begin = time.perf_counter()
        once()
        waits.append((time.perf_counter() - begin) * 1000)
        ended.wait(PAUSE_SECONDS[role])
    print(json.dumps(_summary(waits)))


if __name__ == "__main__":
    _main(Path(sys.argv[1]), sys.argv[2])
