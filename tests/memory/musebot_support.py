"""Databases as the original Musebot makes them, early and late."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

ADA, BEN, BOT = 700000000000000001, 700000000000000002, 700000000000000009
SERVER, CHANNEL, THREAD, DM = (
    800000000000000001,
    800000000000000002,
    800000000000000003,
    800000000000000004,
)
NAMES = {ADA: "ada", BEN: "ben", BOT: "musebot"}

LATE = """
CREATE TABLE UserConsent(userId TEXT PRIMARY KEY, consentedAt TEXT, backfillCompleted INTEGER DEFAULT 0);
CREATE TABLE LlmChatMessage(id INTEGER PRIMARY KEY, userId TEXT, serverId TEXT NULL, content TEXT, messageText TEXT,
  isBot INTEGER, embeddingModel TEXT, discordMessageId TEXT NULL, createdAt TEXT);
CREATE UNIQUE INDEX once ON LlmChatMessage(discordMessageId) WHERE discordMessageId IS NOT NULL;
"""
EARLY = """
CREATE TABLE UserConsent(userId TEXT PRIMARY KEY, consentedAt TEXT);
CREATE TABLE LlmChatMessage(id INTEGER PRIMARY KEY, userId TEXT, serverId TEXT NULL, content TEXT, messageText TEXT,
  isBot INTEGER, createdAt TEXT);
"""


class MusebotDatabase:
    """A database in the making."""

    def __init__(self, path: Path, *, early: bool = False) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path, self.early, self._ids = (
            path,
            early,
            iter(range(1_450_000_000_000_000_000, 2**62, 4_194_304_000)),
        )
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.connection.executescript(EARLY if early else LATE)

    def consent(self, user: int, at: str = "2025-03-04T05:06:07.089Z", complete: int = 1) -> None:
        values = [str(user), at] if self.early else [str(user), at, complete]
        self.connection.execute(f"INSERT INTO UserConsent VALUES ({', '.join('?' * len(values))})", values)

    def say(
        self, text: str, *, author: int = ADA, owner: int | None = None, live: bool = False, **changed: Any
    ) -> int:
        """A row; returns Discord's id of the message. ``live``: as replies are stored when they are given, without an id."""
        own = next(self._ids)
        server = changed.pop("server", SERVER)
        at = changed.pop("at", "2025-05-06T07:08:09.010Z")
        content: dict[str, Any] = {
            "messageId": None if live else str(own),
            "username": NAMES[author],
            "displayName": NAMES[author].title(),
            "userId": str(author),
            "isBot": author == BOT,
            "message": text,
            "datetime": at,
            "roles": [{"id": "11", "name": "Keeper"}],
            "channel": {"id": str(CHANNEL), "name": "general", "topic": "All of it"},
            "thread": None,
            "server": {"id": str(server), "name": "Harbour"} if server else None,
            "mentions": {"users": [], "roles": [], "everyone": False},
            "attachments": [],
        }
        if self.early:
            del content["messageId"], content["attachments"]
        columns = changed.pop("columns", {})
        content |= changed
        values: dict[str, Any] = {
            "userId": str(owner or author),
            "serverId": str(server) if server else None,
            "content": json.dumps(content),
            "messageText": text,
            "isBot": int(author == BOT),
            "createdAt": "2026-01-01 00:00:00",
        }
        if not self.early:
            values |= {"embeddingModel": "nomic-embed-text", "discordMessageId": None if live else str(own)}
        values |= columns
        self.connection.execute(
            f"INSERT INTO LlmChatMessage({', '.join(values)}) VALUES ({', '.join('?' * len(values))})",
            list(values.values()),
        )
        return own

    def done(self) -> Path:
        self.connection.close()
        return self.path

    def done_with_log(self) -> Path:
        """As a bot leaves it that was killed: part of it stands in the log beside it."""
        kept = self.path.with_name("kept")
        kept.mkdir()
        for suffix in ("", "-wal"):
            shutil.copyfile(f"{self.path}{suffix}", kept / f"{self.path.name}{suffix}")
        self.connection.close()
        for suffix in ("", "-wal", "-shm"):
            Path(f"{self.path}{suffix}").unlink(missing_ok=True)
            if (kept / f"{self.path.name}{suffix}").exists():
                shutil.move(kept / f"{self.path.name}{suffix}", f"{self.path}{suffix}")
        kept.rmdir()
        return self.path

    def with_log(self) -> MusebotDatabase:
        self.connection.execute("PRAGMA journal_mode = WAL")
        self.connection.execute("PRAGMA wal_autocheckpoint = 0")
        return self
