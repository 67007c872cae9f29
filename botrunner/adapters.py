"""Discord's objects to the plain values that ``memory`` takes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import discord
from discord.utils import parse_time

from botrunner.mentions import without_mentions
from memory.types import AttachmentInfo, ChannelInfo, GuildInfo, IncomingMessage, Person

KINDS = {
    discord.ChannelType.text: "text",
    discord.ChannelType.news: "announcement",
    discord.ChannelType.voice: "voice",
    discord.ChannelType.stage_voice: "stage",
    discord.ChannelType.forum: "forum",
    discord.ChannelType.media: "forum",
    discord.ChannelType.public_thread: "public_thread",
    discord.ChannelType.news_thread: "public_thread",
    discord.ChannelType.private_thread: "private_thread",
    discord.ChannelType.private: "dm",
}
"""The channels in which people can write, and the forums that hold such threads."""


def is_plain(message: discord.Message) -> bool:
    """Whether a person wrote this: no bot, webhook or system message. Its text is not looked at."""
    return (
        message.type in (discord.MessageType.default, discord.MessageType.reply)
        and not message.author.bot
        and message.webhook_id is None
    )


def incoming(message: discord.Message, bot: discord.ClientUser) -> IncomingMessage:
    """A message as capture takes it; the channel has to be one that is known (see ``KINDS``)."""
    return IncomingMessage(
        id=message.id,
        guild=guild_of(message.guild, message.channel.id),
        channel=channel_of(message.channel),
        author=person_of(message.author),
        text=without_mentions(message.content, bot.id, bot_roles(message.guild)),
        sent_at=message.created_at,
        edited_at=message.edited_at,
        reply_to=answered_id(message),
        mentions_users=tuple(person_of(user) for user in message.mentions if user.id != bot.id),
        mentions_roles=tuple((role.id, role.name) for role in message.role_mentions),
        mentions_everyone=message.mention_everyone,
        attachments=tuple(map(attachment_of, message.attachments)),
    )


def reply_of_bot(
    *, bot: discord.ClientUser, question: discord.Message, parts: Sequence[int], text: str, sent_at: datetime
) -> IncomingMessage:
    """The bot's answer as one message, however many ``parts`` (their ids, in order) it was sent in."""
    name = question.guild.me.display_name if question.guild else bot.display_name
    return IncomingMessage(
        id=parts[0],
        guild=guild_of(question.guild, question.channel.id),
        channel=channel_of(question.channel),
        author=Person(id=bot.id, username=bot.name, display_name=name, is_bot=True),
        text=text,
        sent_at=sent_at,
        reply_to=question.id,
        later_parts=tuple(parts[1:]),
    )


def guild_of(guild: discord.Guild | None, channel_id: int) -> GuildInfo:
    """The server, or the scope of a private conversation, which is its channel."""
    if guild is None:
        return GuildInfo(id=channel_id, kind="dm")
    return GuildInfo(id=guild.id, name=guild.name)


def channel_of(channel: Any) -> ChannelInfo:
    """Any channel or thread. What a thread belongs to goes with it, since its settings count for the thread too.

    So does the category that a channel stands in.
    """
    parent = category = None
    in_server = isinstance(channel, discord.abc.GuildChannel)
    if in_server and channel.category is not None:
        category = ChannelInfo(id=channel.category.id, name=channel.category.name, kind="category")
    if isinstance(channel, discord.Thread):
        known = channel.parent
        parent = channel_of(known) if known is not None else ChannelInfo(id=channel.parent_id)
    return ChannelInfo(
        id=channel.id,
        name=getattr(channel, "name", None) or "",
        # An unknown kind is taken for the most private one there is.
        kind=KINDS.get(getattr(channel, "type", None), "private_thread"),  # type: ignore[arg-type]
        topic=getattr(channel, "topic", None) or "",
        parent=parent,
        category=category,
        uncategorised=in_server and channel.category_id is None,
    )


def person_of(user: discord.User | discord.Member | discord.ClientUser) -> Person:
    roles: Iterable[discord.Role] = user.roles if isinstance(user, discord.Member) else ()
    return Person(
        id=user.id,
        username=user.name,
        display_name=user.display_name,
        is_bot=user.bot,
        roles=tuple((role.id, role.name) for role in roles if not role.is_default()),
    )


def attachment_of(attachment: discord.Attachment) -> AttachmentInfo:
    return AttachmentInfo(
        id=attachment.id,
        filename=attachment.filename,
        url=attachment.url,
        content_type=attachment.content_type or "",
        size=attachment.size,
    )


def answered_id(message: discord.Message) -> int | None:
    """Id of the message that this one is a reply to (a forwarded message has a reference as well)."""
    if message.type is not discord.MessageType.reply or message.reference is None:
        return None
    return message.reference.message_id


def bot_roles(guild: discord.Guild | None) -> frozenset[int]:
    """Roles of the bot whose mention means the bot; everybody's role is not one."""
    if guild is None or guild.me is None:
        return frozenset()
    return frozenset(role.id for role in guild.me.roles if not role.is_default())


def edit_of(
    payload: discord.RawMessageUpdateEvent, bot_id: int, roles: Iterable[int]
) -> tuple[str, datetime] | None:
    """The new text and when it was edited; None where nobody edited it (Discord adding the preview of a link, say)."""
    data: dict[str, Any] = dict(payload.data)
    content, at = data.get("content"), parse_time(data.get("edited_timestamp"))
    if content is None or at is None:
        return None
    return without_mentions(content, bot_id, roles), at
