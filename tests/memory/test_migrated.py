"""Whether the tables are of this version is known without reading the migrations, and right."""

from __future__ import annotations

import pytest
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from memory.management import migrated
from memory.management.migrated import missing_steps

pytestmark = pytest.mark.django_db


def test_where_nothing_is_missing_no_migration_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrated, "MigrationExecutor", None)
    assert missing_steps() == 0


def test_what_is_missing_is_counted() -> None:
    recorder = MigrationRecorder(connection)
    last = max(name for app, name in recorder.applied_migrations() if app == "memory")
    recorder.record_unapplied("memory", last)
    assert missing_steps() == 1


def test_a_name_that_stands_for_others_which_were_applied_is_no_step(monkeypatch: pytest.MonkeyPatch) -> None:
    written = migrated._written()
    monkeypatch.setattr(migrated, "_written", lambda: written | {("memory", "0001_squashed")})
    assert missing_steps() == 0
