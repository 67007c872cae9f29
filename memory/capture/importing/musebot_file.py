"""Reads an existing database of Musebot, page by page, from a copy: nothing about the original changes, not even its log.

Early files lack some columns and some keys of the JSON; what is missing reads as nothing. Vectors are not looked at.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from memory.capture.importing.musebot_rows import MusebotRow, Spoiled, moment, number, read_row
from memory.conf import get_config
from memory.errors import InvalidInput

PAGE = 500
COPIES = "imports"
"""Folder below the home for the copy that is read; it goes with the end of the import, or at the next one."""
SUFFIXES = ("", "-wal", "-journal")
"""The shared memory beside a log is made anew from it."""
TRIES = 3


@dataclass(frozen=True, slots=True)
class OldConsent:
    """Somebody who had opted in to the original. ``name`` and ``display_name`` are those of their last message."""

    user_id: int
    consented_at: datetime | None
    complete: bool
    """Their history had been read to its end."""
    username: str = ""
    display_name: str = ""


class MusebotFile:
    """The copy, opened. Use ``open_musebot``."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._columns = self._names("LlmChatMessage")
        tables = {
            name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        }
        if "django_migrations" in tables:
            raise InvalidInput(
                "This is a database of this program, not one to import. A memory of Musebot that was found in its place was "
                "set aside as memory.musebot.db beside it."
            )
        if not {"id", "userId", "content"} <= self._columns:
            raise InvalidInput(
                "This is no database of Musebot: it has no table LlmChatMessage of the known form."
            )
        self.bot_ids = frozenset(self._bots())
        if self._is_late():
            # In the copy: otherwise each reply would be looked for in the whole table.
            connection.execute(
                "CREATE INDEX IF NOT EXISTS live_replies ON LlmChatMessage(messageText) "
                "WHERE isBot = 1 AND discordMessageId IS NULL"
            )

    def count(self) -> int:
        return int(self._connection.execute("SELECT count(*) FROM LlmChatMessage").fetchone()[0])

    def consents(self) -> list[OldConsent]:
        """Whoever had opted in. Empty where the file is from before there was consent."""
        columns = self._names("UserConsent")
        if "userId" not in columns:
            return []
        at = "consentedAt" if "consentedAt" in columns else "NULL"
        complete = "backfillCompleted" if "backfillCompleted" in columns else "0"
        names = self._last_names()
        found = {}
        for user, given, done in self._connection.execute(
            f"SELECT userId, {at}, {complete} FROM UserConsent"
        ):
            user_id = number(user)
            if user_id is not None:
                found[user_id] = OldConsent(user_id, moment(given), bool(done), *names.get(user_id, ("", "")))
        return list(found.values())

    def pages(self) -> Iterator[list[MusebotRow | Spoiled]]:
        """The messages, in the order in which they were stored."""
        text = "messageText" if "messageText" in self._columns else "NULL"
        server = "serverId" if "serverId" in self._columns else "NULL"
        is_bot = "isBot" if "isBot" in self._columns else "NULL"
        discord_id = "discordMessageId" if "discordMessageId" in self._columns else "NULL"
        after = -(2**63)
        while True:
            rows = self._connection.execute(
                f"SELECT id, userId, {server}, content, {text}, {is_bot}, {discord_id} "
                "FROM LlmChatMessage WHERE id > ? ORDER BY id LIMIT ?",
                (after, PAGE),
            ).fetchall()
            if not rows:
                return
            yield [read_row(*row) for row in rows]
            after = rows[-1][0]

    def owner_of(self, discord_id: int) -> int | None:
        """Whose a message of a member is, by Discord's id of it; None if the file does not hold it."""
        if "discordMessageId" not in self._columns:
            return None
        row = self._connection.execute(
            "SELECT userId FROM LlmChatMessage WHERE discordMessageId = ? AND NOT isBot", (str(discord_id),)
        ).fetchone()
        return number(row[0]) if row else None

    def has_live_copy(self, row: MusebotRow) -> bool:
        """Whether a reply of the bot was also stored as it was given, which is the row whose owner is certain."""
        if not self._is_late():
            return False
        found = self._connection.execute(
            "SELECT 1 FROM LlmChatMessage WHERE isBot = 1 AND discordMessageId IS NULL AND messageText = ? "
            "AND json_valid(content) AND json_extract(content, '$.channel.id') = ? LIMIT 1",
            (row.text, str(row.channel.id)),
        )
        return found.fetchone() is not None

    def _is_late(self) -> bool:
        return {"discordMessageId", "messageText", "isBot"} <= self._columns

    def _names(self, table: str) -> set[str]:
        return {row[1] for row in self._connection.execute(f"PRAGMA table_info({table})")}

    def _bots(self) -> Iterator[int]:
        if "isBot" in self._columns:
            query = (
                "SELECT DISTINCT json_extract(content, '$.userId') FROM LlmChatMessage "
                "WHERE isBot AND json_valid(content) LIMIT 50"
            )
            for (value,) in self._connection.execute(query):
                if (found := number(value)) is not None:
                    yield found

    def _last_names(self) -> dict[int, tuple[str, str]]:
        by_member = "NOT isBot AND" if "isBot" in self._columns else ""
        query = (
            "SELECT userId, json_extract(content, '$.username'), json_extract(content, '$.displayName') "
            "FROM LlmChatMessage WHERE id IN "
            f"(SELECT max(id) FROM LlmChatMessage WHERE {by_member} json_valid(content) GROUP BY userId)"
        )
        found = {}
        for user, username, display_name in self._connection.execute(query):
            if (user_id := number(user)) is not None:
                found[user_id] = (str(username or ""), str(display_name or ""))
        return found


