"""A database to measure in, that is thrown away after."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from django.core.management import call_command
from django.db import connection


@contextmanager
def scratch_database() -> Iterator[Path]:
    """Points the process at a new, migrated database while the block runs; wakes no worker."""
    folder = Path(tempfile.mkdtemp(prefix="musebot-benchmark-"))
    path = folder / "memory.db"
    before = connection.settings_dict["NAME"]
    connection.close()
    connection.settings_dict["NAME"] = str(path)
    try:
        with mock.patch("memory.outbox._send"):
            call_command("migrate", verbosity=0)
            yield path
    finally:
        connection.close()
        connection.settings_dict["NAME"] = before
        shutil.rmtree(folder, ignore_errors=True)
