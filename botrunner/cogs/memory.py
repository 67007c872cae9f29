"""The commands: ``/memory remember``, ``forget``, ``status``, ``facts``, ``export`` and ``undo``, ``/new`` and ``/reset``."""

from __future__ import annotations

import io
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import discord
from discord import app_commands
from discord.ext import commands

from botrunner import adapters, fact_notices, notices, own_data
from botrunner.quiet import log_failure
from botrunner.replies import LOST
from botrunner.splitting import split
from memory import chat
from memory.errors import MusebotError

if TYPE_CHECKING:
    from botrunner.client import MusebotClient

logger = logging.getLogger(__name__)

UNANSWERABLE = (discord.HTTPException, RuntimeError, *LOST)
"""An interaction is over after 15 minutes; the connection may break; the bot may be stopping (a RuntimeError of aiohttp's)."""
FAILED = "That did not work, and nothing was changed. Please try again later."
ERASURE_FAILED = "Something went wrong before the erasure was complete. Please use `/memory forget` again: it goes on where it stopped."


class MemoryCog(commands.Cog):
    """Everything is answered ephemerally: only the person who asked sees it."""

    memory = app_commands.Group(
        name="memory",
        description="What I remember of you",
        allowed_contexts=app_commands.AppCommandContext(guild=True, dm_channel=True),
        allowed_installs=app_commands.AppInstallationType(guild=True),
    )

    fact = app_commands.Group(name="fact", description="Single facts about you", parent=memory)

    def __init__(self, bot: MusebotClient) -> None:
        self.bot = bot

    @memory.command(
        name="remember", description="Let me remember what you write, and read what you wrote before"
    )
    async def remember(self, interaction: discord.Interaction[Any]) -> None:
        text = await self._answer(
            interaction,
            FAILED,
            notices.remember,
            person=adapters.person_of(interaction.user),
            guild=adapters.guild_of(interaction.guild, interaction.channel_id or 0),
            histories_of=self.bot.histories.shared_guilds(interaction),
        )
        self.bot.histories.follow(interaction, text)

    @memory.command(
        name="forget", description="Erase everything I remember of you, for good, and stop remembering"
    )
    async def forget(self, interaction: discord.Interaction[Any]) -> None:
        await self._answer(interaction, ERASURE_FAILED, notices.forget, user_id=interaction.user.id)

    @memory.command(name="status", description="What I remember of you, and since when")
    async def status(self, interaction: discord.Interaction[Any]) -> None:
        await self._answer(interaction, FAILED, notices.status, user_id=interaction.user.id)

    @memory.command(name="export", description="Everything I remember of you, as a file")
    async def export(self, interaction: discord.Interaction[Any]) -> None:
        await self._answer(
            interaction, FAILED, own_data.export, file_name="musebot.json", user_id=interaction.user.id
        )

    @memory.command(name="undo", description="Take back the last change to what I noted about you")
    async def undo(self, interaction: discord.Interaction[Any]) -> None:
        await self._answer(
            interaction,
            FAILED,
            own_data.undo,
            user_id=interaction.user.id,
            private=interaction.guild_id is None,
        )

    @memory.command(name="facts", description="The facts that I keep about you")
    async def facts(self, interaction: discord.Interaction[Any]) -> None:
        await self._answer(interaction, FAILED, fact_notices.list_facts, user_id=interaction.user.id)

    @fact.command(name="forget", description="Forget one fact about you")
    @app_commands.describe(fact="Which one; begin to type")
    async def forget_fact(self, interaction: discord.Interaction[Any], fact: str) -> None:
        await self._answer(
            interaction, FAILED, fact_notices.forget_fact, user_id=interaction.user.id, fact=fact
        )

    @forget_fact.autocomplete("fact")
    async def suggest_facts(
        self, interaction: discord.Interaction[Any], current: str
    ) -> list[app_commands.Choice[str]]:
        """Only the member's own facts are ever suggested."""
        found = await self.bot.bridge.command(
            fact_notices.suggestions, user_id=interaction.user.id, typed=current
        )
        return [app_commands.Choice(name=name, value=value) for name, value in found]

    @app_commands.command(name="reset", description="Start afresh in this channel; what is remembered stays")
    @app_commands.default_permissions(manage_messages=True)
    @app_commands.allowed_contexts(guilds=True, dms=True)
    async def reset(self, interaction: discord.Interaction[Any]) -> None:
        def clear() -> str:
            chat.clear_context(interaction.channel_id or 0)
            return "Done: I no longer look at what was said in this channel before. Long-term memory is unchanged."

        await self._answer(interaction, FAILED, clear)

    @app_commands.command(name="new", description="Start a new session in this channel; what I know stays")
    @app_commands.default_permissions(manage_messages=True)
    @app_commands.allowed_contexts(guilds=True, dms=True)
    async def new(self, interaction: discord.Interaction[Any]) -> None:
        def begin() -> str:
            chat.new_session(interaction.channel_id or 0)
            return "Done: this is a new session. What I noted for the last one is cleared; what I know of you stays."

        await self._answer(interaction, FAILED, begin)

    async def _answer(
        self,
        interaction: discord.Interaction[Any],
        on_failure: str,
        function: Callable[..., str | bytes],
        *,
        file_name: str = "",
        **arguments: Any,
    ) -> str:
        """Acknowledges within Discord's three seconds, does the work on a thread, says how it went, and returns that.

        What is bytes is sent as a file.
        """
        await interaction.response.defer(ephemeral=True, thinking=True)
        files: list[discord.File] = []
        try:
            result = await self.bot.bridge.command(function, **arguments)
            text = result if isinstance(result, str) else "This is everything that I have stored of you."
            files = [discord.File(io.BytesIO(result), file_name)] if isinstance(result, bytes) else []
        except MusebotError as error:
            log_failure(
                logger, f"command {interaction.command and interaction.command.qualified_name}", error
            )
            text = error.message
        except Exception as error:
            log_failure(
                logger, f"command {interaction.command and interaction.command.qualified_name}", error
            )
            text = on_failure
        try:
            for part in split(text):
                await interaction.followup.send(part, ephemeral=True, files=files)
                files = []
        except UNANSWERABLE as error:
            logger.warning("a command could not be answered any more (%s)", type(error).__name__)
        return text


async def on_command_error(
    interaction: discord.Interaction[Any], error: app_commands.AppCommandError
) -> None:
    """The last resort for any command: a plain answer, and a record without content."""
    log_failure(logger, "a command", getattr(error, "original", error))
    text = "You may not use this here." if isinstance(error, app_commands.CheckFailure) else FAILED
    try:
        if interaction.response.is_done():
            await interaction.followup.send(text, ephemeral=True)
        else:
            await interaction.response.send_message(text, ephemeral=True)
    except UNANSWERABLE:
        pass
