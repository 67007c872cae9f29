"""Facts about the installation: versions, sizes, ages. All of them cheap, none of them about a person."""

from __future__ import annotations

import platform
import shutil
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from django.core.checks import Warning as WarningMessage
from django.core.checks import run_checks
from django.db import connection
from django.utils import timezone

from memory import outbox
from memory.conf import get_config
from memory.models import Guild
from memory.snapshots import STALE_AFTER

LOW_BYTES = 2 * 1024**3
LOW_SHARE = 0.05
"""Less free than either is little: SQLite needs room for its log, and a change of the embedding model for a second index."""
PACKAGES = ("django", "discord.py", "celery", "sqlite-vec", "psycopg", "ollama")


@dataclass(frozen=True, slots=True)
class Disk:
    """Of the folder that everything is written to, in bytes."""

    free: int
    total: int
    database: int | None
    """The database with its log; None where it is a server of its own."""

    @property
    def is_low(self) -> bool:
        return self.free < LOW_BYTES or self.free < self.total * LOW_SHARE


@dataclass(frozen=True, slots=True)
class Backlog:
    waiting: int
    failed: int
    oldest: datetime | None
    """Since when the oldest that waits does."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What the system checks say."""

    serious: bool
    what: str
    next_step: str


def disk() -> Disk:
    config = get_config()
    usage = shutil.disk_usage(config.home)
    if connection.vendor != "sqlite":
        return Disk(usage.free, usage.total, None)
    path = Path(connection.settings_dict["NAME"])
    # Sizes alone: whoever opened and closed these files would drop SQLite's locks.
    files = [path, path.with_name(f"{path.name}-wal")]
    return Disk(usage.free, usage.total, sum(one.stat().st_size for one in files if one.exists()))


def backlog() -> Backlog:
    rows = outbox.summary()
    waiting = [row for row in rows if row["state"] not in {"failed", "paused"}]
    oldest = [row["oldest"] for row in waiting if isinstance(row["oldest"], datetime)]
    return Backlog(
        waiting=sum(int(str(row["count"])) for row in waiting),
        failed=sum(int(str(row["count"])) for row in rows if row["state"] == "failed"),
        oldest=min(oldest, default=None),
    )


def snapshots() -> list[tuple[Guild, bool]]:
    """Servers with whether what is known of their readers is too old, the oldest first; without those that nobody asks."""
    rows = Guild.objects.filter(kind=Guild.Kind.GUILD, left_at=None, is_sample=False).order_by("snapshot_at")
    return [(row, _is_old(row)) for row in rows[:200]]


def _is_old(row: Guild) -> bool:
    return row.snapshot_at is None or timezone.now() - row.snapshot_at > STALE_AFTER


def versions() -> list[tuple[str, str]]:
    found = [("Python", platform.python_version())]
    for name in PACKAGES:
        try:
            found.append((name, version(name)))
        except PackageNotFoundError:
            continue
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("SELECT sqlite_version()")
        else:
            cursor.execute("SHOW server_version")
        found.append((connection.display_name, str(cursor.fetchone()[0])))
    return found


def problems() -> list[Problem]:
    """The system checks, errors first; each with what to do."""
    found = [
        message
        for message in run_checks()
        if not message.is_silenced() and message.level >= WarningMessage("").level
    ]
    found.sort(key=lambda message: -message.level)
    return [Problem(message.is_serious(), message.msg, message.hint or "") for message in found]
