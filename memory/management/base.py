"""What the commands that people call have in common."""

from __future__ import annotations

from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand

from memory.checks import OURS
from memory.management.migrated import missing_steps


class QuickCommand(BaseCommand):
    """A command that begins at once: of the system checks it asks for those of the configuration (``manage.py check`` has all)."""

    requires_system_checks = [OURS]


class MemoryCommand(QuickCommand):
    """A command that works on a fresh installation as well: tables that are missing are made first."""

    def execute(self, *args: Any, **options: Any) -> str | None:
        if missing_steps():
            call_command("migrate", interactive=False, verbosity=0)
        return super().execute(*args, **options)
