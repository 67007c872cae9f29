"""Reads chat exports piece by piece: DiscordChatExporter's JSON, or JSON lines. Nothing here touches the database."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from memory.capture.importing.ids import channel_key, message_key, user_key
from memory.capture.importing.stream import ObjectReader
from memory.errors import InvalidInput
from memory.types import AttachmentInfo, ChannelInfo, Person

CHANNEL_KINDS = {
    "GuildTextChat": "text",
    "GuildNews": "announcement",
    "GuildVoiceChat": "voice",
    "GuildStageVoice": "stage",
    "GuildForum": "forum",
    "GuildNewsThread": "public_thread",
    "GuildPublicThread": "public_thread",
    "GuildPrivateThread": "private_thread",
    "DirectTextChat": "dm",
    "DirectGroupTextChat": "dm",
}
KEPT_TYPES = {"default", "reply", "0", "19"}


@dataclass(frozen=True, slots=True)
class ExportedMessage:
    """One message of a file. ``author`` may be a bot."""

    id: int
    channel: ChannelInfo
    author: Person
    text: str
    sent_at: datetime
    edited_at: datetime | None = None
    reply_to: int | None = None
    is_system: bool = False
    mentions: tuple[Person, ...] = ()
    attachments: tuple[AttachmentInfo, ...] = ()


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A message that lacks what is needed. ``where`` counts from 1."""

    where: int
    why: str


@dataclass(frozen=True, slots=True)
class ExportFile:
    """A file whose kind is known. ``guild_name`` is empty where the file names none."""

    path: Path
    kind: str
    """``discordchatexporter`` or ``lines``"""
    guild_id: int | None = None
    guild_name: str = ""
    channel: Mapping[str, Any] | None = None

    def messages(self, guild_id: int) -> Iterator[ExportedMessage | Unreadable]:
        """The messages, in the file's order, as they belong to this server."""
        source = self._objects() if self.kind == "discordchatexporter" else _lines(self.path)
        for where, item in enumerate(source, 1):
            try:
                if not isinstance(item, dict):
                    raise ValueError("not an object")
                if self.kind == "discordchatexporter":
                    yield _exported(item, self.channel or {}, guild_id)
                else:
                    yield _line(item, guild_id)
            except (ValueError, TypeError, AttributeError, OverflowError) as error:
                yield Unreadable(where, str(error) or type(error).__name__)

    def _objects(self) -> Iterator[Any]:
        with self.path.open(encoding="utf-8-sig") as file:
            for key, value in ObjectReader(file).members():
                if key == "messages":
                    yield from value