@contextmanager
def open_musebot(path: Path) -> Iterator[MusebotFile]:
    """A database of Musebot, with its log. Raises ``InvalidInput`` for anything else, and where it is being written to."""
    if not path.is_file():
        raise InvalidInput(f"There is no file {path}.")
    folder = get_config().home / COPIES
    shutil.rmtree(folder, ignore_errors=True)  # what an import that was killed has left
    folder.mkdir(mode=0o700, parents=True)
    try:
        with tempfile.TemporaryDirectory(dir=folder) as kept:
            copy = Path(kept) / "copy.db"
            _copy(path, copy)
            connection = sqlite3.connect(copy, isolation_level=None)
            # Text that is no UTF-8 is read as far as it can be.
            connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
            try:
                connection.execute("PRAGMA temp_store = MEMORY")
                file = MusebotFile(connection)
                _leave_nothing(copy)
                yield file
            except sqlite3.DatabaseError as error:
                raise InvalidInput(f"{path.name} cannot be read: {error}.") from error
            finally:
                connection.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _leave_nothing(copy: Path) -> None:
    """Takes the names off the files that are open, so that an import that is killed leaves nothing of anybody behind."""
    for suffix in (*SUFFIXES, "-shm"):
        # Where files in use keep their names (on Windows), they go with the folder.
        with suppress(OSError):
            copy.with_name(copy.name + suffix).unlink(missing_ok=True)


def _copy(path: Path, copy: Path) -> None:
    for _ in range(TRIES):
        before = _state(path)
        for suffix in SUFFIXES:
            source, target = path.with_name(path.name + suffix), copy.with_name(copy.name + suffix)
            target.unlink(missing_ok=True)
            if source.is_file():
                shutil.copyfile(source, target)
        if _state(path) == before:
            return
    raise InvalidInput(f"{path.name} is being written to. Stop the bot that uses it, then import again.")


def _state(path: Path) -> list[tuple[int, int] | None]:
    states: list[tuple[int, int] | None] = []
    for suffix in SUFFIXES:
        try:
            stat = path.with_name(path.name + suffix).stat()
            states.append((stat.st_size, stat.st_mtime_ns))
        except FileNotFoundError:
            states.append(None)
    return states
