"""From the command to ready, over many memories: dashboard, worker and bot together, compared with an installation of few memories."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from django.db import connection

from memory.benchmarks.installation import Progress, installation
from memory.benchmarks.timing import load
from musebot_site.benchmarks.processes import Processes

ROWS = 20_000
FEW = 100
TIMES = 3
MOST = 4.0
"""Seconds until everything is ready."""


def run(
    *, rows: int = ROWS, keep: Path | None = None, progress: Progress = lambda message: None
) -> dict[str, Any]:
    """Seconds, the best of three starts: a start that shared the machine with something else tells nothing."""
    result: dict[str, Any] = {"rows": rows, "at_most_seconds": MOST, "load_before": load()}
    with installation(rows, keep=keep, progress=progress) as found:
        progress(f"starting everything over {rows:,} memories, {TIMES} times")
        result["many"] = _best(found.home)
    with installation(FEW) as found:
        progress(f"starting everything over {FEW} memories, {TIMES} times")
        result["few"] = _best(found.home)
    return result | {"load_after": load()}


def _best(home: Path) -> dict[str, float]:
    connection.close()
    starts = [_start(home) for _ in range(TIMES)]
    return min(starts, key=lambda one: one["all"])


def _start(home: Path) -> dict[str, float]:
    """Seconds from the start of ``up`` until each part is ready: the bot, when it asks Discord who it is."""
    with Processes(home) as processes:
        processes.start_discord()
        began = processes.start("up", "up", "--port", str(processes.port))
        moments = {
            "dashboard": processes.answers(),
            "worker": processes.seen("up", "worker | ready"),
            "bot": processes.seen("discord", "asked"),
        }
        found = {name: round(moment - began, 2) for name, moment in moments.items()}
        return found | {"all": max(found.values())}


def lines(result: Mapping[str, Any]) -> Iterator[str]:
    yield f"seconds from `up` until ready (at most {result['at_most_seconds']:.0f})"
    yield f"{'':34}{'dashboard':>10}{'worker':>10}{'bot':>10}{'all':>10}"
    for kind, title in (("many", f"{result['rows']:,} memories"), ("few", "a hundred memories")):
        one = result[kind]
        yield f"  {title:32}" + "".join(
            f"{one[name]:>10.2f}" for name in ("dashboard", "worker", "bot", "all")
        )
