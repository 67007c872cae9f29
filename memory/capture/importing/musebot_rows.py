"""One row of an existing Musebot database as a message, whatever its age. Nothing here touches a database."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from memory.types import ChannelInfo, GuildInfo, Person

MAX_ID = 2**63 - 1
MOST_INTERPRETATION = 100_000
DISCORD_EPOCH_MS = 1_420_070_400_000
# A reply's reference is not part of the known form; files in which it stands name it in one of these ways.
REFERENCES = (
    "reference",
    "messageReference",
    "referencedMessage",
    "replyTo",
    "replyToMessageId",
    "referencedMessageId",
)


@dataclass(frozen=True, slots=True)
class MusebotRow:
    """A message. ``owner_id`` is whose it is, ``author`` who wrote it: the bot, where it is a reply."""

    row_id: int
    owner_id: int
    discord_id: int | None
    guild: GuildInfo
    channel: ChannelInfo
    author: Person
    text: str
    sent_at: datetime
    answers: int | None = None
    """Discord's id of the message that it answers, where the file tells."""
    mentions_users: tuple[Person, ...] = ()
    mentions_roles: tuple[tuple[int, str], ...] = ()
    mentions_everyone: bool = False
    attachments: tuple[dict[str, Any], ...] = ()
    """In the specification's shape, as they were interpreted."""


@dataclass(frozen=True, slots=True)
class Spoiled:
    """A row that lacks what is needed."""

    row_id: int
    why: str


def read_row(
    row_id: int, owner: Any, server: Any, content: Any, text: Any, is_bot: Any, discord_id: Any
) -> MusebotRow | Spoiled:
    """The columns of a row, None for those that its table does not have."""
    try:
        record = json.loads(content)
        if not isinstance(record, dict):
            raise ValueError("its content is no object")
        return _row(row_id, owner, server, record, text, is_bot, discord_id)
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        why = "its content is no JSON" if isinstance(error, json.JSONDecodeError) else str(error)
        return Spoiled(row_id, why or type(error).__name__)


def _row(
    row_id: int, owner: Any, server: Any, record: dict[str, Any], text: Any, is_bot: Any, discord_id: Any
) -> MusebotRow:
    own_id = number(discord_id) or number(record.get("messageId"))
    bot = bool(is_bot) if is_bot is not None else bool(record.get("isBot"))
    author = number(record.get("userId"))
    if author is None:
        raise ValueError("its author is missing")
    owner_id = number(owner)
    if owner_id is None:
        raise ValueError("its owner is missing")
    sent_at = moment(record.get("datetime"))
    if sent_at is None:
        if own_id is None:
            raise ValueError("its time is missing")
        sent_at = datetime.fromtimestamp(((own_id >> 22) + DISCORD_EPOCH_MS) / 1000, UTC)
    channel = _channel(record, private=server is None)
    mentions = _object(record, "mentions")
    said = text if isinstance(text, str) and text else record.get("message")
    return MusebotRow(
        row_id=row_id,
        owner_id=owner_id,
        discord_id=own_id,
        guild=_guild(server, record, channel),
        channel=channel,
        author=Person(
            id=author,
            username=_text(record.get("username")),
            display_name=_text(record.get("displayName")),
            is_bot=bot,
            roles=_named(record.get("roles")),
        ),
        text=_text(said),
        sent_at=sent_at,
        answers=_reference(record),
        mentions_users=tuple(_people(mentions.get("users"))),
        mentions_roles=_named(mentions.get("roles")),
        mentions_everyone=bool(mentions.get("everyone")),
        attachments=tuple(_attachments(record.get("attachments"))),
    )


def _guild(server: Any, record: dict[str, Any], channel: ChannelInfo) -> GuildInfo:
    """A row without a server is from a private conversation, which is a scope of its own."""
    named = _object(record, "server")
    if server is None:
        if number(named.get("id")) is not None:
            raise ValueError("it is not clear which server it is from")
        return GuildInfo(id=channel.id, kind="dm")
    guild_id = number(server)
    if guild_id is None or number(named.get("id")) not in {None, guild_id}:
        raise ValueError("it is not clear which server it is from")
    return GuildInfo(id=guild_id, name=_text(named.get("name")))


def _channel(record: dict[str, Any], *, private: bool) -> ChannelInfo:
    """In a thread, the id of the channel is the thread's. Nothing tells whether a thread was private: taken to be."""
    channel, thread = _object(record, "channel"), record.get("thread")
    found = number(channel.get("id"))
    if isinstance(thread, dict) and (thread_id := number(thread.get("id")) or found) is not None:
        parent = number(thread.get("parentId"))
        return ChannelInfo(
            id=thread_id,
            name=_text(thread.get("name")),
            kind="private_thread",
            parent=ChannelInfo(id=parent) if parent is not None and parent != thread_id else None,
        )
    if found is None:
        raise ValueError("its channel is missing")
    kind = "dm" if private else "text"
    return ChannelInfo(
        id=found, name=_text(channel.get("name")), kind=kind, topic=_text(channel.get("topic"))
    )


def _reference(record: dict[str, Any]) -> int | None:
    for name in REFERENCES:
        value = record.get(name)
        if isinstance(value, dict):
            value = value.get("messageId") or value.get("id")
        if (found := number(value)) is not None:
            return found
    return None


def _people(listed: Any) -> list[Person]:
    return [
        Person(user_id, _text(one.get("username")), _text(one.get("displayName")), bool(one.get("isBot")))
        for one in _objects(listed)
        if (user_id := number(one.get("id"))) is not None
    ]


def _named(listed: Any) -> tuple[tuple[int, str], ...]:
    return tuple(
        (role, _text(one.get("name")))
        for one in _objects(listed)
        if (role := number(one.get("id"))) is not None
    )


def _attachments(listed: Any) -> list[dict[str, Any]]:
    found = []
    for one in _objects(listed):
        kind = one.get("type")
        if kind in {"image", "web"}:
            said = _text(one.get("interpretation"))[:MOST_INTERPRETATION].strip()
            found.append(
                {
                    "filename": _text(one.get("filename"))[:300],
                    "url": _text(one.get("url"))[:4000],
                    "type": kind,
                    "interpretation": said or None,
                }
            )
    return found


def _object(record: dict[str, Any], name: str) -> dict[str, Any]:
    value = record.get(name)
    return value if isinstance(value, dict) else {}


def _objects(listed: Any) -> list[dict[str, Any]]:
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def number(value: Any) -> int | None:
    """An id: a whole number above zero, as text or as a number."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    text = str(value).strip()
    if not (text.isascii() and text.isdecimal() and len(text) <= 19):
        return None
    found = int(text)
    return found if 0 < found <= MAX_ID else None


def moment(value: Any) -> datetime | None:
    """A time as JavaScript writes it; without a zone it is UTC."""
    try:
        found = datetime.fromisoformat(value)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, TypeError, OverflowError):
        return None
