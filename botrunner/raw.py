"""Discord's JSON to the plain values that ``memory`` takes. Of people who have not opted in nothing is looked at but the id."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from botrunner.mentions import without_mentions
from memory.capture.backfill import PAGE, ChannelWork, Page
from memory.types import AttachmentInfo, ChannelInfo, GuildInfo, IncomingMessage, Person

KINDS = {
    0: "text",
    1: "dm",
    2: "voice",
    5: "announcement",
    10: "public_thread",
    11: "public_thread",
    12: "private_thread",
    13: "stage",
    15: "forum",
    16: "forum",
}
"""Types of channels in which people can write, and the forums that hold such threads."""
PLAIN = frozenset({0, 19})
"""Types of messages that people write: messages and replies."""
REPLY = 19


@dataclass(frozen=True, slots=True)
class Reader:
    """For whom pages are read, and what is known of the server."""

    bot_id: int
    people: Mapping[int, str]
    """Members whose messages are wanted, with their name on the server where one is known."""
    bot_roles: frozenset[int] = frozenset()
    role_names: Mapping[int, str] = field(default_factory=dict)


def page_of(
    work: ChannelWork, payloads: Sequence[dict[str, Any]], reader: Reader, fetched_at: datetime
) -> Page:
    """A page of history, newest first whatever order it came in."""
    payloads = sorted(payloads, key=lambda one: int(one["id"]), reverse=True)
    messages: list[IncomingMessage] = []
    owners: dict[int, int] = {}
    held: dict[int, int] = {}
    skipped: Counter[str] = Counter()
    for data in payloads:
        author = int(data["author"]["id"])
        if why := _why_not(data, author, reader):
            skipped[why] += 1
            continue
        if author == reader.bot_id:
            id, trigger = int(data["id"]), _answered(data)
            owner = _owner(data, reader)
            if owner is None and trigger and "referenced_message" not in data:
                held[id] = trigger
                continue
            if owner is None:
                skipped["no_trigger" if not data.get("referenced_message") else "no_consent"] += 1
                continue
            owners[id] = owner
        messages.append(incoming(data, work.guild, work.channel, reader))
    return Page(
        cursor=work.cursor,
        seen=tuple(int(one["id"]) for one in payloads),
        last=len(payloads) < PAGE,
        fetched_at=fetched_at,
        messages=tuple(messages),
        owners=owners,
        held=held,
        skipped=dict(skipped),
    )


def _why_not(data: Mapping[str, Any], author: int, reader: Reader) -> str:
    if data["type"] not in PLAIN:
        return "system"
    if author == reader.bot_id:
        return ""
    if data["author"].get("bot") or data.get("webhook_id"):
        return "other_bot"
    return "" if author in reader.people else "no_consent"


def _owner(data: Mapping[str, Any], reader: Reader) -> int | None:
    """The member whom a reply of the bot answers, if Discord sent along the message that it refers to."""
    trigger = data.get("referenced_message")
    if data["type"] != REPLY or not trigger:
        return None
    author = int(trigger["author"]["id"])
    return author if author in reader.people else None


def _answered(data: Mapping[str, Any]) -> int | None:
    reference = data.get("message_reference")
    if data["type"] != REPLY or not reference or not reference.get("message_id"):
        return None
    return int(reference["message_id"])


def incoming(
    data: Mapping[str, Any], guild: GuildInfo, channel: ChannelInfo, reader: Reader
) -> IncomingMessage:
    """One message. History does not tell an author's roles."""
    edited = data.get("edited_timestamp")
    return IncomingMessage(
        id=int(data["id"]),
        guild=guild,
        channel=channel,
        author=_person(data["author"], reader.people),
        text=without_mentions(data["content"], reader.bot_id, reader.bot_roles),
        sent_at=datetime.fromisoformat(data["timestamp"]),
        edited_at=datetime.fromisoformat(edited) if edited else None,
        reply_to=_answered(data),
        mentions_users=tuple(
            _person(one, reader.people) for one in data.get("mentions", ()) if int(one["id"]) != reader.bot_id
        ),
        mentions_roles=tuple(_roles(data.get("mention_roles", ()), reader.role_names)),
        mentions_everyone=bool(data.get("mention_everyone")),
        attachments=attachments_of(data),
    )


def _person(user: Mapping[str, Any], names: Mapping[int, str]) -> Person:
    id, username = int(user["id"]), str(user["username"])
    return Person(
        id=id,
        username=username,
        display_name=names.get(id) or user.get("global_name") or username,
        is_bot=bool(user.get("bot")),
    )


def _roles(ids: Iterable[str], names: Mapping[int, str]) -> Iterable[tuple[int, str]]:
    for one in ids:
        yield int(one), names.get(int(one), "")


def attachments_of(data: Mapping[str, Any]) -> tuple[AttachmentInfo, ...]:
    """Attachments of a message, with their links as they are now."""
    return tuple(_attachment(one) for one in data.get("attachments", ()))


def _attachment(data: Mapping[str, Any]) -> AttachmentInfo:
    return AttachmentInfo(
        id=int(data["id"]),
        filename=str(data["filename"]),
        url=str(data["url"]),
        content_type=str(data.get("content_type") or ""),
        size=int(data.get("size") or 0),
    )


CATEGORY = 4
"""Type of the categories that channels stand in."""


def channel_info(
    data: Mapping[str, Any],
    parent: ChannelInfo | None = None,
    categories: Mapping[int, ChannelInfo] | None = None,
) -> ChannelInfo:
    """A channel or thread; one of an unknown kind is taken for the most private one there is.

    ``categories`` are all of the server, by id; without them it is not known in which a channel stands.
    """
    above = int(data.get("parent_id") or 0)
    return ChannelInfo(
        id=int(data["id"]),
        name=str(data.get("name") or ""),
        kind=KINDS.get(int(data["type"]), "private_thread"),
        topic=str(data.get("topic") or ""),
        parent=parent,
        category=(categories or {}).get(above),
        uncategorised=categories is not None and not above,
    )
