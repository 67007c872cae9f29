"""Copies of an installation while it runs, and bringing one back.

A backup is a tar file: a consistent copy of the database, the uploaded documents, the receipts of erasures, the keys in
``secrets/``, and a manifest with a SHA-256 of each. Restoring brings the copy up to date with every erasure since: receipts of the
installation that is replaced are kept, and replayed.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection, connections

from memory.erasure.receipts import FILE_NAME as RECEIPTS

MANIFEST = "manifest.json"
DATABASE = "memory.db"
DOCUMENTS = "documents"
SECRETS = "secrets"
VERSION = 1
BLOCK = 1 << 20

Say = Callable[[str], None]


class BackupError(Exception):
    """Why a backup could not be made or brought back, and what to do; nothing was changed."""


@dataclass(frozen=True, slots=True)
class Restored:
    created_at: str
    files: int


def back_up(target: Path, *, with_secrets: bool, say: Say) -> Path:
    """Writes a backup; Musebot may go on running. ``target`` is a folder, or the file to write. Returns the file.

    Raises ``BackupError``. The file is complete or not there at all.
    """
    if connection.vendor != "sqlite":
        raise BackupError(
            "This installation is on PostgreSQL: back it up with pg_dump, and copy the folders named in the README with it."
        )
    name = f"musebot-{datetime.now(UTC):%Y%m%d-%H%M%S}.tar"
    path = target / name if target.is_dir() else target
    if path.exists():
        raise BackupError(f"{path} exists already; name another file.")
    if not path.parent.is_dir():
        raise BackupError(f"There is no folder {path.parent}; make it first.")
    draft = path.with_name(f".{path.name}.part")
    try:
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".musebot-backup-") as folder:
            copy = Path(folder) / DATABASE
            say("Copying the database …")
            # A reader's view of one moment: others go on writing, and space that was erased is not in it.
            with connection.cursor() as cursor:
                cursor.execute("VACUUM INTO %s", [str(copy)])
            files = {DATABASE: copy, **_files_beside_it(with_secrets)}
            say(f"Writing {len(files)} files …")
            _write(draft, files)
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
    return path


def restore(source: Path, *, replace: bool, say: Say) -> Restored:
    """Puts a backup in the place of this installation's data; Musebot has to be stopped. Raises ``BackupError``.

    Afterwards ``bring_up_to_date`` has to run before anything else does.
    """
    database = settings.MUSEBOT.database_path
    if connection.vendor != "sqlite":
        raise BackupError("A backup is restored into SQLite; unset DATABASE_URL, then see `migrate_storage`.")
    _refuse_while_running()
    if database.exists() and not replace:
        raise BackupError(f"There is a database at {database}; say --replace to put the backup in its place.")
    connections.close_all()
    with tempfile.TemporaryDirectory(dir=settings.MUSEBOT.home, prefix=".musebot-restore-") as folder:
        staged = Path(folder)
        say("Unpacking and checking …")
        manifest = _unpack(source, staged)
        fresh = not database.exists()
        if not fresh:
            _check_keys(staged)
        _check_database(staged / DATABASE)
        _merge_receipts(staged / RECEIPTS, database.with_name(RECEIPTS))
        say("Putting it in place …")
        _put_in_place(staged, database, with_keys=fresh)
    return Restored(manifest["created_at"], len(manifest["files"]))


def bring_up_to_date(say: Say) -> None:
    """Migrates what was restored and erases again what was erased since, in processes that read the restored keys."""
    for command in (["migrate", "--verbosity", "0"], ["replay_receipts"]):
        done = subprocess.run(
            [sys.executable, str(settings.BASE_DIR / "manage.py"), *command], capture_output=True, text=True
        )
        for line in done.stdout.splitlines():
            say(line)
        if done.returncode != 0:
            raise BackupError(
                f"The backup is in its place, but {command[0]} failed: {done.stderr.strip()[-500:]} "
                f"Mend that and run `python manage.py {command[0]}`"
                + (", then `python manage.py replay_receipts`." if command[0] == "migrate" else ".")
            )


def _documents_folder() -> Path:
    home: Path = settings.MUSEBOT.home
    return home / "workflows" / settings.MUSEBOT.bot_id / "documents"


def _files_beside_it(with_secrets: bool) -> dict[str, Path]:
    home: Path = settings.MUSEBOT.home
    found = {}
    receipts = settings.MUSEBOT.database_path.with_name(RECEIPTS)
    if receipts.exists():
        found[RECEIPTS] = receipts
    folders = {DOCUMENTS: _documents_folder()} | ({SECRETS: home / SECRETS} if with_secrets else {})
    for prefix, folder in folders.items():
        for path in sorted(folder.rglob("*")) if folder.is_dir() else ():
            if path.is_file():
                found[f"{prefix}/{path.relative_to(folder).as_posix()}"] = path
    return found


def _write(draft: Path, files: Mapping[str, Path]) -> None:
    hashes: dict[str, str] = {}
    # Keys and everybody's messages are in it: for the eyes of who made it alone.
    with os.fdopen(os.open(draft, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "wb") as raw:
        with tarfile.open(fileobj=raw, mode="w") as archive:
            for name, path in files.items():
                try:
                    hashes[name] = _digest(path)
                    archive.add(path, arcname=name, recursive=False)
                except FileNotFoundError:  # a document that was deleted meanwhile
                    hashes.pop(name, None)
            manifest = {
                "version": VERSION,
                "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
                "bot_id": settings.MUSEBOT.bot_id,
                "files": hashes,
            }
            _add_text(archive, MANIFEST, json.dumps(manifest, indent=1))
        raw.flush()
        os.fsync(raw.fileno())


def _add_text(archive: tarfile.TarFile, name: str, text: str) -> None:
    with tempfile.TemporaryFile() as file:
        entry = tarfile.TarInfo(name)
        entry.size = file.write(text.encode())
        file.seek(0)
        archive.addfile(entry, file)


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _unpack(source: Path, staged: Path) -> dict[str, Any]:
    if not source.is_file():
        raise BackupError(f"There is no file {source}.")
    try:
        with tarfile.open(source) as archive:
            archive.extractall(staged, filter="data")
        manifest: dict[str, Any] = json.loads((staged / MANIFEST).read_text())
        files, version = dict(manifest["files"]), manifest["version"]
    except (tarfile.TarError, OSError, ValueError, KeyError, TypeError) as error:
        raise BackupError(
            f"{source} is not a backup of Musebot, or is damaged ({type(error).__name__})."
        ) from error
    if version != VERSION:
        raise BackupError(
            f"This backup is of form {version}, this Musebot reads form {VERSION}; update Musebot first."
        )
    wrong = [name for name, digest in files.items() if not _is(staged / name, digest)]
    if wrong or DATABASE not in files:
        raise BackupError(
            f"The backup is damaged: {', '.join(wrong[:3]) or DATABASE} is not what was written."
        )
    return manifest


def _is(path: Path, digest: str) -> bool:
    return path.is_file() and _digest(path) == digest


def _check_keys(staged: Path) -> None:
    """Another key for pseudonyms than the installation's would make every receipt unreadable, and no erasure could be replayed."""
    for path in _inside(staged / SECRETS):
        kept = settings.MUSEBOT.home / SECRETS / path.name
        if path.name == "privacy_key" and kept.exists() and kept.read_bytes() != path.read_bytes():
            raise BackupError(
                "The backup is of another installation: its privacy key is not the one here. Restore it into an empty MUSEBOT_HOME."
            )


