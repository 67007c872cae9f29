"""Runs several processes as one: their lines with a name before them, started again when they die, ended together.

Each child is a session of its own, so that Ctrl-C reaches them through here only, in order. A child that was started here ends
when this process is gone, however it went: its standard input closes (``end_with_parent``).
"""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

SUPERVISED = "MUSEBOT_SUPERVISED"
BACK_OFF_SECONDS = (1, 2, 5, 10, 30, 60)
STEADY_SECONDS = 60.0
"""A child that ran this long is not failing at its start; the next pause is the shortest again."""
GRACE_SECONDS = 8.0
EX_CONFIG = 78
"""Exit status of a child whose configuration cannot work: starting it again would not help."""


@dataclass
class Child:
    """One process to keep running."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    failures: int = 0
    due: float | None = 0.0
    """When to start it (monotonic seconds); None while it runs or has been given up."""


class Supervisor:
    """Keeps children running until ``stop`` is called or a signal comes."""

    def __init__(self, children: Sequence[Child], write: Callable[[str], None]) -> None:
        self.children = list(children)
        self._write = write
        self._width = max((len(child.name) for child in self.children), default=0)
        self._ended: queue.SimpleQueue[Child | None] = queue.SimpleQueue()
        self._stopping = False

    def stop(self, *_: Any) -> None:
        """Ends all (also a signal handler); a second call ends them at once."""
        if self._stopping:
            for child in self.children:
                _kill(child)
        self._stopping = True
        self._ended.put(None)

    def run(self) -> int:
        """Blocks until everything has ended. Returns the exit status: 1 if a child had to be killed."""
        try:
            while not self._stopping:
                self._start_due()
                self._wait()
        finally:
            clean = self._end_all()
        return 0 if clean else 1

    def _start_due(self) -> None:
        now = time.monotonic()
        for child in self.children:
            if child.due is not None and child.due <= now:
                self._start(child)

    def _start(self, child: Child) -> None:
        child.process = subprocess.Popen(
            child.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONUNBUFFERED": "1", SUPERVISED: "1", **child.environment},
            **_own_group(),
        )
        child.started, child.due = time.monotonic(), None
        threading.Thread(target=self._relay, args=(child, child.process), daemon=True).start()
        threading.Thread(target=self._watch, args=(child, child.process), daemon=True).start()

    def _relay(self, child: Child, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            if text := line.decode(errors="replace").rstrip():
                self._write(f"{child.name:<{self._width}} | {text}")

    def _watch(self, child: Child, process: subprocess.Popen[bytes]) -> None:
        process.wait()
        self._ended.put(child)

    def _wait(self) -> None:
        """Until a child ends, one is due, or somebody stops us; at most a second, for the sake of Ctrl-C on Windows."""
        waits = [child.due - time.monotonic() for child in self.children if child.due is not None]
        limit = 1.0 if os.name == "nt" else 60.0
        try:
            child = self._ended.get(timeout=max(0.0, min([limit, *waits])))
        except queue.Empty:
            return
        if child is not None and not self._stopping:
            self._plan_restart(child)

    def _plan_restart(self, child: Child) -> None:
        assert child.process is not None
        code = child.process.returncode
        now = time.monotonic()
        if code == EX_CONFIG:
            self._write(
                f"{child.name:<{self._width}} | stopped: see the message above; mend it, then start again"
            )
            return
        child.failures = 0 if now - child.started >= STEADY_SECONDS else child.failures + 1
        pause = BACK_OFF_SECONDS[min(max(child.failures, 1), len(BACK_OFF_SECONDS)) - 1]
        child.due = now + pause
        self._write(f"{child.name:<{self._width}} | ended ({_reason(code)}); starting it again in {pause} s")

    def _end_all(self) -> bool:
        running = [child for child in self.children if child.process and child.process.poll() is None]
        for child in running:
            _terminate(child)
        deadline = time.monotonic() + GRACE_SECONDS
        clean = True
        for child in running:
            assert child.process is not None
            try:
                child.process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                clean = False
                self._write(
                    f"{child.name:<{self._width}} | did not end in {GRACE_SECONDS:.0f} s and was killed"
                )
        for child in self.children:
            _kill(child)
        return clean


def end_with_parent() -> None:
    """Called in a child: ends it once its standard input closes, which it does when the parent is gone."""
    threading.Thread(target=_wait_for_parent, name="parent", daemon=True).start()


def _wait_for_parent() -> None:
    try:
        while os.read(0, 1024):
            pass
    except OSError:
        pass
    if os.name == "nt":
        os._exit(1)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_SECONDS)
    os._exit(1)


def _own_group() -> dict[str, Any]:
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"start_new_session": True}


def _terminate(child: Child) -> None:
    assert child.process is not None
    try:
        if sys.platform == "win32":
            child.process.send_signal(signal.CTRL_BREAK_EVENT)
        else:
            child.process.send_signal(signal.SIGTERM)
    except OSError:
        pass


def _kill(child: Child) -> None:
    """Kills a child and whatever it started."""
    if child.process is None:
        return
    try:
        if sys.platform == "win32":
            child.process.kill()
        else:
            os.killpg(child.process.pid, signal.SIGKILL)
    except OSError:
        pass
    child.process.wait()


def _reason(code: int) -> str:
    if code >= 0:
        return f"exit status {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"
