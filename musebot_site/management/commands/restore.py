"""Brings a backup back, and with it every erasure since."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from musebot_site.backups import BackupError, bring_up_to_date, restore


class Command(BaseCommand):
    help = "Puts a backup in the place of this installation's data, then erases again what was erased since it was made."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("source", help="the file that `backup` wrote")
        parser.add_argument("--replace", action="store_true", help="replaces the database that is here")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            done = restore(Path(options["source"]), replace=options["replace"], say=self.stdout.write)
            self.stdout.write("Bringing it up to date, with every erasure since …")
            bring_up_to_date(self.stdout.write)
        except BackupError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"Restored {done.files} files of {done.created_at}.")
