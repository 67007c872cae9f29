"""Looks in every store for anything that is left of a member."""

from __future__ import annotations

import json
import sys
from typing import Any

from django.core.management.base import CommandParser

from memory import erasure
from memory.management import arguments
from memory.management.base import MemoryCommand


class Command(MemoryCommand):
    help = "Scans every store for anything left of a member, down to the bytes of the files. Exit status 1 if there is."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("user_id", type=arguments.user_id, metavar="USER_ID")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        remains = erasure.verify(options["user_id"])
        if options["json"]:
            data = {"user_id": str(options["user_id"]), "clean": not remains, "remains": remains}
            self.stdout.write(json.dumps(data, ensure_ascii=False))
        elif not remains:
            self.stdout.write(f"Nothing is left of {options['user_id']} in any store.")
        else:
            self.stdout.write(f"Left of {options['user_id']}:")
            for store, count in remains.items():
                self.stdout.write(f"  {store}: {count}")
        if remains:
            sys.exit(1)
