"""The proof of an erasure: counts and a hash, no content and no id. Kept in the database and in a file beside it.

Single memories that were erased stand in the same file: their ids, without a request.

The file outlives a restored backup, which then still holds what was erased since: see ``memory.erasure.replay``.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from django.db import connection

from memory.conf import get_config
from memory.erasure.checkpoint import database_path
from memory.erasure.parts import Part
from memory.erasure.server import PROVEN
from memory.models import ErasureRequest

FILE_NAME = "erasures.jsonl"


def receipt(request: ErasureRequest) -> dict[str, Any]:
    """The receipt of an erasure, JSON-ready. ``digest`` is the SHA-256 of everything else in it.

    On PostgreSQL ``proven``, which the digest leaves out, says what can be shown there and what cannot.
    """
    content = {
        "id": str(request.id),
        "subject": request.subject,
        "epoch": request.epoch,
        "origin": request.origin,
        "state": request.state,
        "received_at": request.received_at.isoformat(),
        "finished_at": request.finished_at.isoformat() if request.finished_at else None,
        "counts": dict(request.counts),
        "remains": dict(request.remains),
    }
    if request.partial:
        content["part"] = Part.of(request).to_json()
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    limits = {"proven": PROVEN} if connection.vendor == "postgresql" else {}
    return {**content, **limits, "digest": hashlib.sha256(canonical.encode()).hexdigest()}


def receipts_path() -> Path | None:
    database = database_path() or get_config().database_path
    return database.with_name(FILE_NAME) if database.is_absolute() else None


def append(request: ErasureRequest) -> None:
    """Writes the receipt to the file, once. Called inside the transaction that ends the erasure, so by one process only."""
    if not any(line.get("id") == str(request.id) for line in read()):
        append_line(receipt(request))


def append_line(line: Mapping[str, Any]) -> None:
    """Writes a line to the file, and waits until the disk has it; nothing where there is no file."""
    path = receipts_path()
    if path is None:
        return
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line, sort_keys=True) + "\n")
        file.flush()
        os.fsync(file.fileno())


def read(path: Path | None = None) -> Iterator[dict[str, Any]]:
    """The lines of the file (this installation's if none is given), oldest first; one that was cut off is passed over.

    A line is a receipt, or a list of single messages (``memory.erasure.kept_out``).
    """
    path = path or receipts_path()
    if path is None or not path.exists():
        return
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            found = json.loads(line)
        except ValueError:
            continue
        if (
            isinstance(found, dict)
            and isinstance(found.get("subject"), str)
            and isinstance(found.get("epoch"), int)
        ):
            yield found
