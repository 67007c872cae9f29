"""The record of a message in the specification's shape, and what of other people stays out of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from memory import backends
from memory.models import Member
from memory.types import AttachmentInfo, ChannelInfo, IncomingMessage

IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/webp", "image/gif"})
IMAGE_ENDINGS = (".png", ".jpg", ".jpeg", ".webp", ".gif")
SOMEBODY = "@somebody"
_MENTION = re.compile(r"<@!?(\d{1,20})>")


def clean(text: str) -> str:
    """Text that every store can hold: without NUL, and lone halves of surrogate pairs replaced."""
    if text.isascii() and "\0" not in text:
        return text
    return text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")


def images(message: IncomingMessage) -> list[AttachmentInfo]:
    """Attachments that can be described: images, where there is a vision model."""
    if not message.attachments or not backends.describes_images():
        return []
    return [one for one in message.attachments if _is_image(one)]


def _is_image(attachment: AttachmentInfo) -> bool:
    if attachment.content_type:
        return attachment.content_type.partition(";")[0].strip().lower() in IMAGE_TYPES
    return attachment.filename.lower().endswith(IMAGE_ENDINGS)


def mentioned(text: str) -> set[int]:
    """Ids of the people that a text mentions."""
    return {int(one) for one in _MENTION.findall(text)} if "<@" in text else set()


def known_people(ids: Iterable[int]) -> set[int]:
    """Those who have opted in and not withdrawn: only they may be named in somebody else's record."""
    ids = set(ids)
    if not ids:
        return set()
    return set(Member.objects.filter(user_id__in=ids, withdrawn_at=None).values_list("user_id", flat=True))


def hide_strangers(text: str, known: set[int]) -> str:
    """Mentions of people who have not opted in, without their id."""
    if "<@" not in text:
        return text
    return _MENTION.sub(lambda match: match[0] if int(match[1]) in known else SOMEBODY, text)


def iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def record(message: IncomingMessage, *, text: str, known: set[int]) -> dict[str, Any]:
    """The ``content`` of a message, JSON-ready; ids are strings. ``known`` are people whose mention may be kept."""
    thread = message.channel if message.channel.parent is not None else None
    return {
        "messageId": str(message.id) if message.id else None,
        "username": clean(message.author.username),
        "displayName": clean(message.author.display_name),
        "userId": str(message.author.id),
        "isBot": message.author.is_bot,
        "message": text,
        "datetime": iso(message.sent_at),
        "roles": [{"id": str(role), "name": clean(name)} for role, name in message.author.roles],
        "channel": _channel(message.channel),
        "thread": _thread(thread) if thread else None,
        "server": {"id": str(message.guild.id), "name": clean(message.guild.name)}
        if message.guild.kind == "guild"
        else None,
        "mentions": {
            "users": [
                {
                    "id": str(person.id),
                    "username": clean(person.username),
                    "displayName": clean(person.display_name),
                    "isBot": person.is_bot,
                }
                for person in message.mentions_users
                if person.is_bot or person.id in known
            ],
            "roles": [{"id": str(role), "name": clean(name)} for role, name in message.mentions_roles],
            "everyone": message.mentions_everyone,
        },
        "attachments": [
            {"filename": clean(one.filename), "url": one.url, "type": "image", "interpretation": None}
            for one in images(message)
        ],
    }


def interpreted(attachments: Iterable[Mapping[str, Any]], known: set[int]) -> list[dict[str, Any]]:
    """Attachments with their description, in the same shape; a page may name people by id who have not opted in."""
    return [
        {
            name: hide_strangers(clean(value), known) if isinstance(value, str) and name != "url" else value
            for name, value in one.items()
        }
        for one in attachments
    ]


def _channel(channel: ChannelInfo) -> dict[str, str]:
    return {"id": str(channel.id), "name": clean(channel.name), "topic": clean(channel.topic)}


def _thread(thread: ChannelInfo) -> dict[str, str | None]:
    parent = thread.parent.id if thread.parent else None
    return {"id": str(thread.id), "name": clean(thread.name), "parentId": str(parent) if parent else None}
