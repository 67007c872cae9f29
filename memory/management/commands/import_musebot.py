"""Brings an existing Musebot database in."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from memory.capture.importing.musebot import import_musebot
from memory.capture.importing.musebot_report import REASONS, MusebotReport
from memory.errors import MusebotError
from memory.management import inline
from memory.management.base import MemoryCommand

EVERY_SECONDS = 1.0
WHY_NOT = {
    "withdrew": "withdrew here since",
    "paused": "have paused here",
    "erasing": "are being erased here",
}


class Command(MemoryCommand):
    help = (
        "Imports the memory of an existing Musebot (workflows/BOT/txt2txt/memory.db, with the -wal beside it): consents, "
        "and the messages of those who gave one. The file is not changed. Importing it twice stores nothing twice."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="PATH")
        parser.add_argument(
            "--dry-run", action="store_true", help="Only say what would come in, and what would not."
        )
        parser.add_argument("--json", action="store_true", help="The figures as JSON.")
        parser.add_argument("--embed", action="store_true", help="Embed here, even if a worker is running.")

    def handle(self, *args: Any, **options: Any) -> None:
        self._said = time.monotonic()
        try:
            report = import_musebot(options["file"], dry_run=options["dry_run"], progress=self._progress)
        except MusebotError as error:
            raise CommandError(error.message) from error
        if options["json"]:
            self.stdout.write(json.dumps(as_json(report, dry_run=options["dry_run"]), indent=2))
        else:
            self._show(report, dry_run=options["dry_run"])
        if not options["dry_run"]:
            self._embed(options["embed"], quiet=options["json"])

    def _progress(self, report: MusebotReport) -> None:
        if time.monotonic() - self._said >= EVERY_SECONDS:
            self._said = time.monotonic()
            self.stderr.write(f"{report.read:,} of {report.total:,} read, {report.stored:,} stored …")

    def _show(self, report: MusebotReport, *, dry_run: bool) -> None:
        out = self.stdout.write
        would = "would be " if dry_run else ""
        out(
            f"{report.read:,} messages read, {report.stored:,} {would}stored: {report.messages:,} of members, "
            f"{report.replies:,} replies of the bot ({report.private:,} from private conversations), "
            f"from {len(report.servers)} servers, with {report.interpretations:,} descriptions of images and pages."
        )
        out(
            f"{report.consents:,} consents {would}carried over; {report.known_consents:,} had opted in here already."
        )
        for why, count in report.refused_consents.most_common():
            out(f"{count:,} people stay out: they {WHY_NOT[why]}.")
        if report.incomplete:
            out(
                f"{report.incomplete:,} of them: the old bot had not read their history to its end; /memory remember does."
            )
        for why, count in report.left_out.most_common():
            out(f"{count:,} {would or 'were '}put aside: {REASONS.get(why, why)}.")
        for line in report.unreadable:
            self.stderr.write(f"  {line}")

    def _embed(self, here: bool, *, quiet: bool) -> None:
        if (here or not inline.worker_is_alive()) and (waiting := inline.waiting()):
            self.stderr.write(f"Embedding {waiting:,} messages …")
            inline.embed_waiting(lambda left: self.stderr.write(f"{left:,} left to embed …"))
        left = inline.waiting()
        if left and not quiet:
            self.stdout.write(f"{left:,} messages wait to be embedded; until then words alone find them.")


def as_json(report: MusebotReport, *, dry_run: bool) -> dict[str, Any]:
    return {
        "dry_run": dry_run,
        "read": report.read,
        "stored": report.stored,
        "messages": report.messages,
        "replies": report.replies,
        "private": report.private,
        "servers": len(report.servers),
        "interpretations": report.interpretations,
        "consents": {
            "carried_over": report.consents,
            "known": report.known_consents,
            "refused": dict(report.refused_consents),
            "history_incomplete": report.incomplete,
        },
        "put_aside": {
            why: {"messages": n, "because": REASONS.get(why, why)} for why, n in report.left_out.most_common()
        },
        "unreadable": report.unreadable,
    }
