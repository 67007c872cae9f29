"""The SQLite that Musebot needs, and how each connection to it is prepared.

Recall needs loadable extensions (sqlite-vec) and erasure needs FTS5's ``secure-delete`` (SQLite 3.42). The ``sqlite3`` of many
Pythons has neither; ``pysqlite3`` brings both and takes its name, before Django imports its backend.
"""

from __future__ import annotations

import sys
from typing import Any

OLDEST_SQLITE = (3, 42, 0)
PAGE_SIZE = 16384
BUSY_TIMEOUT_SECONDS = 30
MAPPED_BYTES = 16 << 30
"""Of the file, at most: what is mapped is read without a copy, and shared by all processes. Some four million memories."""


def use_capable_sqlite() -> str:
    """Makes ``import sqlite3`` give a capable SQLite; returns the name of the module that serves.

    Idempotent. Called where the settings are read, which every entry point does before a connection is opened.
    """
    import sqlite3

    if _capable(sqlite3):
        return sqlite3.__name__
    try:
        import pysqlite3
    except ImportError as error:
        raise RuntimeError(
            "This Python's sqlite3 cannot load extensions or is older than 3.42, and pysqlite3 is not installed. "
            "Run `make install`."
        ) from error
    sys.modules["sqlite3"] = pysqlite3
    sys.modules["sqlite3.dbapi2"] = pysqlite3.dbapi2
    return str(pysqlite3.__name__)


def _capable(module: Any) -> bool:
    return module.sqlite_version_info >= OLDEST_SQLITE and hasattr(module.Connection, "enable_load_extension")


def database_options() -> dict[str, Any]:
    """``OPTIONS`` for Django's SQLite backend.

    ``page_size`` has to come before the first table, and ``secure_delete`` before the first row: what is erased is then
    overwritten where it stood, without a VACUUM.
    """
    return {
        "timeout": BUSY_TIMEOUT_SECONDS,
        "transaction_mode": "IMMEDIATE",
        "init_command": (
            f"PRAGMA page_size = {PAGE_SIZE};"
            "PRAGMA journal_mode = WAL;"
            "PRAGMA synchronous = NORMAL;"
            "PRAGMA secure_delete = ON;"
            "PRAGMA temp_store = MEMORY;"
            f"PRAGMA mmap_size = {MAPPED_BYTES};"
            "PRAGMA cache_size = -16384"
        ),
    }


def prepare_connection(sender: Any, connection: Any, **kwargs: Any) -> None:
    """Loads sqlite-vec and the functions of the full-text view (receiver of ``connection_created``)."""
    if connection.vendor != "sqlite":
        return
    import sqlite_vec

    from memory.index.terms import body_terms, who_terms

    raw = connection.connection
    raw.enable_load_extension(True)
    sqlite_vec.load(raw)
    raw.enable_load_extension(False)
    raw.create_function("musebot_body_terms", 2, body_terms, deterministic=True)
    raw.create_function("musebot_who_terms", 2, who_terms, deterministic=True)
