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
class Dot:
    label: str
    value: str
    x: float
    y: float
    href: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a chart, as the points of a polyline, and the dots that say their value."""

    name: str
    tone: int
    """1 to 6: which of the palette's tones it has."""
    points: str
    dots: tuple[Dot, ...]
    area: str = ""
    """The points of the surface below it, where it is filled."""


@dataclass(frozen=True, slots=True)
class LineChart:
    lines: tuple[Line, ...]
    top: str
    bottom: str
    first: str
    last: str
    summary: str
    rows: tuple[tuple[str, tuple[str, ...]], ...]
    """The same as a table, newest first."""
    width: int = CHART_WIDTH
    height: int = CHART_HEIGHT


def growth_chart(days: Sequence[tuple[date, int]], total: int) -> LineChart | None:
    """How many memories there were at the end of each day; ``total`` is what there is now. None where nothing came in."""
    if not any(count for _, count in days):
        return None
    values: list[int] = []
    now = total
    for _, count in reversed(days):
        values.append(max(now, 0))
        now -= count
    values.reverse()
    low, high = min(values), max(values)
    labels = [f"{day.day} {day:%b}" for day, _ in days]
    line = _line(
        "Memories", 1, values, [f"{value:,}" for value in values], labels, low=low, high=high, filled=True
    )
    grown = values[-1] - values[0]
    summary = f"{values[-1]:,} memories, {grown:,} more than {len(days)} days ago."
    if grown < 0:
        summary = f"{values[-1]:,} memories, {-grown:,} fewer than {len(days)} days ago."
    rows = [(f"{day.day} {day:%B %Y}", (f"{value:,}",)) for (day, _), value in zip(days, values, strict=True)]
    return LineChart((line,), f"{high:,}", f"{low:,}", labels[0], "Today", summary, tuple(reversed(rows)))


def quality_chart(
    runs: Sequence[tuple[date, str, Mapping[str, float]]], measures: Mapping[str, str]
) -> LineChart | None:
    """Shares from 0 to 1 over runs, oldest first; each run with its page. None for fewer than two runs."""
    if len(runs) < 2:
        return None
    labels = [f"{day.day} {day:%b}" for day, _, _ in runs]
    links = [href for _, href, _ in runs]
    lines = []
    for tone, (name, title) in enumerate(measures.items(), 1):
        values = [float(found.get(name) or 0) for _, _, found in runs]
        shown = [f"{value * 100:.0f}%" for value in values]
        lines.append(_line(title, tone, values, shown, labels, low=0, high=1, links=links))
    newest, before = runs[-1][2], runs[-2][2]
    said = [
        f"{title} {float(newest.get(name) or 0) * 100:.0f}% ({_change(newest.get(name), before.get(name))})"
        for name, title in measures.items()
    ]
    rows = [
        (f"{day.day} {day:%B %Y}", tuple(f"{float(found.get(name) or 0) * 100:.0f}%" for name in measures))
        for day, _, found in runs
    ]
    return LineChart(
        tuple(lines), "100%", "0%", labels[0], labels[-1], f"{', '.join(said)}.", tuple(reversed(rows))
    )


def _change(now: float | None, before: float | None) -> str:
    points = round((float(now or 0) - float(before or 0)) * 100)
    return "as before" if not points else f"{points:+d} points"


def _line(
    name: str,
    tone: int,
    values: Sequence[float],
    shown: Sequence[str],
    labels: Sequence[str],
    *,
    low: float,
    high: float,
    links: Sequence[str] = (),
    filled: bool = False,
) -> Line:
    span = (high - low) or 1
    step = CHART_WIDTH / max(len(values) - 1, 1)
    room = CHART_HEIGHT - 8
    places = [
        (round(index * step, 1), round(4 + room - (value - low) / span * room, 1))
        for index, value in enumerate(values)
    ]
    points = " ".join(f"{x},{y}" for x, y in places)
    dots = tuple(
        Dot(label, text, x, y, links[index] if links else "")
        for index, ((x, y), label, text) in enumerate(zip(places, labels, shown, strict=True))
    )
    area = f"0,{CHART_HEIGHT} {points} {CHART_WIDTH},{CHART_HEIGHT}" if filled else ""
    return Line(name, tone, points, dots, area)


@dataclass(frozen=True, slots=True)
class Stack:
    """One kind of work: what waits and what failed, as shares of the longest."""

    name: str
    waiting: int
    failed: int
    waiting_width: float
    failed_width: float


@dataclass(frozen=True, slots=True)
class QueueChart:
    stacks: tuple[Stack, ...]
    summary: str
    width: int = 100


def queue_chart(kinds: Sequence[tuple[str, int, int]]) -> QueueChart | None:
    """(kind in words, waiting, failed), the longest first. None where there is nothing."""
    found = sorted((one for one in kinds if one[1] or one[2]), key=lambda one: -(one[1] + one[2]))
    if not found:
        return None
    longest = max(waiting + failed for _, waiting, failed in found)
    stacks = tuple(
        Stack(
            name,
            waiting,
            failed,
            round(max(waiting / longest * 100, 1), 1) if waiting else 0,
            round(max(failed / longest * 100, 1), 1) if failed else 0,
        )
        for name, waiting, failed in found
    )
    waiting, failed = sum(one[1] for one in found), sum(one[2] for one in found)
    summary = f"{waiting:,} waiting, {failed:,} failed; most: {stacks[0].name}."
    return QueueChart(stacks, summary)


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
