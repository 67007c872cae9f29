"""``benchmark NAME``: a measurement with its comparison in the same run, in a database of its own."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.apps import apps
from django.core.management.base import CommandError

from memory.errors import MusebotError
from memory.management.base import QuickCommand

KNOWN = ("recall", "capture", "backfill", "erase", "pages", "ingest", "turn", "startup", "idle")


def modules() -> dict[str, str]:
    """The measurements that are there, with the module of each: ``benchmarks.NAME`` of any installed application.

    It has ``run(*, rows=…)``, which returns what can be written as JSON and may take ``progress``, a function for a line of text, and
    ``keep``, a folder to leave what it measures in for the next run; ``lines(result)``, where there is one, makes lines for people of it.
    """
    packages = [config.name for config in apps.get_app_configs() if _has(f"{config.name}.benchmarks")]
    return {
        name: f"{package}.benchmarks.{name}"
        for name in KNOWN
        for package in packages
        if _has(f"{package}.benchmarks.{name}")
    }


def _has(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


class Command(QuickCommand):
    help = "Measures a part of the product against a simpler way of doing it. Your data is not touched."
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", choices=sorted(modules()), help="what to measure")
        parser.add_argument("--rows", type=int, help="how many rows (memories) to measure with")
        parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
        parser.add_argument(
            "--keep", type=Path, metavar="DIR", help="leave what is measured in this folder, for the next run"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        benchmark = importlib.import_module(modules()[options["name"]])
        takes = inspect.signature(benchmark.run).parameters
        given: dict[str, Any] = {}
        if options["rows"] is not None:
            if options["rows"] < 1:
                raise CommandError("--rows has to be at least 1.")
            given["rows"] = options["rows"]
        if options["keep"] is not None:
            if "keep" not in takes:
                raise CommandError(f"benchmark {options['name']} keeps nothing; leave --keep out.")
            given["keep"] = options["keep"].resolve()
        if "progress" in takes:
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
