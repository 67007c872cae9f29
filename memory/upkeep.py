"""The scan for orphans over all stores: what the indexes and folders hold without a row, and rows that lack what they should have.

The database is the truth. A look changes nothing and says what does not fit; mending makes it fit.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from django.db import transaction

from memory import outbox
from memory.embedding.gaps import missing_vectors
from memory.erasure import orphans
from memory.index import archival
from memory.models import InstallationState, OutboxEntry
from memory.rag import orphans as documents

logger = logging.getLogger(__name__)

SCAN = "scan_indexes"
"""Kind of work; its subject says what is to be done."""
LOOK, MEND = 1, 2
STATE = "indexes_scan"

Stage = Literal["waiting", "done", "failed"]


@dataclass(frozen=True, slots=True)
class Scanned:
    """The last scan, or the one that is waited for."""

    stage: Stage
    mended: bool
    found: dict[str, int] = field(default_factory=dict)
    """What did not fit, by kind; kinds without any are not in it."""
    seconds: float = 0.0
    at: datetime | None = None
    error: str = ""

    @property
    def total(self) -> int:
        return sum(self.found.values())


def begin(*, mend: bool) -> None:
    """Queues a scan for the worker."""
    with transaction.atomic():
        outbox.enqueue(SCAN, [MEND if mend else LOOK])


def last() -> Scanned | None:
    """None where no scan was ever asked for."""
    entry = OutboxEntry.objects.filter(kind=SCAN).order_by("-id").first()
    row = InstallationState.objects.filter(name=STATE).first()
    if entry is not None:
        failed = entry.state == OutboxEntry.State.FAILED
        return Scanned(
            "failed" if failed else "waiting", entry.subject == MEND, at=entry.created_at, error=entry.error
        )
    if row is None:
        return None
    value = row.value
    return Scanned("done", bool(value["mended"]), dict(value["found"]), float(value["seconds"]), row.at)


def scan(*, mend: bool) -> dict[str, int]:
    """What does not fit together, by kind; with ``mend`` it does afterwards."""
    words, vectors = archival.strays()
    found = {
        "vectors_without_a_message": orphans.vectors(remove=False),
        "words_without_a_message": orphans.words(),
        "messages_without_a_vector": missing_vectors(mend=mend),
        "archive_entries_of_nobody": words + vectors,
    }
    if mend and orphans.repair():
        logger.warning("entries of the indexes without a message were removed")
    found |= {f"documents_{name}": count for name, count in documents.scan(mend=mend).items()}
    return {name: count for name, count in found.items() if count}


def scan_entries(entries: Sequence[OutboxEntry]) -> None:
    """Handler of ``scan_indexes``."""
    for entry in entries:
        began, mend = time.monotonic(), entry.subject == MEND
        found = scan(mend=mend)
        value = {"found": found, "mended": mend, "seconds": round(time.monotonic() - began, 1)}
        with transaction.atomic():
            InstallationState.objects.update_or_create(name=STATE, defaults={"value": value})
            outbox.finish([entry])
