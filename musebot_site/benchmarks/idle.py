"""What bot, worker and dashboard take while nobody does anything, the embedder loaded; compared with each on its own terms: what the
three would take if they shared nothing, and if each had loaded the embedder.
"""

from __future__ import annotations

import time
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from django.db import connection

from memory.benchmarks.installation import Progress, installation
from memory.benchmarks.timing import load
from musebot_site.benchmarks.processes import Processes, memory_of, processor_seconds

ROWS = 20_000
SETTLE_SECONDS = 20.0
WATCHED_SECONDS = 30.0
MOST_MB = 800
MOST_PERCENT = 2.0
"""Of one core."""
PARTS = {"dashboard": ("serve",), "worker": ("worker",), "bot": ("runbot",)}


def run(
    *, rows: int = ROWS, keep: Path | None = None, progress: Progress = lambda message: None
) -> dict[str, Any]:
    """MB and percent of a core, by process and together."""
    with installation(rows, keep=keep, progress=progress) as found:
        connection.close()
        with Processes(found.home) as processes:
            processes.start_discord()
            processes.start("dashboard", "serve", "--port", str(processes.port))
            processes.start("worker", "worker")
            processes.start("bot", "runbot")
            progress("waiting until everything is ready and has come to rest")
            processes.answers()
            processes.seen("worker", "ready")
            processes.seen("discord", "connected")
            _visit(processes.port)
            time.sleep(SETTLE_SECONDS)
            progress(f"watching for {WATCHED_SECONDS:.0f} seconds")
            return _watched(processes) | {"rows": rows, "load_after": load()}


def _visit(port: int) -> None:
    """Pages are loaded with the first visit; a dashboard that nobody ever opened would look smaller than it is."""
    for _ in range(3):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/sign-in/") as response:
            response.read()


def _watched(processes: Processes) -> dict[str, Any]:
    before = {name: processor_seconds(processes.running(name)) for name in PARTS}
    began = time.perf_counter()
    time.sleep(WATCHED_SECONDS)
    seconds = time.perf_counter() - began
    parts: dict[str, Any] = {}
    for name in PARTS:
        running = processes.running(name)
        spent = processor_seconds(running) - before[name]
        parts[name] = memory_of(running) | {"percent": round(100 * spent / seconds, 2)}
    return {
        "parts": parts,
        "memory_mb": round(sum(one["pss"] for one in parts.values()), 1),
        "percent_of_a_core": round(sum(one["percent"] for one in parts.values()), 2),
        "if_nothing_were_shared_mb": round(sum(one["rss"] for one in parts.values()), 1),
        "at_most_mb": MOST_MB,
        "at_most_percent": MOST_PERCENT,
    }


def lines(result: Mapping[str, Any]) -> Iterator[str]:
    yield f"{'idle, with the embedder loaded':34}{'MB':>10}{'MB alone':>10}{'% core':>10}"
    for name, one in result["parts"].items():
        yield f"  {name:32}{one['pss']:>10.1f}{one['rss']:>10.1f}{one['percent']:>10.2f}"
    yield (
        f"  {'together':32}{result['memory_mb']:>10.1f}{result['if_nothing_were_shared_mb']:>10.1f}"
        f"{result['percent_of_a_core']:>10.2f}"
    )
    yield f"  {'at most':32}{result['at_most_mb']:>10}{'':>10}{result['at_most_percent']:>10.1f}"
