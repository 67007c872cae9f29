"""A community of invented people, to look at before a real one is connected. Everything of it can be removed again."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from django.db import transaction
from django.utils import timezone

from memory import capture, consent, erasure, snapshots
from memory.capture.importing import ids
from memory.conf import get_config
from memory.errors import MemoryDisabled
from memory.management import inline
from memory.models import ConsentEvent, ErasedMessage, ErasureRequest, Guild, Member, Message, SubjectEpoch
from memory.pseudonyms import subject_hash
from memory.types import ChannelInfo, GuildInfo, IncomingMessage, Person

ORIGIN = "sample"


def _id(kind: str, name: str) -> int:
    return ids.derived(kind, f"sample community: {name}")


GUILD_ID = _id("guild", "")


@dataclass(frozen=True, slots=True)
class Question:
    """Something to ask the bot about the community. ``asker_id`` is one of its members."""

    text: str
    asker_id: int


@cache
def _community() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(Path(__file__).with_name("community.json").read_text(encoding="utf-8"))
    return data


def is_loaded() -> bool:
    return Guild.objects.filter(discord_id=GUILD_ID).exists()


def questions() -> list[Question]:
    """Questions that the community's messages answer."""
    return [Question(item["text"], _id("user", item["asker"])) for item in _community()["questions"]]


def load(*, now: datetime | None = None) -> dict[str, int]:
    """Stores and embeds the community; what is there already stays. Returns counts of what is there now.

    Raises ``MemoryDisabled`` while memory is off.
    """
    if not get_config().memory_enabled:
        raise MemoryDisabled(
            "Long-term memory is off: set MUSEBOT_EMBEDDING_MODEL to see the sample community."
        )
    if Member.objects.filter(user_id__in=_member_ids()).exclude(withdrawn_at=None).exists():
        remove()  # a removal that was broken off
    data = _community()
    guild = GuildInfo(GUILD_ID, data["server"]["name"])
    channels = {
        item["name"]: ChannelInfo(_id("channel", item["name"]), item["name"], topic=item["topic"])
        for item in data["channels"]
    }
    people = {
        item["username"]: Person(_id("user", item["username"]), item["username"], item["display_name"])
        for item in data["members"]
    }
    with transaction.atomic():
        capture.remember_guild(guild, list(channels.values()))
        Guild.objects.filter(discord_id=GUILD_ID).update(is_sample=True)
        for person in people.values():
            consent.give(person=person, origin=ORIGIN, guild=guild)
    everybody = [person.id for person in people.values()]
    snapshots.record(
        guild=guild,
        channels=list(channels.values()),
        readers={
            channels[item["name"]].id: [people[name].id for name in item["members"]]
            if item["private"]
            else everybody
            for item in data["channels"]
        },
    )
    capture.record_messages(_messages(data, guild, channels, people, now or timezone.now()), source="demo")
    inline.embed_waiting()
    row = Guild.objects.get(discord_id=GUILD_ID)
    return {"members": len(people), "channels": len(channels), "messages": row.message_count}


def _messages(
    data: dict[str, Any],
    guild: GuildInfo,
    channels: dict[str, ChannelInfo],
    people: dict[str, Person],
    now: datetime,
) -> list[IncomingMessage]:
    return [
        IncomingMessage(
            id=_id("message", str(number)),
            guild=guild,
            channel=channels[item["channel"]],
            author=people[item["user"]],
            text=item["text"],
            sent_at=now - timedelta(days=item["days_ago"]),
            reply_to=None if item["reply_to"] is None else _id("message", str(item["reply_to"])),
        )
        for number, item in enumerate(data["messages"])
    ]


def remove() -> dict[str, int]:
    """Erases the whole community, receipts included, since nobody real stands behind them. Returns counts of what went."""
    guild = Guild.objects.filter(discord_id=GUILD_ID).first()
    members = list(
        Member.objects.filter(user_id__in=_member_ids(), origin=ORIGIN).values_list("user_id", flat=True)
    )
    counts = {
        "members": len(members),
        "channels": guild.channels.count() if guild else 0,
        "messages": Message.objects.filter(guild=guild).count() if guild else 0,
    }
    if guild is not None:
        capture.forget_guild(GUILD_ID)
    for user_id in members:
        request = erasure.request(user_id=user_id, origin="command")
        erasure.run(request.id)
    with transaction.atomic():
        subjects = [subject_hash(user_id) for user_id in _member_ids()]
        ConsentEvent.objects.filter(subject__in=subjects).delete()
        ErasureRequest.objects.filter(subject__in=subjects, state=ErasureRequest.State.DONE).delete()
        SubjectEpoch.objects.filter(subject__in=subjects).delete()
        ErasedMessage.objects.filter(subject__in=subjects).delete()
        Guild.objects.filter(discord_id=GUILD_ID, message_count=0).delete()
    return counts


def _member_ids() -> list[int]:
    return [_id("user", item["username"]) for item in _community()["members"]]
