"""Passes on what is said, edited and deleted, so that memory follows it."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import discord
from discord.ext import commands

from botrunner import adapters
from botrunner.gathering import Gathering
from botrunner.quiet import log_failure
from memory import capture
from memory.conf import get_config

if TYPE_CHECKING:
    from botrunner.client import MusebotClient

logger = logging.getLogger(__name__)

REMEMBERED_DELETIONS = 2000


class CaptureCog(commands.Cog):
    """Listens. What is said goes to ``memory.capture``, whose first step is the gate of consent, and nowhere else.

    discord.py handles each event in a task of its own; a lock for each channel keeps their order, so that an edit never
    overtakes the message that it changes. Nothing relies on discord.py's cache of messages, which is off.
    """

    def __init__(self, bot: MusebotClient) -> None:
        self.bot = bot
        self._gathering = Gathering(bot.bridge)
        self._order: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()
        self._deleted: deque[int] = deque(maxlen=REMEMBERED_DELETIONS)

    def lock(self, channel_id: int) -> asyncio.Lock:
        """Held while something of this channel is written; waiting for it is in order of arrival."""
        return self._order.setdefault(channel_id, asyncio.Lock())

    async def store(self, message: discord.Message) -> int | None:
        """Stores a message if it is to be remembered; returns its key. Failing is logged and no reason not to reply."""
        if (
            not get_config().memory_enabled
            or not adapters.is_plain(message)
            or self.shut_out(message.channel)
        ):
            return None
        lock = self.lock(message.channel.id)
        async with lock:
            if message.id in self._deleted:
                return None
            marks = self.bot.histories.marks
            try:
                value = adapters.incoming(message, self.bot.me)
                key = await self._gathering.store(value)
            except Exception as error:
                marks.failed(message.channel.id, message.id)
                log_failure(logger, f"storing message {message.id}", error)
                return None
            marks.saw(value.guild.id, message.channel.id, message.id)
            return key

    async def store_reply(self, question: discord.Message, parts: Any, text: str) -> int | None:
        """Stores the bot's answer; it belongs to the member who asked, and hangs on their consent."""
        if not get_config().memory_enabled or self.shut_out(question.channel):
            return None
        value = adapters.reply_of_bot(
            bot=self.bot.me,
            question=question,
            parts=[part.message.id for part in parts],
            text=text,
            sent_at=parts[0].created_at,
        )
        lock = self.lock(question.channel.id)
        async with lock:
            if any(part.message.id in self._deleted for part in parts):
                return None
            return await self.bot.bridge.capture(capture.record_reply, value, owner_id=question.author.id)

    def shut_out(self, channel: Any) -> bool:
        """Whether the configuration bars the bot from a channel (a thread: or from the one that it belongs to)."""
        barred = get_config().discord.channels_disallowed
        return channel.id in barred or getattr(channel, "parent_id", None) in barred

    @commands.Cog.listener()
    async def on_raw_message_edit(self, payload: discord.RawMessageUpdateEvent) -> None:
        author = payload.data.get("author") or {}
        if str(author.get("id", "")) == str(self.bot.me.id):
            return  # the bot's own edits while an answer is written
        guild = self.bot.get_guild(payload.guild_id) if payload.guild_id else None
        edit = adapters.edit_of(payload, self.bot.me.id, adapters.bot_roles(guild))
        if edit is not None:
            text, at = edit
            await self._follow(
                payload.channel_id,
                "an edit",
                capture.edit_message,
                discord_id=payload.message_id,
                text=text,
                edited_at=at,
            )

    @commands.Cog.listener()
    async def on_raw_message_delete(self, payload: discord.RawMessageDeleteEvent) -> None:
        await self._forget(payload.channel_id, {payload.message_id})

    @commands.Cog.listener()
    async def on_raw_bulk_message_delete(self, payload: discord.RawBulkMessageDeleteEvent) -> None:
        await self._forget(payload.channel_id, payload.message_ids)

    @commands.Cog.listener()
    async def on_guild_channel_delete(self, channel: discord.abc.GuildChannel) -> None:
        await self._follow_slowly(channel.id, "the deletion of a channel", capture.forget_channel)

    @commands.Cog.listener()
    async def on_raw_thread_delete(self, payload: discord.RawThreadDeleteEvent) -> None:
        await self._follow_slowly(payload.thread_id, "the deletion of a thread", capture.forget_channel)

    @commands.Cog.listener()
    async def on_guild_remove(self, guild: discord.Guild) -> None:
        """The bot was removed, or the server deleted: a matter of retention. (A server that is only out of reach is ``guild_unavailable``.)"""
        await self._follow_slowly(guild.id, "leaving a server", capture.leave_guild)

    async def _forget(self, channel_id: int, message_ids: Iterable[int]) -> None:
        ids = frozenset(message_ids)
        self._deleted.extend(ids)
        self.bot.replies.deleted(ids)
        await self._follow(channel_id, "a deletion", capture.forget_messages, sorted(ids))

    async def _follow(
        self, place: int, what: str, function: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> None:
        lock = self.lock(place)
        async with lock:
            try:
                await self.bot.bridge.capture(function, *args, **kwargs)
            except Exception as error:
                log_failure(logger, f"following {what}", error)

    async def _follow_slowly(self, place: int, what: str, function: Callable[[int], Any]) -> None:
        """For what may touch many messages and must not hold up those of other channels."""
        lock = self.lock(place)
        async with lock:
            try:
                await self.bot.bridge.command(function, place)
            except Exception as error:
                log_failure(logger, f"following {what}", error)
