"""Pictures drawn on the server: shapes with coordinates for a template, so that no page needs inline styles or a library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

CHART_WIDTH, CHART_HEIGHT = 720, 120


@dataclass(frozen=True, slots=True)
class Bar:
    day: date
    count: int
    x: float
    y: float
    width: float
    height: float
    href: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    bars: tuple[Bar, ...]
    top: int
    """What the height stands for."""
    total: int
    summary: str
    width: int = CHART_WIDTH
    height: int = CHART_HEIGHT


def activity_chart(days: Sequence[tuple[date, int]]) -> Chart:
    """Bars of messages per day, with a sentence that says the same."""
    top = max((count for _, count in days), default=0)
    step = CHART_WIDTH / max(len(days), 1)
    bars = []
    for index, (day, count) in enumerate(days):
        height = round(count / top * (CHART_HEIGHT - 4), 1) if top else 0.0
        height = max(height, 2.0) if count else 0.0
        bars.append(
            Bar(
                day,
                count,
                round(index * step + 2, 1),
                round(CHART_HEIGHT - height, 1),
                round(step - 4, 1),
                height,
            )
        )
    total = sum(count for _, count in days)
    busiest = max(days, key=lambda entry: entry[1], default=None)
    summary = f"{total:,} messages stored in {len(days)} days"
    if busiest and busiest[1]:
        summary += f"; most on {busiest[0].day} {busiest[0]:%B}: {busiest[1]:,}"
    return Chart(tuple(bars), top, total, summary + ".")


@dataclass(frozen=True, slots=True)
class Segment:
    name: str
    milliseconds: float
    x: float
    width: float
    tone: int
    """1 to 6: which of the palette's tones it has."""


@dataclass(frozen=True, slots=True)
class Timeline:
    segments: tuple[Segment, ...]
    total: float
    parts: tuple[tuple[str, float], ...] = ()


def timeline(timings: Mapping[str, float], width: float = 1000) -> Timeline:
    """Stages one after the other. Names with an underscore are parts of a stage; ``total`` closes the gap as "other"."""
    stages = {
        name: float(value)
        for name, value in timings.items()
        if name != "total" and "_" not in name and isinstance(value, int | float)
    }
    known = sum(stages.values())
    total = max(float(timings.get("total") or 0), known)
    if total - known > max(1.0, total * 0.02):
        stages["other"] = total - known
    segments, x = [], 0.0
    for index, (name, value) in enumerate(stages.items()):
        share = value / total * width if total else 0
        segments.append(Segment(name, value, round(x, 1), round(share, 1), index % 6 + 1))
        x += share
    parts = [
        (name.removeprefix("recall_").replace("_", " "), float(value))
        for name, value in timings.items()
        if "_" in name and not name.endswith("_total")
    ]
    return Timeline(tuple(segments), total, tuple(parts))
