"""``migrate_storage``: an installation from SQLite to PostgreSQL and back."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import CommandError, CommandParser

from memory.errors import MusebotError
from memory.management.base import QuickCommand
from memory.storage import move


class Command(QuickCommand):
    help = "Copies everything into another storage and verifies it by counts and hashes. Stop Musebot first; the source is only read."
    requires_migrations_checks = True

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--to",
            required=True,
            metavar="URL",
            help="postgres://user:password@host:5432/name, or sqlite:///path (four slashes for an absolute one)",
        )
        parser.add_argument("--replace", action="store_true", help="remove what the target holds")
        parser.add_argument("--json", action="store_true", help="print the report as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        quiet = options["json"] or not options["verbosity"]
        try:
            report = move(
                options["to"],
                replace=options["replace"],
                progress=self._say if not quiet else lambda *_: None,
            )
        except MusebotError as error:
            raise CommandError(error.message) from error
        if options["json"]:
            self.stdout.write(json.dumps(report.as_json(), indent=2))
            return
        rows = sum(table["rows"] for table in report.tables.values())
        self.stdout.write(
            self.style.SUCCESS(
                f"{rows:,} rows of {len(report.tables)} tables are in {report.target}, the same as here."
            )
        )
        if options["to"].startswith("sqlite"):
            self.stdout.write(
                "Put the file where MUSEBOT_HOME has its database, and start Musebot without DATABASE_URL."
            )
        else:
            self.stdout.write(
                "Start Musebot with DATABASE_URL set to that address. MUSEBOT_HOME stays: it holds keys, uploads and receipts."
            )

    def _say(self, name: str, done: int, total: int) -> None:
        self.stdout.write(f"{name}: {done:,}" + (f" of {total:,}" if total else ""))
