"""A large installation to measure in: servers of very different sizes, with members, memories, traces, facts and documents.

It is built once in a folder that is laid out as ``MUSEBOT_HOME``, and may be kept there for the next run (``--keep``).
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from unittest import mock

from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from memory.benchmarks import installation_more, installation_rows
from memory.benchmarks.scratch import database_at, require_sqlite
from memory.errors import InvalidInput
from memory.models import Guild

MARK = "benchmark.json"
"""Stands beside the database once it is complete."""
MEMBERS_A_MEMORY = 1 / 50
DOCUMENTS_A_MEMORY = 1 / 200

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Size:
    rows: int
    members: int
    documents: int

    @classmethod
    def of(cls, rows: int) -> Size:
        """20,000 members and 5,000 documents to a million memories."""
        return cls(rows, max(int(rows * MEMBERS_A_MEMORY), 3), max(int(rows * DOCUMENTS_A_MEMORY), 2))


@dataclass(frozen=True, slots=True)
class Installation:
    """A folder for ``MUSEBOT_HOME``, and the database in it that this process now uses."""

    home: Path
    database: Path
    size: Size

    def guilds(self) -> list[Guild]:
        """The largest first."""
        return list(Guild.objects.filter(kind=Guild.Kind.GUILD).order_by("-message_count", "ordinal"))

    def file_bytes(self) -> int:
        return self.database.stat().st_size


@contextmanager
def installation(
    rows: int, *, keep: Path | None = None, progress: Progress = lambda message: None
) -> Iterator[Installation]:
    """An installation of that size, with this process pointed at it while the block runs; wakes no worker.

    In ``keep`` it is left for the next run, and taken from there if it is complete. Raises ``InvalidInput`` where something else
    is in that folder.
    """
    require_sqlite("An installation of a given size")
    size = Size.of(rows)
    home = keep or Path(tempfile.mkdtemp(prefix="musebot-benchmark-"))
    relative = settings.MUSEBOT.database_path.relative_to(settings.MUSEBOT.home)
    database = home / relative
    try:
        database.parent.mkdir(parents=True, exist_ok=True)
        mark = home / MARK
        is_there = _check(mark, database, size)
        with database_at(database), mock.patch("memory.outbox._send"):
            if not is_there:
                progress(f"building an installation of {rows:,} memories in {home}")
                _build(size, progress)
                mark.write_text(json.dumps(asdict(size)))
            else:
                call_command("migrate", verbosity=0)
            _freshen()
            yield Installation(home, database, size)
    finally:
        if keep is None:
            shutil.rmtree(home, ignore_errors=True)


def _check(mark: Path, database: Path, size: Size) -> bool:
    """Whether the installation is there. What an earlier run left unfinished is removed."""
    if mark.exists():
        if json.loads(mark.read_text()) != asdict(size):
            raise InvalidInput(
                f"{mark.parent} holds an installation of another size. Name another folder, or empty it."
            )
        return True
    if database.exists() and not (mark.parent / f"{MARK}.begun").exists():
        raise InvalidInput(f"{database} is there and was not made by a benchmark. Name another folder.")
    for path in database.parent.glob(f"{database.name}*"):
        path.unlink()
    (mark.parent / f"{MARK}.begun").touch()
    return False


def _build(size: Size, progress: Progress) -> None:
    call_command("migrate", verbosity=0)
    with connection.cursor() as cursor:
        # It is thrown away if this fails, so nothing has to survive a loss of power.
        cursor.execute("PRAGMA synchronous = OFF")
    installation_rows.fill(size.rows, size.members, progress)
    installation_more.fill(size.members, size.documents, progress)
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        cursor.execute("PRAGMA synchronous = NORMAL")


def _freshen() -> None:
    """What a running bot keeps up to date: who can read what was seen just now."""
    # A bot that an earlier run started found itself on none of these servers.
    Guild.objects.update(snapshot_at=timezone.now(), left_at=None)
