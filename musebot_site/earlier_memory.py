"""A database of the original Musebot where ours belongs: recognised before anything opens it, set aside untouched, and offered.

It lies in the very place that our own database has (``workflows/BOT/txt2txt/memory.db``). Migrating it would mix the two.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
import tempfile
from pathlib import Path

from memory.errors import ConfigurationError

ASIDE = "memory.musebot"
OURS, THEIRS = "django_migrations", "LlmChatMessage"
BESIDE = ("-wal", "-shm", "-journal")


def set_aside(database: Path) -> Path | None:
    """Moves a Musebot database, with what lies beside it, out of the way; returns where to, None if there is none.

    The log goes first: if it stayed when the database was gone, it would be read into the new one. A move that was interrupted
    is completed. Raises ``ConfigurationError`` if the file cannot be moved.
    """
    if not database.is_file():
        return None
    begun = next((path for path in _places(database) if _is_begun(path)), None)
    if begun is None and not is_musebot(database):
        return None
    if begun is not None and OURS in _tables(database):
        return None
    target = begun or next(path for path in _places(database) if not path.exists())
    try:
        for suffix in (*BESIDE, ""):
            source = database.with_name(database.name + suffix)
            if source.exists():
                os.replace(source, target.with_name(target.name + suffix))
    except OSError as error:
        raise ConfigurationError(
            f"{database} is the memory of another Musebot, and it cannot be moved ({error.strerror}). Stop the bot that uses it."
        ) from error
    print(message(target), file=sys.stderr)
    return target


def message(path: Path) -> str:
    return (
        f"A memory of Musebot was found and set aside, unchanged, as {path}. "
        f"To take it over: python manage.py import_musebot {path} --dry-run"
    )


def found(database: Path) -> list[Path]:
    """What was set aside beside our database."""
    return [path for path in sorted(database.parent.glob(f"{ASIDE}*.db")) if path.is_file()]


def is_musebot(database: Path) -> bool:
    """Whether a file is a database of the original, and nothing of ours is in it. Nothing is written, not even a lock."""
    tables = _tables(database)
    log = database.with_name(database.name + "-wal")
    if tables & {OURS, THEIRS} or not log.is_file() or not log.stat().st_size:
        return THEIRS in tables and OURS not in tables
    # All that is there may stand in the log still.
    with tempfile.TemporaryDirectory(dir=database.parent) as folder:
        copy = Path(folder) / "copy.db"
        for suffix in ("", "-wal"):
            shutil.copyfile(database.with_name(database.name + suffix), copy.with_name(copy.name + suffix))
        tables = _tables(copy, options="mode=rw")
    return THEIRS in tables and OURS not in tables


def _tables(database: Path, *, options: str = "mode=ro&immutable=1") -> set[str]:
    try:
        connection = sqlite3.connect(f"{database.resolve().as_uri()}?{options}", uri=True)
    except sqlite3.Error:
        return set()
    try:
        return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    except sqlite3.Error:
        return set()
    finally:
        connection.close()


def _places(database: Path) -> list[Path]:
    names = [ASIDE, *(f"{ASIDE}-{number}" for number in range(2, 100))]
    return [database.with_name(f"{name}.db") for name in names]


def _is_begun(path: Path) -> bool:
    return not path.exists() and any(path.with_name(path.name + suffix).exists() for suffix in BESIDE)
