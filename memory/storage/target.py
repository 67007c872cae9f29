"""The storage that is moved to: opened beside the one that serves, checked, emptied, made ready."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.apps import apps
from django.core.management import call_command
from django.db import DatabaseError, connections, models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import DEFAULT_DB_ALIAS

from memory.errors import Conflict, InvalidInput
from memory.index import databases

ALIAS = "storage_target"
UNFINISHED = "musebot_unfinished_move"
"""A table that is there while a move is under way. It holds the foreign keys that are put back at the end."""


@contextmanager
def opened(url: str) -> Iterator[BaseDatabaseWrapper]:
    """The target as one more connection of this process. Raises ``ConfigurationError`` for a URL that cannot be used."""
    settings = databases.from_url(url)
    current = connections[DEFAULT_DB_ALIAS].settings_dict
    if all(
        str(settings.get(key, "")) == str(current.get(key, "")) for key in ("ENGINE", "NAME", "HOST", "PORT")
    ):
        raise InvalidInput("This is the storage that serves now; name another one.")
    complete = connections.configure_settings({DEFAULT_DB_ALIAS: {}, ALIAS: settings})
    connections.settings[ALIAS] = complete[ALIAS]
    if connections[ALIAS].vendor == "sqlite":
        Path(str(settings["NAME"])).parent.mkdir(parents=True, exist_ok=True)
    try:
        yield connections[ALIAS]
    finally:
        connections[ALIAS].close()
        del connections[ALIAS]
        del connections.settings[ALIAS]


@contextmanager
def serving(target: BaseDatabaseWrapper) -> Iterator[None]:
    """While the block runs, everything in this thread that uses the default connection uses the target."""
    before = connections[DEFAULT_DB_ALIAS]
    connections[DEFAULT_DB_ALIAS] = target
    try:
        yield
    finally:
        connections[DEFAULT_DB_ALIAS] = before


def models_of_all() -> list[type[models.Model]]:
    """Every model that has a table of its own, those between two others included."""
    found = apps.get_models(include_auto_created=True)
    return [one for one in found if one._meta.managed and not one._meta.proxy]


def make_ready(target: BaseDatabaseWrapper, *, replace: bool) -> None:
    """An empty target with all tables and without foreign keys. Raises ``Conflict`` for one that holds anything, unless ``replace``.

    What a move that was broken off has left is replaced in any case.
    """
    try:
        tables = set(target.introspection.table_names())
    except DatabaseError as error:
        raise InvalidInput(f"The target cannot be reached: {str(error).splitlines()[0]}") from error
    if tables and UNFINISHED not in tables:
        if not replace:
            raise Conflict(
                "The target is not empty. Name another one, or add --replace to remove everything in it."
            )
        if "memory_message" not in tables:
            raise Conflict(
                "The target holds tables that are not Musebot's; they are not removed. Name another one."
            )
    if tables:
        _remove_everything(target)
    with target.cursor() as cursor:
        cursor.execute(f"CREATE TABLE {UNFINISHED} (statement text)")
    # A migration that does not say where it reads and writes must not do so in the source.
    with serving(target):
        call_command("migrate", database=ALIAS, verbosity=0, interactive=False)
    _take_foreign_keys_off(target)
    # What the migrations put there comes from the source as well.
    with target.cursor() as cursor:
        for model in models_of_all():
            cursor.execute(f"DELETE FROM {target.ops.quote_name(model._meta.db_table)}")


def complete(target: BaseDatabaseWrapper) -> None:
    """Foreign keys and running numbers, after which the target can serve. Raises ``IntegrityError`` where a row lacks its other end."""
    with target.cursor() as cursor:
        if target.vendor == "postgresql":
            cursor.execute(f"SELECT statement FROM {UNFINISHED}")
            for (statement,) in cursor.fetchall():
                cursor.execute(statement)
            from django.core.management.color import no_style

            for statement in target.ops.sequence_reset_sql(no_style(), models_of_all()):
                cursor.execute(statement)
            cursor.execute("ANALYZE")
        else:
            target.check_constraints()
            target.enable_constraint_checking()
        cursor.execute(f"DROP TABLE {UNFINISHED}")


def _take_foreign_keys_off(target: BaseDatabaseWrapper) -> None:
    """Rows then come table by table, whatever they refer to, and quickly."""
    if target.vendor == "sqlite":
        target.disable_constraint_checking()
        return
    with target.cursor() as cursor:
        cursor.execute(
            "SELECT conrelid::regclass::text, quote_ident(conname), pg_get_constraintdef(oid) FROM pg_constraint "
            "WHERE contype = 'f' AND connamespace = current_schema()::regnamespace AND conparentid = 0"
        )
        for table, name, definition in cursor.fetchall():
            cursor.execute(
                f"INSERT INTO {UNFINISHED} VALUES (%s)",
                [f"ALTER TABLE {table} ADD CONSTRAINT {name} {definition}"],
            )
            cursor.execute(f"ALTER TABLE {table} DROP CONSTRAINT {name}")


def _remove_everything(target: BaseDatabaseWrapper) -> None:
    if target.vendor == "sqlite":
        path = Path(str(target.settings_dict["NAME"]))
        target.close()
        for suffix in ("-wal", "-shm", "-journal", ""):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        return
    with target.cursor() as cursor:
        for name in target.introspection.table_names(cursor):
            cursor.execute(f"DROP TABLE IF EXISTS {target.ops.quote_name(name)} CASCADE")


def settings_of(target: BaseDatabaseWrapper) -> dict[str, Any]:
    return dict(target.settings_dict)
