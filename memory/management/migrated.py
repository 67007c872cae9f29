"""Whether the tables are those of this version, without loading every migration to find that out."""

from __future__ import annotations

import pkgutil
from importlib.util import find_spec

from django.apps import apps
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder


def missing_steps() -> int:
    """How many migrations are still to be applied.

    Names of files are compared with the names that the database has noted. Only where one is missing Django reads them all and says
    what that means: of a squashed migration the parts may be noted in its place.
    """
    applied = MigrationRecorder(connection).applied_migrations()
    if _written() <= applied.keys():
        return 0
    executor = MigrationExecutor(connection)
    return len(executor.migration_plan(executor.loader.graph.leaf_nodes()))


def _written() -> set[tuple[str, str]]:
    """The application and the name of each migration that stands in a file."""
    found: set[tuple[str, str]] = set()
    for config in apps.get_app_configs():
        name, _ = MigrationLoader.migrations_module(config.label)
        spec = find_spec(name) if name else None
        for module in pkgutil.iter_modules(spec.submodule_search_locations if spec else []):
            if not module.ispkg and module.name[0] not in "_~":
                found.add((config.label, module.name))
    return found
