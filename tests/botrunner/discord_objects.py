"""discord.py's own objects, made from payloads as Discord sends them, without any connection."""

from __future__ import annotations

from typing import Any
from unittest.mock import MagicMock

import discord
from discord.flags import MemberCacheFlags

from tests.factories import snowflake

BOT = 1_200_000_000_000_000_001
TEXT, VOICE, CATEGORY, ANNOUNCEMENT, FORUM, PUBLIC_THREAD, PRIVATE_THREAD = 0, 2, 4, 5, 15, 11, 12


def state() -> Any:
    fake = MagicMock()
    fake.self_id = BOT
    fake.shard_count = None
    fake.member_cache_flags = MemberCacheFlags.all()
    fake.cache_guild_expressions = False
    fake.user = discord.ClientUser(state=fake, data=user_data(BOT, "musebot", bot=True))
    fake.store_user = lambda data, cache=True: discord.User(state=fake, data=data)
    fake.create_user = fake.store_user
    fake._get_guild = lambda id: None
    fake._get_message = lambda id: None
    return fake


def user_data(id: int, name: str, *, bot: bool = False) -> dict[str, Any]:
    return {
        "id": str(id),
        "username": name,
        "discriminator": "0",
        "avatar": None,
        "global_name": name.title(),
        "bot": bot,
        "public_flags": 0,
    }


def role_data(id: int, name: str = "role", permissions: int = 0, **extra: Any) -> dict[str, Any]:
    base = {
        "id": str(id),
        "name": name,
        "permissions": str(permissions),
        "position": 1,
        "color": 0,
        "hoist": False,
    }
    colours = {"primary_color": 0, "secondary_color": None, "tertiary_color": None}
    return {**base, "managed": False, "mentionable": True, "flags": 0, "colors": colours, **extra}


def member_data(id: int, name: str, roles: list[int] | None = None, *, bot: bool = False) -> dict[str, Any]:
    return {
        "user": user_data(id, name, bot=bot),
        "roles": [str(role) for role in roles or ()],
        "joined_at": "2026-01-01T00:00:00+00:00",
        "nick": None,
        "flags": 0,
        "deaf": False,
        "mute": False,
    }


def channel_data(
    id: int, name: str = "general", type: int = TEXT, overwrites: list[Any] | None = None
) -> dict[str, Any]:
    data = {
        "id": str(id),
        "name": name,
        "type": type,
        "position": 0,
        "permission_overwrites": overwrites or [],
    }
    if type == VOICE:
        data |= {"bitrate": 64000, "user_limit": 0}
    return {
        **data,
        "topic": "of this and that",
        "nsfw": False,
        "parent_id": None,
        "flags": 0,
        "available_tags": [],
    }


def thread_data(id: int, parent: int, guild: int, type: int = PUBLIC_THREAD) -> dict[str, Any]:
    return {
        "id": str(id),
        "parent_id": str(parent),
        "guild_id": str(guild),
        "owner_id": "1",
        "name": "thread",
        "type": type,
        "message_count": 0,
        "member_count": 0,
        "rate_limit_per_user": 0,
        "flags": 0,
        "thread_metadata": {
            "archived": False,
            "auto_archive_duration": 60,
            "archive_timestamp": "2026-01-01T00:00:00+00:00",
            "locked": False,
        },
    }


def overwrite(id: int, *, member: bool = False, allow: int = 0, deny: int = 0) -> dict[str, Any]:
    return {"id": str(id), "type": 1 if member else 0, "allow": str(allow), "deny": str(deny)}


def guild(
    *,
    id: int | None = None,
    everyone: int = 0,
    roles: list[Any] | None = None,
    members: list[Any] | None = None,
    channels: list[Any] | None = None,
    threads: list[Any] | None = None,
    owner: int = 1,
    fake: Any = None,
) -> discord.Guild:
    id = id or snowflake()
    fake = fake or state()
    data = {
        "id": str(id),
        "name": "Harbour",
        "owner_id": str(owner),
        "roles": [role_data(id, "@everyone", everyone), *(roles or ())],
        "members": [member_data(BOT, "musebot", bot=True), *(members or ())],
        "channels": channels or [],
        "threads": threads or [],
        "emojis": [],
        "stickers": [],
        "features": [],
        "member_count": 1,
    }
    return discord.Guild(data=data, state=fake)


def message(
    text: str,
    *,
    guild: discord.Guild | None,
    channel: Any,
    author: dict[str, Any] | None = None,
    fake: Any = None,
    **extra: Any,
) -> discord.Message:
    fake = fake or (guild._state if guild else state())
    fake._get_guild = lambda id: guild
    data = {
        "id": str(snowflake()),
        "channel_id": str(channel.id),
        "content": text,
        "author": author or user_data(snowflake(), "ada"),
        "timestamp": "2026-03-01T12:00:00+00:00",
        "edited_timestamp": None,
        "tts": False,
        "mention_everyone": False,
        "mentions": [],
        "mention_roles": [],
        "attachments": [],
        "embeds": [],
        "pinned": False,
        "type": 0,
        "components": [],
        **extra,
    }
    if guild is not None:
        data["guild_id"] = str(guild.id)
    return discord.Message(state=fake, channel=channel, data=data)
