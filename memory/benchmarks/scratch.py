"""A database to measure in, that is thrown away after."""

from __future__ import annotations

import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from django.core.management import call_command
from django.db import connection

from memory.errors import InvalidInput


@contextmanager
def scratch_database(prepared: Path | None = None) -> Iterator[Path]:
    """Points the process at a new, migrated database while the block runs; wakes no worker. On SQLite it may begin as a copy.

    Of the storage that is configured: a file, or a database on the same PostgreSQL, where its user may make one. Gives the file's
    path, in a folder that goes as well.
    """
    folder = Path(tempfile.mkdtemp(prefix="musebot-benchmark-"))
    path = folder / "memory.db"
    if prepared is not None:
        shutil.copy(prepared, path)
    try:
        with _new_database(path) as name, database_at(name), mock.patch("memory.outbox._send"):
            call_command("migrate", verbosity=0)
            yield path
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _new_database(path: Path) -> Iterator[Path]:
    if connection.vendor == "sqlite":
        yield path
        return
    name = f"musebot_scratch_{secrets.token_hex(6)}"
    _administer(f"CREATE DATABASE {name}")
    try:
        yield Path(name)
    finally:
        _administer(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


def _administer(statement: str) -> None:
    """On a connection of its own: databases are made and dropped outside of any transaction."""
    other = connection.copy()
    try:
        with other.cursor() as cursor:
            cursor.execute(statement)
    finally:
        other.close()


def require_sqlite(what: str) -> None:
    """Raises ``InvalidInput`` where what is measured is SQLite's."""
    if connection.vendor != "sqlite":
        raise InvalidInput(f"{what} is measured on SQLite. Run it without DATABASE_URL.")


@contextmanager
def database_at(path: Path) -> Iterator[None]:
    """Points the process at this database file while the block runs."""
    before = connection.settings_dict["NAME"]
    connection.close()
    connection.settings_dict["NAME"] = str(path)
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict["NAME"] = before
