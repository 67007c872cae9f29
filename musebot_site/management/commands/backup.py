"""A copy of the installation while it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from musebot_site.backups import BackupError, back_up


class Command(BaseCommand):
    help = "Writes a backup (a tar file) while Musebot runs: database, documents, receipts of erasures, keys."
    # A copy is wanted most when something is wrong.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("target", nargs="?", default=".", help="a folder, or the file to write")
        parser.add_argument(
            "--without-secrets",
            action="store_true",
            help="leaves the keys out; keep secrets/ elsewhere, or erasures cannot be replayed",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            path = back_up(
                Path(options["target"]), with_secrets=not options["without_secrets"], say=self.stdout.write
            )
        except BackupError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{path} ({path.stat().st_size / 1e6:,.1f} MB)")
