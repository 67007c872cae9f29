"""Keeps track of what was seen, so that what is missed is caught up; of who leaves; and tells members when their history is read."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import discord
from discord.ext import commands, tasks

from botrunner import adapters, histories
from botrunner.marks import Marks
from botrunner.quiet import log_failure
from botrunner.splitting import split
from memory import capture, retention
from memory.capture import backfill
from memory.conf import get_config
from memory.types import GuildInfo

if TYPE_CHECKING:
    from botrunner.client import MusebotClient

logger = logging.getLogger(__name__)

FLUSH_SECONDS = 3.0
TELL_SECONDS = 20.0
FOLLOW_SECONDS = 4.0
FOLLOWED_FOR = 13 * 60.0
"""An interaction can be answered for 15 minutes."""


class HistoryCog(commands.Cog):
    """Marks rest from the moment a session begins until what was missed before it is noted as work."""

    def __init__(self, bot: MusebotClient) -> None:
        self.bot = bot
        self.marks = Marks()
        self._followed: set[int] = set()
        self._running: set[asyncio.Task[None]] = set()

    async def cog_load(self) -> None:
        self.flushing.start()
        self.telling.start()

    async def cog_unload(self) -> None:
        self.flushing.cancel()
        self.telling.cancel()
        for task in self._running:
            task.cancel()

    # -- what was seen
    @commands.Cog.listener()
    async def on_connect(self) -> None:
        """A session began. What comes now is newer than what may have been missed."""
        self.marks.freeze()

    @tasks.loop(seconds=FLUSH_SECONDS)
    async def flushing(self) -> None:
        await self.flush()

    async def flush(self) -> None:
        """Writes what was seen since the last time, however much was said, in one transaction."""
        seen = self.marks.take()
        if not seen:
            return
        try:
            await self.bot.bridge.capture(backfill.flush_marks, seen)
        except Exception as error:
            self.marks.give_back(seen)
            log_failure(logger, "noting what was seen", error)

    async def catch_up(self) -> None:
        """Once connected: notes what is to be read, and who and what has left meanwhile."""
        if not get_config().memory_enabled:
            return
        here = {guild.id for guild in self.bot.guilds}
        for gone in await self.bot.bridge.command(histories.left_guilds, here):
            if self.bot.serves(gone):
                await self.bot.bridge.command(capture.leave_guild, gone)
        present = [guild for guild in self.bot.guilds if not guild.unavailable]
        await self.bot.bridge.command(
            backfill.begin_catch_up, [guild.id for guild in present], private=self.bot.serves(None)
        )
        self.marks.thaw()
        for guild in present:
            await self._compare_members(guild)

    async def _compare_members(self, guild: discord.Guild) -> None:
        if not guild.chunked:
            return
        known = await self.bot.bridge.command(retention.members_of, guild.id)
        here = {user_id for user_id in known if guild.get_member(user_id) is not None}
        away = [user_id for user_id, left in known.items() if not left and user_id not in here]
        back = [user_id for user_id in here if known[user_id]]
        if away:
            await self.bot.bridge.command(retention.note_left, guild.id, away)
        if back:
            await self.bot.bridge.command(retention.note_back, guild.id, back)

    # -- who leaves
    @commands.Cog.listener()
    async def on_raw_member_remove(self, payload: discord.RawMemberRemoveEvent) -> None:
        await self._quietly(retention.note_left, payload.guild_id, [payload.user.id])

    @commands.Cog.listener()
    async def on_member_join(self, member: discord.Member) -> None:
        await self._quietly(retention.note_back, member.guild.id, [member.id])

    @commands.Cog.listener()
    async def on_guild_join(self, guild: discord.Guild) -> None:
        await self._quietly(capture.remember_guild, GuildInfo(id=guild.id, name=guild.name))

    async def _quietly(self, function: Any, *args: Any) -> None:
        try:
            await self.bot.bridge.command(function, *args)
        except Exception as error:
            log_failure(logger, "following who leaves", error)

    # -- telling
    def shared_guilds(self, interaction: discord.Interaction[Any]) -> Sequence[GuildInfo]:
        """The servers that the bot shares with a person, and the conversation that they are in."""
        user = interaction.user.id
        shared = [guild for guild in self.bot.guilds if guild.get_member(user) is not None]
        found = [GuildInfo(id=guild.id, name=guild.name) for guild in shared]
        here = adapters.guild_of(interaction.guild, interaction.channel_id or 0)
        return found if here.id in {one.id for one in found} else [*found, here]

    def follow(self, interaction: discord.Interaction[Any], text: str) -> None:
        """Shows in the answer to a command how far reading has got, as long as Discord lets it be changed."""
        task = asyncio.create_task(self._follow(interaction, text))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _follow(self, interaction: discord.Interaction[Any], text: str) -> None:
        user_id = interaction.user.id
        if user_id in self._followed:
            return
        self._followed.add(user_id)
        loop = asyncio.get_running_loop()
        until, shown = loop.time() + FOLLOWED_FOR, ""
        try:
            while loop.time() < until:
                ended, line = await self.bot.bridge.command(histories.how_far, user_id)
                if line != shown:
                    await interaction.edit_original_response(content=split(f"{text}\n\n{line}")[0])
                    shown = line
                if ended:
                    await self.bot.bridge.command(backfill.told, user_id)
                    return
                await asyncio.sleep(FOLLOW_SECONDS)
        except (TimeoutError, discord.HTTPException, OSError):
            pass  # the result goes by direct message
        except Exception as error:
            log_failure(logger, "showing how far reading has got", error)
        finally:
            self._followed.discard(user_id)

    @tasks.loop(seconds=TELL_SECONDS)
    async def telling(self) -> None:
        """Results that nobody is shown otherwise go by direct message; where that is closed they stand in ``/memory status``."""
        if not self.bot.is_ready() or not self.bot.serves(None):
            return
        try:
            results = await self.bot.bridge.command(histories.results, tuple(self._followed))
            for user_id, text in results.items():
                await self._tell(user_id, text)
                await self.bot.bridge.command(backfill.told, user_id)
        except Exception as error:
            log_failure(logger, "telling results", error)

    async def _tell(self, user_id: int, text: str) -> None:
        try:
            user = self.bot.get_user(user_id) or await self.bot.fetch_user(user_id)
            await user.send(text)
        except discord.HTTPException as error:
            logger.info("a result could not be sent by direct message (%s)", error.code)
