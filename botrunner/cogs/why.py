"""The message command *Why this answer?*: Apps → Why this answer? on one of the bot's messages."""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING, Any

import discord
from discord import app_commands
from discord.ext import commands

from botrunner import explaining
from botrunner.cogs.memory import FAILED, UNANSWERABLE
from botrunner.explaining import Asked, Place
from botrunner.quiet import log_failure
from botrunner.splitting import split

if TYPE_CHECKING:
    from botrunner.client import MusebotClient

logger = logging.getLogger(__name__)

NAME = "Why this answer?"
LOOK_BACK = 30
"""Messages before a later part of a long answer among which its first part is looked for."""


class WhyCog(commands.Cog):
    """Only the person who used the command sees what it says, whether or not they have an account of the dashboard."""

    def __init__(self, bot: MusebotClient) -> None:
        self.bot = bot
        self.menu = app_commands.ContextMenu(
            name=NAME,
            callback=self.why,
            allowed_contexts=app_commands.AppCommandContext(guild=True, dm_channel=True),
            allowed_installs=app_commands.AppInstallationType(guild=True),
        )

    async def cog_load(self) -> None:
        self.bot.tree.add_command(self.menu)

    async def cog_unload(self) -> None:
        self.bot.tree.remove_command(self.menu.name, type=self.menu.type)

    async def why(self, interaction: discord.Interaction[Any], message: discord.Message) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        try:
            text = await self._explain(interaction, message)
        except Exception as error:
            log_failure(logger, "explaining an answer", error)
            text = FAILED
        try:
            for part in split(text):
                await interaction.followup.send(part, ephemeral=True, suppress_embeds=True)
        except UNANSWERABLE as error:
            logger.warning("a command could not be answered any more (%s)", type(error).__name__)

    async def _explain(self, interaction: discord.Interaction[Any], message: discord.Message) -> str:
        if message.author.id != self.bot.me.id:
            return explaining.NOT_MINE
        if message.interaction_metadata is not None:
            return explaining.A_COMMAND
        parts, first = await self._parts(message)
        question_id = first.reference.message_id if first is not None and first.reference else None
        permissions = interaction.permissions
        asked = Asked(
            viewer_id=interaction.user.id,
            guild_id=interaction.guild_id,
            parts=parts,
            question_id=question_id,
            questioner_id=await self._questioner(interaction, message, first, question_id),
            moderates=interaction.guild_id is not None
            and (permissions.manage_messages or permissions.manage_guild),
        )
        reader = Reader(interaction)
        return await self.bot.bridge.command(explaining.explain, asked, reader.may_read)

    async def _parts(self, message: discord.Message) -> tuple[tuple[int, ...], discord.Message | None]:
        """Ids from this message back to the first part of its answer, and that part; None if it cannot be found.

        Only the first part refers to the question; answers in a channel never interleave.
        """
        if message.reference is not None:
            return (message.id,), message
        ids = [message.id]
        with contextlib.suppress(discord.HTTPException, discord.ClientException):
            async for earlier in message.channel.history(before=message, limit=LOOK_BACK):
                if earlier.author.id != self.bot.me.id:
                    continue
                ids.append(earlier.id)
                if earlier.reference is not None:
                    return tuple(ids), earlier
        return (message.id,), None

    async def _questioner(
        self,
        interaction: discord.Interaction[Any],
        message: discord.Message,
        first: discord.Message | None,
        question_id: int | None,
    ) -> int | None:
        """Who wrote the question. It is asked of Discord: of people who have not opted in, nothing is stored here."""
        if interaction.guild_id is None:
            return interaction.user.id  # nobody else is there
        answered = first.reference.resolved if first is not None and first.reference else None
        if isinstance(answered, discord.Message):
            return answered.author.id
        if question_id is None:
            return None
        with contextlib.suppress(discord.HTTPException):
            return (await message.channel.fetch_message(question_id)).author.id
        return None


class Reader:
    """What the person who uses a command can read back, by Discord's permissions as they are now."""

    def __init__(self, interaction: discord.Interaction[Any]) -> None:
        self._guild = interaction.guild
        self._here = interaction.channel_id
        self._user = interaction.user
        self._manages_threads = bool(interaction.permissions.manage_threads)

    def may_read(self, place: Place) -> bool:
        """Fails closed: what is not known, or is a thread of invited people, is not shown elsewhere."""
        if place.channel_id == self._here:
            return True
        if self._guild is None or not isinstance(self._user, discord.Member):
            return False
        channel = self._guild.get_channel(place.parent_id or place.channel_id)
        if channel is None or (place.private and not self._manages_threads):
            return False
        permissions = channel.permissions_for(self._user)
        hears = permissions.connect or not isinstance(channel, discord.VoiceChannel | discord.StageChannel)
        return permissions.view_channel and permissions.read_message_history and hears
