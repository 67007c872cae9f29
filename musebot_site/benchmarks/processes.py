"""The processes of an installation, started as ``up`` starts them, and when each was ready."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil
from django.conf import settings

from musebot_site.benchmarks import small_discord

NOT_INHERITED = ("MUSEBOT_", "DISCORD_", "OLLAMA_", "OPENAI_", "DJANGO_", "LLM_", "CELERY_", "DATABASE_")
PATIENCE = 120.0
"""Seconds after which a process that is not ready never will be."""


class Processes:
    """Children with their lines; ``seen(name, what)`` waits for a line. All are ended with the block."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.port = free_port()
        self.discord_port = free_port()
        self._children: dict[str, subprocess.Popen[str]] = {}
        self._lines: dict[str, list[tuple[float, str]]] = {}
        self._news = threading.Condition()

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *args: object) -> None:
        for child in self._children.values():
            with contextlib.suppress(OSError):
                child.send_signal(signal.SIGTERM)
        for child in self._children.values():
            try:
                child.wait(10)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()

    def start_discord(self) -> None:
        self._start("discord", [sys.executable, "-m", small_discord.__name__, str(self.discord_port)])
        self.seen("discord", "ready")

    def start(self, name: str, *arguments: str) -> float:
        """Starts a command of ``manage.py``; returns the moment, of ``time.perf_counter``."""
        return self._start(name, [sys.executable, "manage.py", *arguments])

    def _start(self, name: str, command: Sequence[str]) -> float:
        began = time.perf_counter()
        child = subprocess.Popen(
            command,
            cwd=settings.BASE_DIR,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._children[name], self._lines[name] = child, []
        threading.Thread(target=self._read, args=(name, child), daemon=True).start()
        return began

    def environment(self) -> Mapping[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(NOT_INHERITED)}
        return {
            **inherited,
            "MUSEBOT_HOME": str(self.home),
            "MUSEBOT_CONFIG": "",
            "PYTHONUNBUFFERED": "1",
            "DISCORD_TOKEN": "MTI5MDAwMDAwMDAwMDAwMDAwMA.benchmark.benchmark",
            "DISCORD_API_BASE": f"http://127.0.0.1:{self.discord_port}/api/v10",
        }

    def _read(self, name: str, child: subprocess.Popen[str]) -> None:
        assert child.stdout is not None
        for line in child.stdout:
            with self._news:
                self._lines[name].append((time.perf_counter(), line.rstrip()))
                self._news.notify_all()

    def seen(self, name: str, what: str) -> float:
        """When a line with these words came; waits for it. Raises ``RuntimeError`` with the last lines if it never does."""
        end = time.perf_counter() + PATIENCE
        with self._news:
            while True:
                for moment, line in self._lines[name]:
                    if what in line:
                        return moment
                if self._children[name].poll() is not None or time.perf_counter() > end:
                    last = " / ".join(line for _, line in self._lines[name][-5:])
                    raise RuntimeError(f"{name} never said {what!r}; its last words: {last}")
                self._news.wait(0.2)

    def answers(self, path: str = "/readyz") -> float:
        """When the dashboard answered; asks until it does."""
        end = time.perf_counter() + PATIENCE
        while time.perf_counter() < end:
            with contextlib.suppress(OSError):
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as response:
                    response.read()
                    return time.perf_counter()
            time.sleep(0.02)
        raise RuntimeError("The dashboard never answered.")

    def running(self, name: str) -> list[psutil.Process]:
        """A child and all that it started."""
        top = psutil.Process(self._children[name].pid)
        return [top, *top.children(recursive=True)]

    def names(self) -> Iterator[str]:
        return (name for name in self._children if name != "discord")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def memory_of(processes: Sequence[psutil.Process]) -> dict[str, float]:
    """MB: ``pss`` shares what several processes have in common among them (Linux only), ``rss`` counts it for each."""
    found: dict[str, float] = {"rss": 0.0, "pss": 0.0}
    for one in processes:
        full: Any = one.memory_full_info()
        found["rss"] += full.rss / 1e6
        found["pss"] += getattr(full, "pss", full.uss) / 1e6
    return {name: round(value, 1) for name, value in found.items()}


def processor_seconds(processes: Sequence[psutil.Process]) -> float:
    return float(sum(one.cpu_times().user + one.cpu_times().system for one in processes))
