"""A whole installation from one storage into another, verified by counts and hashes. The source is only read."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from django.db import connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import DEFAULT_DB_ALIAS
from django.utils import timezone

from memory.conf import get_config
from memory.errors import Conflict
from memory.index import databases
from memory.storage import indexes, rows
from memory.storage.target import ALIAS, complete, make_ready, models_of_all, opened, serving

RECEIPTS = "storage_moves.jsonl"
ERASURES = "erasures.jsonl"

Progress = Callable[[str, int, int], None]
"""Called with the name of a table, rows done, and rows in all (0 where that is not known)."""


@dataclass(frozen=True, slots=True)
class Report:
    """``tables`` maps a table to its rows and the hash of its content, which both storages have alike."""

    source: str
    target: str
    tables: dict[str, dict[str, Any]] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return {"from": self.source, "to": self.target, "tables": self.tables}


def move(url: str, *, replace: bool = False, progress: Progress = lambda *_: None) -> Report:
    """Copies everything into the storage of that URL and compares.

    Raises ``ConfigurationError`` or ``InvalidInput`` for a target that cannot be used, ``Conflict`` for one that is not empty or has
    become different from the source. Broken off, it leaves a target that the next move begins anew; the source stays as it is.
    """
    with opened(url) as target:
        source = connections[DEFAULT_DB_ALIAS]
        report = Report(databases.shown(source.settings_dict), databases.shown(target.settings_dict))
        make_ready(target, replace=replace)
        with _unchanging(source):
            sums = _copy_rows(target, progress)
            sums |= _copy_vectors(target, progress)
        progress("full text", 0, 0)
        with serving(target):
            indexes.rebuild_words()
        complete(target)
        _compare(target, sums, report, progress)
        _note(report, target)
    return report


@contextmanager
def _unchanging(source: BaseDatabaseWrapper) -> Iterator[None]:
    """One moment of the source: on SQLite by keeping writers out, on PostgreSQL by a snapshot."""
    with transaction.atomic(using=DEFAULT_DB_ALIAS):
        if source.vendor == "postgresql":
            with source.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield


def _copy_rows(target: BaseDatabaseWrapper, progress: Progress) -> dict[str, rows.Sum]:
    sums: dict[str, rows.Sum] = {}
    for model in models_of_all():
        name = model._meta.db_table
        total = model._base_manager.using(DEFAULT_DB_ALIAS).count()
        found = sums[name] = rows.Sum()
        batch: list[tuple[Any, ...]] = []
        for row in rows.read(model, DEFAULT_DB_ALIAS):
            found.add(*row)
            batch.append(row)
            if len(batch) == rows.BATCH:
                _write(model, batch, target)
                batch = []
                progress(name, found.rows, total)
        if batch:
            _write(model, batch, target)
        progress(name, found.rows, total)
    return sums


def _write(model: Any, batch: list[tuple[Any, ...]], target: BaseDatabaseWrapper) -> None:
    with transaction.atomic(using=ALIAS):
        rows.write(model, batch, target)


def _copy_vectors(target: BaseDatabaseWrapper, progress: Progress) -> dict[str, rows.Sum]:
    sums: dict[str, rows.Sum] = {}
    for vectors in indexes.all_vectors():
        name = vectors.name
        sums[name] = indexes.copy(vectors, target, partial(_say, progress, name))
    return sums


def _say(progress: Progress, name: str, done: int) -> None:
    progress(name, done, 0)


def _compare(
    target: BaseDatabaseWrapper, sums: dict[str, rows.Sum], report: Report, progress: Progress
) -> None:
    different = []
    there = {model._meta.db_table: rows.sum_of(model, ALIAS) for model in models_of_all()}
    with serving(target):
        there |= {vectors.name: indexes.sum_of(vectors) for vectors in indexes.all_vectors()}
    for name, expected in sums.items():
        found = there.get(name, rows.Sum())
        progress(f"verified {name}", found.rows, expected.rows)
        report.tables[name] = {"rows": found.rows, "sha256": found.digest}
        if (found.rows, found.digest) != (expected.rows, expected.digest):
            different.append(f"{name} ({found.rows} of {expected.rows} rows)")
    if different:
        raise Conflict(f"The target is not the same as the source: {', '.join(different)}. Do not use it.")


def _note(report: Report, target: BaseDatabaseWrapper) -> None:
    """The receipt of the move; and the receipts of erasures go along where the target has a folder of its own."""
    home = get_config().database_path.parent
    with (home / RECEIPTS).open("a", encoding="utf-8") as file:
        file.write(json.dumps({"at": timezone.now().isoformat(), **report.as_json()}, sort_keys=True) + "\n")
    if target.vendor == "sqlite":
        beside = Path(str(target.settings_dict["NAME"])).with_name(ERASURES)
        if (home / ERASURES).exists() and not beside.exists():
            shutil.copyfile(home / ERASURES, beside)
