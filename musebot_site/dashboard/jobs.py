"""Work as the page shows it: histories being read, vectors being built, erasures, and what waits in the queue by kind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from django.db.models import Count, Max, Min, Q
from django.urls import reverse

from memory import embedding, outbox
from memory.capture import backfill
from memory.capture.backfill import ScanProgress
from memory.capture.backfill.queue import LEASE as READING_LEASE
from memory.models import ErasureRequest, OutboxEntry
from memory.rag.ingest import rebuild_progress
from musebot_site.dashboard.job_kinds import ELSEWHERE, kind_words

Action = Literal["pause", "resume", "cancel", "retry"]
State = Literal["ok", "busy", "attention", "failed", "off"]
FAILED_SHOWN = 50


@dataclass(frozen=True, slots=True)
class Job:
    """One row. Rates are a second, times are seconds."""

    id: str
    kind: str
    target: str
    state: State
    word: str
    href: str = ""
    done: int | None = None
    total: int | None = None
    unit: str = ""
    detail: str = ""
    rate: float = 0.0
    rate_unit: str = ""
    seconds_left: float | None = None
    heartbeat: datetime | None = None
    attempts: int = 0
    error: str = ""
    at: datetime | None = None
    actions: tuple[Action, ...] = field(default=())

    @property
    def runs(self) -> bool:
        return self.state == "busy"


def of_vectors() -> Job | None:
    """The change of the embedding model, where there is one."""
    return next(_change(), None)


def under_way() -> list[Job]:
    """What is not finished, the large things first."""
    return [*_change(), *_scans(), *_erasures(), *_queue()]


def ended() -> list[Job]:
    """Scans that ended lately; other work goes when it is done."""
    return [of_scan(scan) for scan in backfill.progress(limit=12) if scan.finished_at is not None]


def failed() -> tuple[list[OutboxEntry], int]:
    """The first pieces of work that failed, and how many there are in all."""
    rows = OutboxEntry.objects.filter(state=OutboxEntry.State.FAILED).order_by("kind", "id")
    return list(rows[:FAILED_SHOWN]), rows.count()


def _change() -> Iterator[Job]:
    change = embedding.change()
    if change is None:
        return
    states: dict[str, tuple[State, str, tuple[Action, ...]]] = {
        "building": ("busy", "building", ("pause", "cancel")),
        "waiting": ("attention", "waits for the model", ("retry", "pause", "cancel")),
        "paused": ("off", "paused", ("resume", "cancel")),
        "finishing": ("busy", "noting which vectors serve", ()),
        "declined": ("off", "cancelled", ("retry",)),
    }
    state, word, actions = states[change.state]
    detail = f"{change.older} ({change.older_dimension}) serves meanwhile."
    if change.state == "declined":
        detail = f"The vectors stay those of {change.older}. The configured model is not used for memories."
    elif change.state == "finishing":
        detail = f"{change.newer} serves."
    elif change.words_only:
        detail = f"{change.older} does not answer any more, so words alone find memories until this is done."
    if change.refused:
        detail += f" {change.refused:,} messages are refused by the new model."
    yield Job(
        "vectors",
        "Another embedding model",
        f"{change.older} → {change.newer} ({change.newer_dimension})",
        state,
        word,
        done=None if change.state == "declined" else change.done,
        total=None if change.state == "declined" else change.total,
        unit="messages",
        detail=detail,
        rate=change.rate,
        rate_unit="messages a second",
        seconds_left=change.seconds_left,
        heartbeat=change.held_until - outbox.LEASE if change.held_until else None,
        attempts=change.attempts,
        error=change.error,
        at=change.begun_at,
        actions=actions,
    )


def _scans() -> Iterator[Job]:
    reading = OutboxEntry.objects.filter(kind=backfill.HISTORY).first()
    held = reading.lease_until - READING_LEASE if reading and reading.lease_until else None
    for scan in backfill.progress(limit=50, ended=False):
        if scan.finished_at is None:
            yield of_scan(scan, held)


def of_scan(scan: ScanProgress, heartbeat: datetime | None = None) -> Job:
    states: dict[str, tuple[State, tuple[Action, ...]]] = {
        "gathering": ("busy", ("pause", "cancel")),
        "listing": ("busy", ("pause", "cancel")),
        "running": ("busy", ("pause", "cancel")),
        "paused": ("off", ("resume", "cancel")),
        "done": ("ok", ()),
        "cancelled": ("off", ()),
    }
    state, actions = states.get(scan.state, ("failed", ()))
    if scan.state == "running" and scan.error_code:
        state = "attention"
    found = f"{scan.scanned:,} messages seen, {scan.stored:,} stored"
    if scan.unreadable:
        found += f"; {scan.unreadable:,} {'channel' if scan.unreadable == 1 else 'channels'} may not be read"
    backfills = scan.kind == "backfill"
    target = scan.guild if backfills else "all servers"
    if backfills:
        target += f", for {scan.members:,} {'member' if scan.members == 1 else 'members'}"
    return Job(
        f"scan-{scan.id}",
        "Reading history" if backfills else "Catching up",
        target,
        state,
        scan.stage,
        href=reverse("dashboard:job-scan", args=[scan.id]),
        done=scan.channels_done,
        total=scan.channels,
        unit="channels",
        detail=found,
        rate=scan.rate,
        rate_unit="messages a second",
        seconds_left=scan.seconds_left,
        heartbeat=heartbeat if scan.state == "running" else None,
        error=scan.error_code,
        at=scan.finished_at or scan.opened_at,
        actions=actions,
    )


def _erasures() -> Iterator[Job]:
    waiting = [ErasureRequest.State.RECEIVED, ErasureRequest.State.PREVIEWED]  # nobody has begun them
    for row in ErasureRequest.objects.not_over().exclude(state__in=waiting).order_by("received_at")[:50]:
        has_failed = row.state == ErasureRequest.State.FAILED
        yield Job(
            f"erasure-{row.id}",
            "Erasing a member",
            f"receipt {str(row.id)[:8]}",
            "failed" if has_failed else "busy",
            "failed" if has_failed else (row.stage.replace("_", " ") or row.state),
            href=reverse("dashboard:erasure", args=[row.id]),
            done=row.done,
            total=row.total,
            unit="rows",
            detail=f"Origin: {row.get_origin_display()}. It cannot be paused.",
            error=row.error,
            at=row.received_at,
            actions=("retry",) if has_failed else (),
        )


def _queue() -> Iterator[Job]:
    paused = outbox.paused_kinds()
    rows = OutboxEntry.objects.values("kind").annotate(
        waiting=Count("id", filter=~Q(state=OutboxEntry.State.FAILED)),
        running=Count("id", filter=Q(state=OutboxEntry.State.RUNNING)),
        failed=Count("id", filter=Q(state=OutboxEntry.State.FAILED)),
        oldest=Min("created_at"),
        attempts=Max("attempts"),
        lease=Max("lease_until"),
        due=Min("due_at", filter=Q(state=OutboxEntry.State.QUEUED)),
    )
    found = {row["kind"]: row for row in rows.order_by("kind")}
    nothing = {"waiting": 0, "running": 0, "failed": 0, "oldest": None, "attempts": 0, "lease": None}
    for kind in sorted({*found, *paused}):
        row = found.get(kind, nothing)
        if kind not in ELSEWHERE or row["failed"]:
            yield _kind(kind, row, paused=kind in paused)


def _kind(kind: str, row: dict[str, object], *, paused: bool) -> Job:
    name, target = kind_words(kind)
    waiting, running, failed_now = (int(str(row[key])) for key in ("waiting", "running", "failed"))
    unfinished = OutboxEntry.objects.filter(kind=kind).exclude(state=OutboxEntry.State.FAILED)
    last = unfinished.exclude(error="").order_by("-due_at").values_list("error", flat=True).first()
    state: State = "off" if paused else "busy" if running or waiting else "failed"
    word = "paused" if paused else "running" if running else "waiting" if waiting else "failed"
    if last and waiting and not running and not paused:
        state, word = "attention", "tries again"
    actions: list[Action] = []
    if failed_now:
        actions.append("retry")
    if paused:
        actions.append("resume")
    elif kind not in outbox.NEVER_PAUSED:
        actions.append("pause")
    rebuilt = rebuild_progress() if kind == "reindex" else None
    lease = row["lease"]
    oldest = row["oldest"]
    return Job(
        f"kind-{kind}",
        name,
        target,
        state,
        word,
        done=rebuilt[0] if rebuilt else None,
        total=rebuilt[1] if rebuilt else None,
        unit="passages",
        detail=", ".join(
            part for part in (f"{waiting:,} waiting", f"{failed_now:,} failed" if failed_now else "") if part
        ),
        heartbeat=lease - outbox.LEASE if isinstance(lease, datetime) else None,
        attempts=int(str(row["attempts"])),
        error=last or "",
        at=oldest if isinstance(oldest, datetime) else None,
        actions=tuple(actions),
    )