def _check_database(path: Path) -> None:
    import sqlite3

    try:
        with sqlite3.connect(path) as raw:
            answer = raw.execute("PRAGMA quick_check(1)").fetchone()
        raw.close()
    except sqlite3.DatabaseError as error:
        raise BackupError("The database in the backup cannot be read.") from error
    if answer != ("ok",):
        raise BackupError("The database in the backup is damaged.")


def _merge_receipts(staged: Path, kept: Path) -> None:
    """The receipts of both, each once: what was erased after the backup must not come back with it."""
    lines: dict[str, None] = {}
    for path in (staged, kept):
        if path.exists():
            lines.update(dict.fromkeys(filter(None, path.read_text(encoding="utf-8").splitlines())))
    if lines:
        staged.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _put_in_place(staged: Path, database: Path, *, with_keys: bool) -> None:
    """``with_keys``: there was no installation here, and the keys that this very command made give way to the backup's."""
    database.parent.mkdir(parents=True, exist_ok=True)
    for ending in ("-wal", "-shm"):
        database.with_name(database.name + ending).unlink(missing_ok=True)
    os.replace(staged / DATABASE, database)
    if (staged / RECEIPTS).exists():
        os.replace(staged / RECEIPTS, database.with_name(RECEIPTS))
    documents = _documents_folder()
    shutil.rmtree(documents, ignore_errors=True)
    if (staged / DOCUMENTS).is_dir():
        documents.parent.mkdir(parents=True, exist_ok=True)
        os.replace(staged / DOCUMENTS, documents)
    for path in _inside(staged / SECRETS):
        kept = settings.MUSEBOT.home / SECRETS / path.name
        if with_keys or not kept.exists():
            kept.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.replace(path, kept)


def _inside(folder: Path) -> Iterator[Path]:
    return (path for path in folder.iterdir() if path.is_file()) if folder.is_dir() else iter(())


def _refuse_while_running() -> None:
    from django.db import DatabaseError

    from memory import selectors

    if not settings.MUSEBOT.database_path.exists():
        return
    try:
        ages = selectors.heartbeat_ages()
    except DatabaseError:  # what is there is damaged or empty: nothing runs on it
        return
    running = [name for name, seconds in ages.items() if seconds < 30]
    if running:
        raise BackupError(
            f"Musebot is running ({', '.join(running)}); stop it, wait half a minute, then try again."
        )
