"""Times of many calls as a few numbers."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")


def percentiles(milliseconds: Sequence[float]) -> dict[str, float]:
    return {
        "p50": round(float(np.percentile(milliseconds, 50)), 3),
        "p95": round(float(np.percentile(milliseconds, 95)), 3),
    }


class Stopwatch:
    """Milliseconds of each call, by the clock and of this thread's processor time.

    On a machine that has other work, the second says what the call itself costs.
    """

    def __init__(self) -> None:
        self.clock: list[float] = []
        self.processor: list[float] = []

    def time(self, call: Callable[[], T]) -> T:
        began, used = time.perf_counter(), time.thread_time()
        found = call()
        self.processor.append((time.thread_time() - used) * 1000)
        self.clock.append((time.perf_counter() - began) * 1000)
        return found

    def result(self) -> dict[str, float]:
        return percentiles(self.clock) | {"cpu_p50": round(float(np.median(self.processor)), 3)}


def load() -> list[float]:
    """How busy the machine was: the system's load averages over 1, 5 and 15 minutes; empty where there are none."""
    return [round(one, 2) for one in os.getloadavg()] if hasattr(os, "getloadavg") else []


def medians(of: Sequence[dict[str, Any]]) -> dict[str, float]:
    """The median of each name over many sets of timings; a stage that a call did not have counts as none."""
    names = dict.fromkeys(name for one in of for name in one)
    return {name: round(float(np.median([one.get(name, 0.0) for one in of])), 3) for name in names}
