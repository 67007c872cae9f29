"""Timestamps and snowflakes."""

from __future__ import annotations

from datetime import UTC, datetime

EPOCH = 1420070400000


def iso(ts: float) -> str:
    return datetime.fromtimestamp(ts, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f") + "+00:00"


def snow_ts(i: int) -> float:
    return ((i >> 22) + EPOCH) / 1000


def parse_when(v) -> float:
    if isinstance(v, (int, float)):
        return float(v)
    d = datetime.fromisoformat(str(v).replace("Z", "+00:00"))
    return (d if d.tzinfo else d.replace(tzinfo=UTC)).timestamp()