def open_export(path: Path) -> ExportFile:
    """Finds out what a file is. Raises ``InvalidInput`` if it is none of ours."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            first = _first_line(file)
        if isinstance(first, dict) and "messages" not in first:
            return ExportFile(path, "lines")
        return _discord_export(path)
    except FileNotFoundError as error:
        raise InvalidInput(f"There is no file {path}.") from error
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path.name} is not text in UTF-8.") from error
    except ValueError as error:
        raise InvalidInput(
            f"{path.name} is neither DiscordChatExporter's JSON nor JSON lines "
            f"of {{id, user_id, username, text, timestamp, channel_id, is_bot, reply_to}}: {error}."
        ) from error


def _first_line(file: IO[str]) -> Any:
    """The first line that is not empty, if it is JSON of its own."""
    for _ in range(1000):
        line = file.readline(1 << 20)
        if not line:
            raise ValueError("it is empty")
        if line.strip():
            try:
                return json.loads(line)
            except ValueError:
                return None
    raise ValueError("it begins with empty lines only")


def _discord_export(path: Path) -> ExportFile:
    guild: Any = None
    channel: Any = None
    found = False
    with path.open(encoding="utf-8-sig") as file:
        for key, value in ObjectReader(file).members():
            if key == "guild":
                guild = value
            elif key == "channel":
                channel = value
            elif key == "messages":
                if not isinstance(value, Iterator):
                    raise ValueError('"messages" is not a list')
                found = True
            # Both stand before the messages in every known version; otherwise the file is read to its end for them.
            if found and isinstance(channel, dict) and isinstance(guild, dict):
                break
            if key == "messages":
                for _ in value:
                    pass
    if not found:
        raise ValueError('it has no list "messages"')
    if not isinstance(channel, dict):
        raise ValueError('it has no object "channel"')
    guild = guild if isinstance(guild, dict) else {}
    known = str(guild.get("id") or "")
    return ExportFile(
        path,
        "discordchatexporter",
        guild_id=int(known) if known.isdecimal() and known != "0" else None,
        guild_name=str(guild.get("name") or ""),
        channel=channel,
    )


def _lines(path: Path) -> Iterator[Any]:
    with path.open(encoding="utf-8-sig") as file:
        for line in file:
            if not line.strip():
                continue
            try:
                yield json.loads(line)
            except (ValueError, RecursionError):
                yield None


def _line(item: dict[str, Any], guild_id: int) -> ExportedMessage:
    text = _string(item.get("text", item.get("content")), "text")
    sent_at = moment(item.get("timestamp"))
    raw_user = item.get("user_id")
    user = user_key(raw_user)
    channel_raw = item.get("channel_id") or "imported"
    channel = channel_key(guild_id, channel_raw)
    raw_id = item.get("id") or hashlib.blake2b(f"{user}|{sent_at.isoformat()}|{text}".encode()).hexdigest()
    name = str(item.get("username") or raw_user)[:100]
    reply = item.get("reply_to")
    return ExportedMessage(
        id=message_key(guild_id, channel, raw_id),
        channel=ChannelInfo(channel, name=str(item.get("channel_name") or _name_of(channel_raw))[:200]),
        author=Person(
            user, name, str(item.get("display_name") or name)[:200], is_bot=bool(item.get("is_bot", False))
        ),
        text=text,
        sent_at=sent_at,
        reply_to=message_key(guild_id, channel, reply) if reply not in (None, "") else None,
    )


def _exported(item: dict[str, Any], channel: Mapping[str, Any], guild_id: int) -> ExportedMessage:
    where = channel_key(guild_id, channel.get("id") or "imported")
    reference = item.get("reference") or {}
    reply = reference.get("messageId")
    edited = item.get("timestampEdited")
    return ExportedMessage(
        id=message_key(guild_id, where, item.get("id")),
        channel=ChannelInfo(
            where,
            name=str(channel.get("name") or "")[:200],
            kind=CHANNEL_KINDS.get(str(channel.get("type")), "text"),
            topic=str(channel.get("topic") or ""),
        ),
        author=_person(item.get("author") or {}),
        text=_string(item.get("content"), "content"),
        sent_at=moment(item.get("timestamp")),
        edited_at=moment(edited) if edited else None,
        reply_to=message_key(guild_id, where, reply) if reply else None,
        is_system=str(item.get("type", "Default")).lower() not in KEPT_TYPES,
        mentions=tuple(_person(each) for each in item.get("mentions") or ()),
        attachments=tuple(_attachment(each, guild_id, where) for each in item.get("attachments") or ()),
    )


def _person(item: Mapping[str, Any]) -> Person:
    name = str(item.get("name") or "")[:100]
    roles = [(each.get("id"), str(each.get("name") or "")) for each in item.get("roles") or ()]
    return Person(
        user_key(item.get("id")),
        name,
        str(item.get("nickname") or name)[:200],
        is_bot=bool(item.get("isBot", False)),
        roles=tuple((int(key), role) for key, role in roles if str(key).isdecimal()),
    )


def _attachment(item: Mapping[str, Any], guild_id: int, channel: int) -> AttachmentInfo:
    return AttachmentInfo(
        id=message_key(guild_id, channel, item.get("id")),
        filename=str(item.get("fileName") or "")[:200],
        url=str(item.get("url") or ""),
        size=int(item.get("fileSizeBytes") or 0),
    )


def _name_of(raw: Any) -> str:
    text = str(raw)
    return "" if text.isdecimal() else text.removeprefix("#")


def _string(value: Any, field: str) -> str:
    if value is None:
        raise ValueError(f"{field} is missing")
    if not isinstance(value, str):
        raise ValueError(f"{field} is not text")
    # Half of a surrogate pair cannot be stored as UTF-8.
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\0", "")


def moment(value: Any) -> datetime:
    """ISO 8601, or seconds or milliseconds since 1970; without a zone it is UTC. Raises ``ValueError``."""
    if isinstance(value, bool) or value is None or value == "":
        raise ValueError("timestamp is missing")
    if isinstance(value, int | float):
        seconds = value / 1000 if value > 1e11 else value
        try:
            found = datetime.fromtimestamp(seconds, UTC)
        except (OSError, OverflowError) as error:
            raise ValueError("timestamp is out of range") from error
    else:
        found = datetime.fromisoformat(str(value).strip())
        found = found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    if not 1990 <= found.year <= 2200:
        raise ValueError("timestamp is out of range")
    return found
