"""A sample community to look at."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from memory import demo
from memory.errors import MusebotError
from memory.management.base import MemoryCommand


class Command(MemoryCommand):
    help = "Fills the dashboard with a community of invented people; --remove takes all of it away."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--remove", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            counts = demo.remove() if options["remove"] else demo.load()
        except MusebotError as error:
            raise CommandError(error.message) from error
        if not options["remove"]:
            self.stdout.write(f"The sample community is there (server {demo.GUILD_ID}):")
        elif any(counts.values()):
            self.stdout.write("The sample community was removed:")
        else:
            self.stdout.write("There is no sample community.")
            return
        for name, count in counts.items():
            self.stdout.write(f"  {count} {name}")
        if not options["remove"] and (question := demo.questions()):
            self.stdout.write("Try it:")
            self.stdout.write(f'  python manage.py ask "{question[0].text}" --guild {demo.GUILD_ID}')
