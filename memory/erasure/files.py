"""A search for bytes in everything that the installation writes: the database and its log, the broker, logs, receipts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from memory.conf import get_config
from memory.erasure.checkpoint import database_path
from memory.index.pages import files_that_hold

SET_ASIDE = "memory.musebot*.db*"


def written_files() -> Iterator[tuple[str, Path]]:
    """Each file with the name of its store."""
    own = database_path()
    database = own or get_config().database_path
    home = get_config().home
    folders = {home}
    if database.is_absolute():
        for suffix in ("", "-wal", "-shm", "-journal") if own is not None else ():
            yield f"file {database.name}{suffix}", database.with_name(database.name + suffix)
        folders.add(database.parent)
        yield "receipts", database.with_name("erasures.jsonl")
        for path in sorted((database.parent / "broker").rglob("*")):
            yield "broker", path
    for folder in sorted(folders):
        for pattern in ("*.log*", "logs/**/*"):
            for path in sorted(folder.glob(pattern)):
                yield "logs", path


def set_aside() -> Iterator[tuple[str, Path]]:
    """Memories of the original Musebot that lie beside the database. Nothing is written to them; their owner deletes them."""
    database = database_path() or get_config().database_path
    if database.is_absolute():
        for path in sorted(database.parent.glob(SET_ASIDE)):
            yield f"file {path.name}", path


def search(needles: Sequence[bytes], files: Iterable[tuple[str, Path]] | None = None) -> Counter[str]:
    """How many files of each store hold any of the needles; of the written ones if none are given."""
    given = written_files() if files is None else files
    stores = {path: store for store, path in given if path.is_file()}
    return Counter(stores[path] for path in files_that_hold(list(stores), needles))
