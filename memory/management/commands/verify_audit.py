"""Computes the chain of the audit anew."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from memory import audit
from memory.management.base import MemoryCommand
from memory.models import AuditEntry


class Command(MemoryCommand):
    help = "Checks that no entry of the audit was changed, removed or put in. Ends with an error and the first wrong entry otherwise."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--holds",
            metavar="HASH",
            default="",
            help="A hash that was noted earlier; an error if no entry has it, as after an older backup was put back.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        found = audit.verify()
        if not found.whole:
            raise CommandError(f"The audit is broken at entry {found.broken_at:,}. {found.reason}")
        noted = options["holds"].strip().lower()
        if noted and not AuditEntry.objects.filter(hash=noted).exists():
            raise CommandError("No entry has this hash: what was recorded up to it is not here any more.")
        if not found.entries:
            self.stdout.write("The audit is empty.")
            return
        self.stdout.write(
            f"The audit is whole: {found.entries:,} entries. Hash of the last: {found.last_hash}"
        )
