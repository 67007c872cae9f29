"""Where an installation of the flows stores and over what it wakes its worker: SQLite and a folder, or PostgreSQL and Redis."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import sqlite3
import uuid
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

SERVER = os.environ.get("MUSEBOT_TEST_DATABASE_URL", "")
BROKER = os.environ.get("MUSEBOT_TEST_BROKER_URL", "")
_numbers = itertools.count(1)


class SqliteFile:
    """The file in the installation's folder."""

    def __init__(self, home: Path, template: SqliteFile | None) -> None:
        self.path = home / "workflows" / "musebot" / "txt2txt" / "memory.db"
        self.environment: dict[str, str] = {}
        if template is not None:
            shutil.copytree(template.path.parent, self.path.parent, dirs_exist_ok=True)

    def rows(self, query: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(f"file:{self.path}?mode=ro", uri=True, timeout=30)) as connection:
            return list(connection.execute(query, values))

    def write(self, statement: str) -> None:
        with closing(sqlite3.connect(self.path, timeout=30)) as connection, connection:
            connection.execute(statement)

    def content(self) -> bytes:
        """Nothing beyond the files, which whoever asks looks into."""
        return b""

    def close(self) -> None: ...


class PostgresDatabase:
    """A database of its own on the server of the tests, and one of the databases of their Redis."""

    def __init__(self, home: Path, template: PostgresDatabase | None) -> None:
        self.name = f"flow_{uuid.uuid4().hex[:16]}"
        like = f" TEMPLATE {template.name}" if template is not None else ""
        self._administer(f"CREATE DATABASE {self.name}{like}")
        parts = urlsplit(SERVER)
        self.url = urlunsplit(parts._replace(path=f"/{self.name}", netloc=parts.netloc or "@"))
        self.environment = {"DATABASE_URL": self.url}
        if BROKER:
            self.environment["CELERY_BROKER_URL"] = _own_redis()

    def rows(self, query: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        with _connect(self.url) as connection:
            return list(connection.execute(query.replace("%", "%%").replace("?", "%s"), values))

    def write(self, statement: str) -> None:
        with _connect(self.url) as connection:
            connection.execute(statement)

    def content(self) -> bytes:
        """Every row of every table, as text."""
        with _connect(self.url) as connection:
            tables = connection.execute(
                "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
            ).fetchall()
            rows = [connection.execute(f'SELECT t::text FROM "{name}" AS t').fetchall() for (name,) in tables]
        return "\n".join(row[0] for table in rows for row in table).encode()

    def close(self) -> None:
        self._administer(f"DROP DATABASE IF EXISTS {self.name} WITH (FORCE)")

    @staticmethod
    def _administer(statement: str) -> None:
        with _connect(SERVER) as connection:
            connection.execute(statement)


Storage = SqliteFile | PostgresDatabase


def make(home: Path, template: Any = None) -> Storage:
    return PostgresDatabase(home, template) if SERVER else SqliteFile(home, template)


def _connect(url: str) -> Any:
    import psycopg

    return psycopg.connect(url, autocommit=True)


def _own_redis() -> str:
    """One of the server's databases that no other installation of this run uses, emptied."""
    import redis

    worker = int(re.sub(r"\D", "", os.environ.get("PYTEST_XDIST_WORKER", "")) or 0)
    url = f"{BROKER.rpartition('/')[0]}/{1 + worker * 200 + next(_numbers) % 200}"
    with redis.Redis.from_url(url) as connection:
        connection.flushdb()
    return url
