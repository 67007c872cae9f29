"""Brings a chat export in."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from memory.capture.importing import REASONS, ImportReport, import_messages, open_export
from memory.errors import MusebotError
from memory.management import arguments, inline
from memory.management.base import MemoryCommand

EVERY_SECONDS = 1.0


class Command(MemoryCommand):
    help = (
        "Imports a chat export: DiscordChatExporter's JSON, or JSON lines of "
        "{id, user_id, username, text, timestamp, channel_id, is_bot, reply_to}. "
        "Importing a file twice stores nothing twice."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--guild", type=arguments.guild_id, required=True, metavar="ID", help="Server that it belongs to."
        )
        parser.add_argument(
            "--consent-all",
            action="store_true",
            help="You state that everybody in the file has opted in. Without it only members who have come in.",
        )
        parser.add_argument("--dry-run", action="store_true", help="Only say what would come in.")
        parser.add_argument("--embed", action="store_true", help="Embed here, even if a worker is running.")

    def handle(self, *args: Any, **options: Any) -> None:
        self._said = 0.0
        try:
            export = open_export(options["file"])
            if export.guild_id not in (None, options["guild"]):
                self.stderr.write(
                    f"The file is from server {export.guild_id}; its messages are stored under {options['guild']}."
                )
            report = import_messages(
                export,
                guild_id=options["guild"],
                consent_all=options["consent_all"],
                dry_run=options["dry_run"],
                progress=self._progress,
            )
        except MusebotError as error:
            raise CommandError(error.message) from error
        self._show(report, dry_run=options["dry_run"])
        if not options["dry_run"]:
            self._embed(options["embed"])
        if report.read and len(report.unreadable) and report.left_out["unreadable"] == report.read:
            sys.exit(1)

    def _progress(self, report: ImportReport) -> None:
        if time.monotonic() - self._said >= EVERY_SECONDS:
            self._said = time.monotonic()
            self.stderr.write(f"{report.read} read, {report.stored} stored …")

    def _show(self, report: ImportReport, *, dry_run: bool) -> None:
        out = self.stdout.write
        verb = "would be stored" if dry_run else "stored"
        out(f"{report.read} messages read, {report.stored} {verb}.")
        if report.opted_in:
            note = "would be recorded" if dry_run else "recorded (origin: import)"
            out(f"{report.opted_in} people: their consent, which you state, {note}.")
        for reason, count in report.left_out.most_common():
            out(f"{count} left out: {REASONS.get(reason, reason)}.")
        for line in report.unreadable:
            self.stderr.write(f"  {line}")
        if report.left_out["no_consent"] and not report.opted_in:
            out("If everybody in the file has opted in, say so with --consent-all.")

    def _embed(self, here: bool) -> None:
        if not inline.waiting():
            return
        if here or not inline.worker_is_alive():
            self.stderr.write(f"Embedding {inline.waiting()} messages …")
            inline.embed_waiting(self._embedded)
        left = inline.waiting()
        if left:
            self.stdout.write(
                f"{left} messages wait for the worker to embed them; until then words alone find them."
            )
        else:
            self.stdout.write("All messages are embedded and can be recalled.")

    def _embedded(self, left: int) -> None:
        self.stderr.write(f"{left} left to embed …")
