"""Keeps ``memory`` told who can read which channel, so that its rules hold outside of Discord as well."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import discord
from discord.ext import commands, tasks

from botrunner.permissions import GuildRules, readers, rules_of
from botrunner.quiet import log_failure
from memory import snapshots
from memory.capture import remember_guild
from memory.types import GuildInfo

if TYPE_CHECKING:
    from botrunner.client import MusebotClient

logger = logging.getLogger(__name__)

DELAY = 2.0
"""Seconds from a change to the snapshot that holds it: changes come in groups."""
LONGEST_DELAY = 60.0


class ReadersCog(commands.Cog):
    """Takes a snapshot of a server at start, after changes to roles, channels and members, and every hour."""

    def __init__(self, bot: MusebotClient) -> None:
        self.bot = bot
        self._waiting: dict[int, asyncio.Task[None]] = {}
        self._again: set[int] = set()

    async def cog_load(self) -> None:
        self.hourly.start()

    async def cog_unload(self) -> None:
        self.hourly.cancel()
        for task in self._waiting.values():
            task.cancel()

    @tasks.loop(hours=1)
    async def hourly(self) -> None:
        if self.bot.is_ready():
            self.refresh_all()

    def refresh_all(self) -> None:
        for guild in self.bot.guilds:
            self.refresh(guild, delay=0)

    def refresh(self, guild: discord.Guild, *, delay: float = DELAY) -> None:
        """Takes a snapshot soon; further changes until then are part of it."""
        if guild.id in self._waiting:
            self._again.add(guild.id)
            return
        self._waiting[guild.id] = asyncio.create_task(self._refresh(guild.id, delay))

    async def _refresh(self, guild_id: int, delay: float) -> None:
        loop = asyncio.get_running_loop()
        try:
            while True:
                await asyncio.sleep(delay)
                self._again.discard(guild_id)
                started = loop.time()
                await self._take(guild_id)
                if guild_id not in self._again:
                    return
                # A big server whose members come and go all the time is not computed without a pause.
                delay = min(max(DELAY, 10 * (loop.time() - started)), LONGEST_DELAY)
        except Exception as error:
            log_failure(logger, f"taking a snapshot of server {guild_id}", error)
        finally:
            self._waiting.pop(guild_id, None)

    async def _take(self, guild_id: int) -> None:
        guild = self.bot.get_guild(guild_id)
        if guild is None or guild.unavailable:
            return
        if not guild.chunked:
            await guild.chunk()
        rules = rules_of(guild)
        await self.bot.bridge.command(_record, rules, GuildInfo(id=guild.id, name=guild.name))

    @commands.Cog.listener()
    async def on_guild_available(self, guild: discord.Guild) -> None:
        self.refresh(guild)

    @commands.Cog.listener()
    async def on_guild_join(self, guild: discord.Guild) -> None:
        self.refresh(guild)

    @commands.Cog.listener()
    async def on_guild_update(self, before: discord.Guild, after: discord.Guild) -> None:
        if (before.name, before.owner_id) != (after.name, after.owner_id):
            self.refresh(after)

    @commands.Cog.listener()
    async def on_guild_channel_create(self, channel: discord.abc.GuildChannel) -> None:
        self.refresh(channel.guild)

    @commands.Cog.listener()
    async def on_guild_channel_delete(self, channel: discord.abc.GuildChannel) -> None:
        self.refresh(channel.guild)

    @commands.Cog.listener()
    async def on_guild_channel_update(self, before: Any, after: discord.abc.GuildChannel) -> None:
        self.refresh(after.guild)

    @commands.Cog.listener()
    async def on_thread_create(self, thread: discord.Thread) -> None:
        self.refresh(thread.guild)

    @commands.Cog.listener()
    async def on_thread_update(self, before: discord.Thread, after: discord.Thread) -> None:
        self.refresh(after.guild)

    @commands.Cog.listener()
    async def on_guild_role_create(self, role: discord.Role) -> None:
        self.refresh(role.guild)

    @commands.Cog.listener()
    async def on_guild_role_delete(self, role: discord.Role) -> None:
        self.refresh(role.guild)

    @commands.Cog.listener()
    async def on_guild_role_update(self, before: discord.Role, after: discord.Role) -> None:
        if before.permissions != after.permissions:
            self.refresh(after.guild)

    @commands.Cog.listener()
    async def on_member_join(self, member: discord.Member) -> None:
        self.refresh(member.guild)

    @commands.Cog.listener()
    async def on_raw_member_remove(self, payload: discord.RawMemberRemoveEvent) -> None:
        guild = self.bot.get_guild(payload.guild_id)
        if guild is not None:
            self.refresh(guild)

    @commands.Cog.listener()
    async def on_member_update(self, before: discord.Member, after: discord.Member) -> None:
        if before.roles != after.roles:
            self.refresh(after.guild)


def _record(rules: GuildRules, guild: GuildInfo) -> None:
    channels = [*(channel.info for channel in rules.channels), *rules.threads]
    remember_guild(guild, channels)  # their names as well
    snapshots.record(guild=guild, readers=readers(rules), channels=channels)
