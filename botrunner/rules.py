"""When the bot answers: by who is called, where, and what the configuration, the dashboard and Discord allow."""

from __future__ import annotations

import random
from typing import Any

import discord

from botrunner import adapters
from memory.conf import DiscordConfig, get_config
from memory.policies import Policy, policy_for
from memory.types import TurnRequest, TurnResult

NO_WORDS = "(They called you without saying anything.)"


def turn_request(message: discord.Message, bot: discord.ClientUser) -> TurnRequest:
    value = adapters.incoming(message, bot)
    files = ", ".join(f"[{attachment.filename}]" for attachment in value.attachments)
    return TurnRequest(
        question=value.text or files or NO_WORDS,
        asker=value.author,
        guild=value.guild,
        channel=value.channel,
        message_id=value.id,
        is_group=message.guild is not None,
        locale=str(message.guild.preferred_locale) if message.guild is not None else "",
    )


def shown_text(result: TurnResult | None) -> str:
    """What is shown of a turn; Discord does not take an empty message."""
    text = result.text if result is not None else ""
    return text if text.strip() else get_config().chat.error_message


def may_want_answer(message: discord.Message) -> bool:
    """What can be said without the database: by the configuration's lists and by Discord's permissions."""
    config = get_config().discord
    if message.guild is None:
        return may_write_in_private(message.author, config)
    return is_channel_allowed(message.channel, config) and may_send(message.channel)


def wants_answer(message: discord.Message, bot: discord.ClientUser, policy: Policy) -> bool:
    """Whether a message is to be answered, by the policy of its place."""
    if message.guild is None:
        return True  # who may write in private is a matter of the configuration alone
    by_chance = not policy.mention.value and random.random() * 100 < get_config().discord.response_rate
    return policy.reply.value and (by_chance or calls(message, bot))


def calls(message: discord.Message, bot: discord.ClientUser) -> bool:
    """Whether a message mentions the bot or one of its roles, or replies to it."""
    if any(user.id == bot.id for user in message.mentions):
        return True
    if adapters.bot_roles(message.guild) & {role.id for role in message.role_mentions}:
        return True
    answered = message.reference.resolved if message.reference else None
    return (
        message.type is discord.MessageType.reply
        and isinstance(answered, discord.Message)
        and answered.author.id == bot.id
    )


def is_channel_allowed(channel: Any, config: DiscordConfig) -> bool:
    """By the configuration's lists; a thread counts as the channel that it belongs to."""
    ids = {channel.id, getattr(channel, "parent_id", None)}
    return not ids & config.channels_disallowed and (not config.channels or bool(ids & config.channels))


def may_write_in_private(author: discord.User | discord.Member, config: DiscordConfig) -> bool:
    allowed = {name.casefold() for name in config.private_message_users}
    return author.name.casefold() in allowed or str(author.id) in allowed


def may_send(channel: Any) -> bool:
    """Whether Discord lets the bot write there; asking the model first would be in vain."""
    permissions = channel.permissions_for(channel.guild.me)
    in_thread = isinstance(channel, discord.Thread)
    return bool(permissions.send_messages_in_threads if in_thread else permissions.send_messages)


def is_silenced(message: discord.Message) -> bool:
    """Whether replies are switched off where a message stands. Reads the database."""
    return message.guild is not None and not policy_of(message).reply.value


def policy_of(message: discord.Message) -> Policy:
    """What the configuration and the dashboard say of the place of a message, as of now. Reads the database."""
    channel: Any = message.channel
    parent = getattr(channel, "parent_id", None)
    nearest = [channel.id] if parent is None else [channel.id, parent]
    return policy_for(message.guild.id if message.guild is not None else channel.id, nearest)
