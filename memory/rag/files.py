"""The files of documents: kept under random names in a folder of their own, never served, never opened by the name they came with."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import time
import unicodedata
from collections.abc import Collection, Iterator
from contextvars import ContextVar
from pathlib import Path

from memory.conf import get_config
from memory.rag.errors import RagError

NAME_LIMIT = 150
ORPHAN_SECONDS = 3600.0
"""A file without a row may belong to an upload that is just being written."""

_elsewhere: ContextVar[Path | None] = ContextVar("documents_folder", default=None)
_STORED = re.compile(r"[0-9a-f]{32}")
_SEPARATORS = re.compile(r"[/\\]")
# What could mention somebody, forge a citation or break Markdown where a source is named.
_UNSAFE = str.maketrans(
    {"[": "(", "]": ")", "<": "‹", ">": "›", "`": "'", "*": "∗", "|": "¦", "~": "∼", "@": "＠", "#": "＃"}
)


def folder() -> Path:
    """Where files are kept: ``workflows/{botId}/documents`` below the home folder."""
    config = get_config()
    return _elsewhere.get() or config.home / "workflows" / config.bot_id / "documents"


@contextlib.contextmanager
def use_folder(path: Path) -> Iterator[None]:
    """Keeps files elsewhere while the block runs, for a temporary database."""
    token = _elsewhere.set(path)
    try:
        yield
    finally:
        _elsewhere.reset(token)


def keep(data: bytes) -> str:
    """Writes a file; returns the name it is kept under. Raises ``RagError`` (``PERSIST_FAILED``)."""
    name = secrets.token_hex(16)
    path = folder() / name
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        path.unlink(missing_ok=True)
        raise RagError(
            "PERSIST_FAILED",
            f"The file cannot be kept: {error.strerror}. Check the disk and its permissions.",
        ) from error
    return name


def path_of(stored_name: str) -> Path:
    if not _STORED.fullmatch(stored_name):
        raise ValueError("no name of a stored file")
    return folder() / stored_name


def read(stored_name: str) -> bytes:
    """Raises ``RagError`` (``LOAD_FAILED``) where the file is gone."""
    try:
        return path_of(stored_name).read_bytes()
    except OSError as error:
        raise RagError(
            "LOAD_FAILED", "The stored file is gone. Upload it again.", reason="missing"
        ) from error


def remove(stored_name: str) -> None:
    with contextlib.suppress(OSError):
        path_of(stored_name).unlink(missing_ok=True)


def remove_all(stored_names: Collection[str]) -> None:
    for name in stored_names:
        remove(name)


def orphans(known: Collection[str]) -> list[str]:
    """Files that no version knows, those of the last hour aside."""
    try:
        found = [entry for entry in os.scandir(folder()) if _STORED.fullmatch(entry.name)]
    except FileNotFoundError:
        return []
    before = time.time() - ORPHAN_SECONDS
    return [entry.name for entry in found if entry.name not in known and entry.stat().st_mtime < before]


def safe_name(name: str) -> str:
    """A file's name as it is shown and cited: no path, no controls, nothing that means something in Markdown or on Discord.

    Raises ``RagError`` for one of which nothing is left.
    """
    clean = unicodedata.normalize("NFC", name.encode("utf-8", "replace").decode())
    clean = "".join(
        one for one in clean if unicodedata.category(one) not in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    )
    clean = _SEPARATORS.split(clean)[-1].translate(_UNSAFE)
    clean = " ".join(clean.split()).lstrip(".").strip()
    if not any(one.isalnum() for one in clean):
        raise RagError(
            "INVALID_OPTIONS",
            "The file's name cannot be used. Give it a name with letters or digits.",
            reason="name",
        )
    if len(clean) > NAME_LIMIT:
        stem, dot, ending = clean.rpartition(".")
        short = dot and 0 < len(ending) <= 10
        clean = (
            f"{stem[: NAME_LIMIT - len(ending) - 2]}….{ending}" if short else f"{clean[: NAME_LIMIT - 1]}…"
        )
    return clean
