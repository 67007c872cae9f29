"""A PostgreSQL that cannot serve is an error that says what to do, and never shows a password."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection, connections

from memory import checks
from memory.index import databases


@pytest.fixture
def unreachable(monkeypatch: pytest.MonkeyPatch, django_db_blocker: Any) -> Any:
    from django.db.backends.base.base import BaseDatabaseWrapper
    from django.db.backends.postgresql.base import DatabaseWrapper

    settings = databases.postgres("postgres://ada:s3cret@127.0.0.1:1/musebot")
    complete = connections.configure_settings({"default": {}, "nowhere": settings})["nowhere"]
    monkeypatch.setattr(BaseDatabaseWrapper, "ensure_connection", django_db_blocker._real_ensure_connection)
    other = DatabaseWrapper(complete, "nowhere")
    monkeypatch.setattr(checks, "connection", other)
    return other


def test_a_server_that_does_not_answer_is_said_without_its_password(unreachable: Any) -> None:
    [found] = checks.check_database(databases=["default"])
    assert (
        found.id == "memory.E005"
        and "musebot on 127.0.0.1:1" in found.msg
        and "DATABASE_URL" in str(found.hint)
    )
    assert "s3cret" not in str(found)


def test_it_is_only_asked_where_databases_are_asked(unreachable: Any) -> None:
    assert checks.check_database(databases=None) == []


class _Without:
    """A server that answers and has no pgvector."""

    vendor = "postgresql"
    settings_dict = databases.postgres("postgres://db/musebot")

    def cursor(self) -> _Without:
        return self

    def __enter__(self) -> _Without:
        return self

    def __exit__(self, *error: object) -> None: ...

    def execute(self, statement: str) -> None: ...

    found: tuple[str] | None = None

    def fetchone(self) -> tuple[str] | None:
        return self.found


def test_a_server_without_pgvector_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "connection", _Without())
    [found] = checks.check_database(databases=["default"])
    assert found.id == "memory.E006" and "no pgvector" in found.msg and "0.8" in str(found.hint)


@pytest.mark.parametrize(
    ("version", "well"), [("0.7.4", False), ("0.8.0", True), ("0.10.1", True), ("1.0", True)]
)
def test_an_old_pgvector_is_said(monkeypatch: pytest.MonkeyPatch, version: str, well: bool) -> None:
    monkeypatch.setattr(_Without, "found", (version,))
    monkeypatch.setattr(checks, "connection", _Without())
    assert bool(checks.check_database(databases=["default"])) is not well


@pytest.mark.django_db
def test_the_storage_of_the_suite_is_well() -> None:
    assert connection.vendor in {"sqlite", "postgresql"}
    assert checks.check_database(databases=["default"]) == []
