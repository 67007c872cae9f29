"""``up``: one command starts everything, one signal ends it, and a killed worker loses nothing."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import psutil
import pytest

from tests.flows.stack import Stack

pytestmark = [
    pytest.mark.flow,
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="signals of POSIX"),
]

STORE = """
import time
from memory import capture, consent
from tests.factories import incoming, person
people = [person(f"p{{number}}") for number in range({count})]
first = incoming()
capture.remember_guild(first.guild, [first.channel])
for one in people:
    consent.give(person=one, origin="discord", guild=first.guild)
answer = [capture.record_message(incoming("the ferry sails", author=one, id=time.time_ns())) for one in people]
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def status(url: str) -> int:
    try:
        with urllib.request.urlopen(url, timeout=5) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


@pytest.fixture
def up(install):
    """``up`` without a bot, in an installation of its own, once it answers."""
    stack: Stack = install(MUSEBOT_EMBEDDING_MODEL="hash")
    port = free_port()
    stack.start("up", "manage.py", "up", "--port", str(port))
    stack.wait(lambda: status(f"http://127.0.0.1:{port}/healthz") == 200, what="the dashboard answers")
    stack.port = port
    return stack


def test_everything_starts_works_and_ends(up: Stack):
    link = re.search(rf"sign in here: (http://localhost:{up.port}/\S+)", up.log("up"))
    assert link and status(link[1]) == 200
    assert status(f"http://127.0.0.1:{up.port}/api/v1/openapi.json") == 200
    assert "No Discord bot" in up.log("up")

    keys = up.ask_django(STORE.format(count=3))
    assert len(keys) == 3
    up.wait_embedded()

    taken = subprocess.run(
        [sys.executable, "manage.py", "up", "--port", str(up.port)],
        env=up.environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert taken.returncode == 1 and "is taken by another program" in taken.stderr

    children = psutil.Process(up.processes["up"].pid).children(recursive=True)
    assert len(children) == 2
    began = time.monotonic()
    assert up.stop("up") == 0
    assert time.monotonic() - began < 10
    assert not [child for child in children if child.is_running()]
    assert status(f"http://127.0.0.1:{up.port}/healthz") == 0


def test_a_killed_worker_loses_nothing(up: Stack):
    def worker() -> psutil.Process:
        for child in psutil.Process(up.processes["up"].pid).children():
            if "worker" in child.cmdline():
                return child
        raise AssertionError("there is no worker")

    first = worker()
    up.ask_django(STORE.format(count=20))
    first.kill()
    up.ask_django(STORE.format(count=20))
    # What the dead worker held is free again once its lease is over; nobody has to wait for that here.
    up.storage.write("UPDATE memory_outboxentry SET lease_until = '2020-01-01' WHERE state = 'running'")
    up.wait_embedded()
    assert worker().pid != first.pid
    assert up.count("memory_message") == up.count("memory_message", "embedding = 'done'") == 40
    assert "worker | ended (killed by SIGKILL); starting it again" in up.log("up")


def test_children_do_not_outlive_a_killed_parent(up: Stack):
    children = psutil.Process(up.processes["up"].pid).children(recursive=True)
    up.kill("up")
    _, alive = psutil.wait_procs(children, timeout=20)
    assert not alive
