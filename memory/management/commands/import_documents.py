"""Takes files and folders in as documents."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from memory.errors import MusebotError
from memory.management import arguments
from memory.management.base import MemoryCommand
from memory.models import DocumentVersion
from memory.rag import documents, facade, importing
from memory.rag.errors import RagError

EVERY_SECONDS = 1.0


class Command(MemoryCommand):
    help = (
        "Takes files and folders in as documents that the bot answers from: Markdown, text, JSON, PDF, HTML, Word, CSV. "
        "A line a file; ends with 1 if any was refused. Other kinds of files are skipped in a folder, and refused where they "
        "are named; hidden files and folders are passed over."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", nargs="+", type=Path, help="file or folder, with all below it")
        parser.add_argument(
            "--guild",
            type=arguments.guild_id,
            metavar="ID",
            help="Server that they answer on; without it everywhere.",
        )
        parser.add_argument(
            "--replace",
            action="store_true",
            help="Replace documents of the same name. Without it those that changed are refused.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        self._said = 0.0
        refused = skipped = 0
        guild_ids = [options["guild"]] if options["guild"] else None
        for path in options["path"]:
            try:
                found = list(importing.everything_in(path))
            except MusebotError as error:
                refused += self._refuse(str(path), error)
                continue
            files = {file for file in found if file == path or importing.is_readable(file)}
            if not files:
                self.stderr.write(f"{path}: there is no document in this folder.")
            for file in found:
                if file in files:
                    refused += self._take(file, guild_ids, replace=options["replace"])
                else:
                    skipped += 1
                    self.stdout.write(
                        f"{file.name}: skipped, files of type {file.suffix or 'unknown'} are not read."
                    )
        if skipped:
            self.stderr.write(f"{skipped} {'file was' if skipped == 1 else 'files were'} skipped.")
        if refused:
            sys.exit(1)

    def _take(self, file: Path, guild_ids: list[int] | None, *, replace: bool) -> int:
        """Returns how many were refused: 0 or 1."""
        began = time.monotonic()
        try:
            existing = documents.find_same(file.name, guild_ids)
            before = existing.versions.order_by("-number").first() if existing else None
            version = (
                importing.take(file, guild_ids=guild_ids, same="replace" if replace else "keep")
                if (replace or before is None)
                else self._same_or_refused(file, before)
            )
            known = before is not None and version.pk == before.pk and not version.busy
            done = version if known else facade.work_on(version.pk, self._progress)
        except MusebotError as error:
            return self._refuse(file.name, error)
        if done is None:
            return self._refuse(
                file.name, RagError("LOAD_FAILED", "It was deleted meanwhile.", reason="deleted")
            )
        if done.state == DocumentVersion.State.FAILED:
            return self._refuse(file.name, RagError(done.error_code, done.error, reason=done.reason))  # type: ignore[arg-type]
        said = f"{file.name}: {_outcome(done, known=known)} ({time.monotonic() - began:.1f} s)"
        self.stdout.write(" ".join([f"{said}." if done.warnings else said, *done.warnings]))
        return 0

    def _same_or_refused(self, file: Path, before: DocumentVersion) -> DocumentVersion:
        """What is there already is no change; anything else under the same name needs to be asked for."""
        import hashlib

        if hashlib.sha256(file.read_bytes()).hexdigest() == before.digest:
            return before
        raise RagError(
            "INVALID_OPTIONS",
            "There is a document of this name already. Add --replace to replace it.",
            reason="exists",
        )

    def _progress(self, version: DocumentVersion) -> None:
        if time.monotonic() - self._said >= EVERY_SECONDS and version.chunks_total:
            self._said = time.monotonic()
            self.stderr.write(
                f"{version.name}: {version.state}, {version.chunks_done} of {version.chunks_total} passages …"
            )

    def _refuse(self, name: str, error: MusebotError) -> int:
        reason = f" ({error.details['reason']})" if error.details.get("reason") else ""
        self.stdout.write(f"{name}: refused, {error.code}{reason}: {error.message}")
        return 1


def _outcome(version: DocumentVersion, *, known: bool) -> str:
    where = "" if version.document.everywhere else " on one server"
    if known:
        return f"unchanged, {version.chunks_total} passages{where}"
    if version.state == DocumentVersion.State.READY:
        text = f"ready, {version.chunks_total} passages{where}"
        if version.number > 1:
            text += f", version {version.number}, {version.chunks_embedded} embedded anew"
        return text
    if version.error:
        return f"{version.state}, found by its words until the embedder answers: {version.error}"
    return f"{version.state}, a worker goes on with it"
