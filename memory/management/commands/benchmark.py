"""``benchmark NAME``: a measurement with its comparison in the same run, in a database of its own."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from memory.errors import MusebotError

KNOWN = ("recall", "capture", "backfill", "erase", "pages", "ingest", "turn", "startup", "idle")


def names() -> list[str]:
    """The measurements that are there. Each is a module ``memory.benchmarks.NAME``.

    It has ``run(*, rows=…)``, which returns what can be written as JSON and may take ``progress``, a function for a line of text;
    ``lines(result)``, where there is one, makes lines for people of it.
    """
    return [name for name in KNOWN if importlib.util.find_spec(f"memory.benchmarks.{name}")]


class Command(BaseCommand):
    help = "Measures a part of the product against a simpler way of doing it. Your data is not touched."
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", choices=names(), help="what to measure")
        parser.add_argument("--rows", type=int, help="how many rows (memories) to measure with")
        parser.add_argument("--json", action="store_true", help="print JSON instead of a table")

    def handle(self, *args: Any, **options: Any) -> None:
        benchmark = importlib.import_module(f"memory.benchmarks.{options['name']}")
        given: dict[str, Any] = {}
        if options["rows"] is not None:
            if options["rows"] < 1:
                raise CommandError("--rows has to be at least 1.")
            given["rows"] = options["rows"]
        if "progress" in inspect.signature(benchmark.run).parameters:
            given["progress"] = self._progress
        try:
            result = benchmark.run(**given)
        except MusebotError as error:
            raise CommandError(error.message) from error
        if options["json"] or not hasattr(benchmark, "lines"):
            self.stdout.write(json.dumps(result, indent=2))
        else:
            self.stdout.write("\n".join(benchmark.lines(result)))

    def _progress(self, message: str) -> None:
        self.stderr.write(message, style_func=lambda text: text)
