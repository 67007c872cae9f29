"""Makes a key of the API."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from memory import audit
from memory.access import SCOPES, make_key
from memory.errors import MusebotError
from memory.management.base import MemoryCommand


class Command(MemoryCommand):
    help = "Makes a key for the API and prints it, this once. Without --scope it may do everything."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="What it is for, to tell keys apart.")
        parser.add_argument(
            "--scope",
            action="append",
            choices=list(SCOPES),
            help="What it may do; more than once for several. "
            + "; ".join(f"{k}: {v}" for k, v in SCOPES.items()),
        )

        parser.add_argument(
            "--guild",
            action="append",
            type=int,
            metavar="ID",
            help="A server that it is limited to; more than once for several. Not with the scope admin.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            row, key = make_key(
                name=options["name"], scopes=options["scope"] or ["admin"], guild_ids=options["guild"]
            )
            audit.record(actor=audit.COMMAND, action="key.made", kind="key", object_id=str(row.id))
        except MusebotError as error:
            raise CommandError(error.message) from error
        # The key alone on standard output, so that a script can take it from there.
        self.stdout.write(key)
        self.stderr.write(f"Key {row.id} ({row.name}), may: {', '.join(row.scopes)}. It is not shown again.")
