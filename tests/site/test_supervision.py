"""Children are started again when they die, named in the output, and ended together."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from django.core.management import CommandError, call_command

from musebot_site import supervision
from musebot_site.management.commands.up import require_free_port
from musebot_site.supervision import Child, Supervisor
from tests.waiting import wait_until

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")

SLEEP = "import time; time.sleep(600)"


class Running:
    """A supervisor in a thread, and what it said."""

    def __init__(self, *children: Child) -> None:
        self.lines: list[str] = []
        self.children = children
        self.supervisor = Supervisor(children, self.lines.append)
        self.status: int | None = None
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        self.status = self.supervisor.run()

    def said(self, text: str) -> bool:
        return any(text in line for line in self.lines)

    def stop(self) -> int | None:
        self.supervisor.stop()
        self.thread.join(20)
        return self.status


@pytest.fixture
def start(monkeypatch) -> Iterator[Callable[..., Running]]:
    monkeypatch.setattr(supervision, "BACK_OFF_SECONDS", (0.05, 0.1))
    started: list[Running] = []

    def run(**code: str) -> Running:
        started.append(Running(*[Child(name, [sys.executable, "-c", text]) for name, text in code.items()]))
        return started[-1]

    yield run
    for running in started:
        running.supervisor.stop()
        running.stop()


def test_lines_have_a_name_before_them_and_all_end_together(start):
    running = start(web="print('hello', flush=True); " + SLEEP, worker="print('there', flush=True); " + SLEEP)
    wait_until(lambda: running.said("web    | hello") and running.said("worker | there"))
    pids = [child.process.pid for child in running.children]
    assert running.stop() == 0
    assert not any(psutil.pid_exists(pid) for pid in pids)


def test_a_child_that_dies_is_started_again_and_the_reason_is_told(start, tmp_path):
    marker = tmp_path / "count"
    running = start(
        web=f"import os, signal; open({str(marker)!r}, 'a').write('x'); os.kill(os.getpid(), signal.SIGKILL)",
        worker=f"import sys; open({str(marker)!r}, 'a').write('x'); sys.exit(3)",
    )
    wait_until(lambda: marker.exists() and marker.stat().st_size >= 6)
    assert running.said("web    | ended (killed by SIGKILL); starting it again in")
    assert running.said("worker | ended (exit status 3); starting it again in")


def test_a_child_with_a_wrong_configuration_is_not_tried_again(start):
    running = start(
        bot=f"import sys; print('the token is wrong'); sys.exit({supervision.EX_CONFIG})", web=SLEEP
    )
    wait_until(lambda: running.said("bot | stopped"))
    assert running.children[0].due is None
    assert running.children[1].process.poll() is None


def test_a_child_that_does_not_end_is_killed_with_what_it_started(start, monkeypatch):
    monkeypatch.setattr(supervision, "GRACE_SECONDS", 0.2)
    code = (
        "import signal, subprocess, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        f"print(subprocess.Popen([sys.executable, '-c', {SLEEP!r}]).pid, flush=True); time.sleep(600)"
    )
    running = start(bot=code)
    wait_until(lambda: running.lines)
    grandchild = int(running.lines[0].split("|")[1])
    assert running.stop() == 1
    assert running.said("was killed")
    wait_until(lambda: not psutil.pid_exists(grandchild) or psutil.Process(grandchild).status() == "zombie")


def test_children_end_when_the_parent_is_gone(tmp_path: Path):
    root = str(Path(supervision.__file__).parents[1])
    child = f"from musebot_site.supervision import end_with_parent; end_with_parent(); {SLEEP}"
    parent = (
        "from musebot_site.supervision import Child, Supervisor; import sys;"
        f"Supervisor([Child('web', [sys.executable, '-c', {child!r}])], print).run()"
    )
    import subprocess

    process = subprocess.Popen(
        [sys.executable, "-c", parent], cwd=root, env={**os.environ, "PYTHONPATH": root}
    )
    wait_until(lambda: psutil.Process(process.pid).children())
    children = psutil.Process(process.pid).children()
    process.send_signal(signal.SIGKILL)
    process.wait()
    _, alive = psutil.wait_procs(children, timeout=15)
    assert not alive


def test_a_port_that_is_taken_gets_a_clear_message():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(CommandError, match=f"Port {port} on 127.0.0.1 is taken .* --port {port + 1}"):
            require_free_port("127.0.0.1", port)
        with pytest.raises(CommandError, match=f"manage.py serve --port {port + 1}"):
            call_command("serve", "--port", str(port))
    require_free_port("127.0.0.1", port)


@pytest.mark.parametrize(
    "host, port", [("127.0.0.1", 0), ("127.0.0.1", 70000), ("no such host", 8000), ("192.0.2.1", 8000)]
)
def test_addresses_that_cannot_be_listened_on(host, port):
    with pytest.raises(CommandError):
        require_free_port(host, port)
