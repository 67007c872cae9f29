"""Reading a long history for 25 members, compared with storing its messages one after the other.

The pages come over HTTP from a server that answers as Discord does but limits nothing, and runs as a process of its own. Whoever
reads is the handler that the worker has for it. Embedding is left out.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from django.conf import settings
from django.utils import timezone
from django.utils.module_loading import autodiscover_modules
from pydantic import SecretStr

from memory import capture, consent, outbox, tasks
from memory.benchmarks import history_server
from memory.benchmarks.people import conversation
from memory.benchmarks.scratch import scratch_database
from memory.capture import backfill
from memory.errors import ConfigurationError
from memory.models import Message, Scan
from memory.types import GuildInfo, Person

CHANNELS = 40
THREADS = 200
MEMBERS = 25
STRANGERS = 10
"""As in the flow test of the whole history."""
SINGLE = 1_000
REQUIRED = 3_000
"""Messages a second."""

Progress = Callable[[str], None]


def run(*, rows: int = 100_000, progress: Progress = lambda message: None) -> dict[str, Any]:
    """Messages a second: where everybody who writes is a member, where ten strangers write as well, and one message at a time."""
    autodiscover_modules("tasks")
    if backfill.HISTORY not in tasks.HANDLERS:
        raise ConfigurationError("Nothing is installed that reads histories.")
    everybody = _read(rows, MEMBERS, progress)
    mixed = _read(rows, MEMBERS + STRANGERS, progress)
    with scratch_database():
        people = [_member(number) for number in range(MEMBERS)]
        begin = time.perf_counter()
        for message in conversation(people, min(SINGLE, rows)):
            capture.record_message(message, source="backfill")
        single = min(SINGLE, rows) / (time.perf_counter() - begin)
    return {
        "rows": rows,
        "channels": CHANNELS,
        "threads": THREADS,
        "members": MEMBERS,
        "required_messages_per_second": REQUIRED,
        "messages_per_second": mixed["messages_per_second"],
        "everybody_is_a_member": everybody,
        "with_strangers": mixed,
        "one_at_a_time_messages_per_second": round(single),
        "peak_memory_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


def lines(result: dict[str, Any]) -> list[str]:
    found = [f"{result['rows']:,} messages in {CHANNELS} channels and {THREADS} threads, {MEMBERS} members"]
    for name in ("everybody_is_a_member", "with_strangers"):
        one = result[name]
        found.append(
            f"{name.replace('_', ' '):24} {one['messages_per_second']:>7,} messages a second "
            f"({one['stored']:,} stored, {one['pages']:,} pages, {one['cpu_seconds']} s of one processor)"
        )
    found.append(f"{'one at a time':24} {result['one_at_a_time_messages_per_second']:>7,}")
    found.append(f"{'memory at most':24} {result['peak_memory_mb']:>7,} MB")
    return found


def _member(number: int) -> Person:
    person = Person(
        id=history_server.person_id(number), username=f"person{number}", display_name=f"Person {number}"
    )
    consent.give(person=person, origin="benchmark")
    return person


def _read(rows: int, people: int, progress: Progress) -> dict[str, Any]:
    progress(f"reading {rows:,} messages of {people} people, {MEMBERS} of them members")
    with scratch_database(), _served(rows, people):
        guild = GuildInfo(id=history_server.GUILD, name="Benchmark")
        for number in range(MEMBERS):
            backfill.request(user_id=_member(number).id, guilds=[guild])
        Scan.objects.update(begins_at=timezone.now())
        begin, cpu = time.perf_counter(), time.process_time()
        while Scan.objects.filter(finished_at=None).exists():
            backfill.nudge()
            tasks.HANDLERS[backfill.HISTORY].run(outbox.claim(backfill.HISTORY, 1))
        seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
        scan = Scan.objects.get()
        assert scan.state == Scan.State.DONE, scan.state
        return {
            "messages_per_second": round(scan.scanned / seconds),
            "seconds": round(seconds, 2),
            "cpu_seconds": round(cpu, 2),
            "scanned": scan.scanned,
            "stored": Message.objects.count(),
            "pages": scan.pages,
            "complete": scan.scanned == rows and scan.stored == Message.objects.count(),
        }


@contextmanager
def _served(rows: int, people: int) -> Iterator[None]:
    """The server, and a configuration that leads to it."""
    arguments = [str(rows), str(CHANNELS), str(THREADS), str(people)]
    server = subprocess.Popen(
        [sys.executable, "-m", history_server.__name__, *arguments],
        stdout=subprocess.PIPE,
        text=True,
        cwd=settings.BASE_DIR,
    )
    try:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        discord = settings.MUSEBOT.discord.model_copy(
            update={"token": SecretStr("benchmark"), "api_base": f"http://127.0.0.1:{port}"}
        )
        changed = settings.MUSEBOT.model_copy(update={"discord": discord})
        with mock.patch.object(settings, "MUSEBOT", changed):
            yield
    finally:
        server.terminate()
        server.wait()
