"""After a backup was restored: erases again what receipts say was erased since it was made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from memory import erasure
from memory.erasure import Replayed
from memory.management.base import MemoryCommand


class Command(MemoryCommand):
    help = "Erases again what was erased after a restored backup was made, members, parts and single messages alike, as the receipts say."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "file", nargs="?", type=Path, help="receipts; erasures.jsonl beside the database if none is given"
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="says what would be done, and does nothing"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path | None = options["file"]
        if path is not None and not path.is_file():
            raise CommandError(f"There is no such file: {path}.")
        found = erasure.replay(path, dry_run=options["dry_run"])
        self.stdout.write("\n".join(_lines(found, dry_run=options["dry_run"])))


def _lines(found: Replayed, *, dry_run: bool) -> list[str]:
    lines = [f"Read {_counted(found.receipts, 'receipt')}."]
    if found.unreadable:
        lines.append(f"{_counted(found.unreadable, 'line')} cannot be used and was passed over.")
    what = [
        text
        for count, text in (
            (found.members, f"everything of {_counted(found.members, 'member')}"),
            (found.parts, f"{_counted(found.parts, 'part')} of what is stored of others"),
            (found.messages, _counted(found.messages, "single message")),
        )
        if count
    ]
    if what:
        lines.append(f"{'Would erase' if dry_run else 'Erased'} again: {' and '.join(what)}.")
    else:
        lines.append("Nothing of it is here under an older epoch, so nothing has to be erased again.")
    kept = [
        _counted(count, noun)
        for count, noun in ((found.ranges, "part"), (found.messages_kept_out, "single message"))
        if count
    ]
    if kept:
        lines.append(
            f"{'Would keep' if dry_run else 'Kept'} {' and '.join(kept)} from coming back with a history or an import."
        )
    if found.unfinished:
        lines.append(f"{_counted(found.unfinished, 'erasure')} cannot end yet; the worker goes on with it.")
    return lines


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
