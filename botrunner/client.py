"""The client: which events it asks Discord for, what it is made of, and what it does once it is connected."""

from __future__ import annotations

import hashlib
import json
import logging
import sys
from typing import TYPE_CHECKING, Any

import discord
from discord.ext import commands

from botrunner import adapters
from botrunner.bridge import Bridge
from botrunner.cogs.capture import CaptureCog
from botrunner.cogs.chat import ChatCog
from botrunner.cogs.history import HistoryCog
from botrunner.cogs.memory import MemoryCog, on_command_error
from botrunner.cogs.readers import ReadersCog
from botrunner.cogs.why import WhyCog
from botrunner.quiet import log_failure
from memory import embedding
from memory.models import InstallationState

logger = logging.getLogger(__name__)

HEARTBEAT_TIMEOUT = 30.0
"""Seconds without a sign of life from Discord after which the connection is taken for dead and resumed."""
COMMANDS_STATE = "discord_commands"


def intents() -> discord.Intents:
    """What is asked of Discord: messages with their text, and who is in a server with which roles. Two are privileged."""
    wanted = discord.Intents.none()
    wanted.guilds = wanted.members = wanted.messages = wanted.message_content = True
    return wanted


if TYPE_CHECKING:
    _Base = commands.Bot
else:
    _Base = object


class MusebotClient(_Base):
    """What the bot does, whether its servers are divided into shards or not."""

    bridge: Bridge
    capturing: CaptureCog
    replies: ChatCog
    reading: ReadersCog
    histories: HistoryCog

    @property
    def me(self) -> discord.ClientUser:
        assert self.user is not None, "used before login"
        return self.user

    async def setup_hook(self) -> None:
        self.capturing, self.replies, self.reading = CaptureCog(self), ChatCog(self), ReadersCog(self)
        self.histories = HistoryCog(self)
        for cog in (
            self.capturing,
            self.replies,
            self.reading,
            self.histories,
            MemoryCog(self),
            WhyCog(self),
        ):
            await self.add_cog(cog)
        self.tree.on_error = on_command_error  # type: ignore[method-assign]

    async def on_ready(self) -> None:
        """Comes again whenever a session had to be begun anew."""
        logger.info("connected to Discord as %s, on %d servers", self.me.id, len(self.guilds))
        self.reading.refresh_all()
        for what, step in (
            ("noting what was missed", self.histories.catch_up),
            ("registering the commands", self.sync_commands),
            ("completing answers", self.replies.resume),
            ("looking for another embedding model", self._notice_model),
        ):
            try:
                await step()
            except Exception as error:
                log_failure(logger, what, error)

    async def _notice_model(self) -> None:
        await self.bridge.command(embedding.notice_change)

    async def on_message(self, message: discord.Message) -> None:
        """The cogs listen; there are no commands in messages."""

    async def on_error(self, event_method: str, /, *args: Any, **kwargs: Any) -> None:
        error = sys.exc_info()[1]
        if error is not None:
            log_failure(logger, event_method, error)

    async def sync_commands(self) -> None:
        """Registers the commands with Discord if they changed since the last time, or are missing there."""
        wanted = [command.to_dict(self.tree) for command in self.tree.get_commands()]
        text = json.dumps([self.application_id, wanted], sort_keys=True, default=str)
        digest = hashlib.sha256(text.encode()).hexdigest()
        known = await self.bridge.command(_known_digest)
        if known == digest:
            there = {command.name for command in await self.tree.fetch_commands()}
            if there == {command["name"] for command in wanted}:
                return
        await self.tree.sync()
        await self.bridge.command(_note_digest, digest)
        logger.info("registered %d commands", len(wanted))

    async def knows(self, message: discord.Message) -> bool:
        """Whether it is known in what kind of channel a message was written; asks Discord where it is not.

        A thread that was archived before the bot started is unknown until somebody writes in it.
        """
        if getattr(message.channel, "type", None) in adapters.KINDS:
            return True
        try:
            channel: Any = await self.fetch_channel(message.channel.id)
        except discord.HTTPException:
            return False
        message.channel = channel
        return channel.type in adapters.KINDS

    def serves(self, guild_id: int | None) -> bool:
        """Whether a server belongs to the shards of this process; private conversations belong to the first."""
        shard_ids = getattr(self, "shard_ids", None)
        if not shard_ids or not self.shard_count:
            return True
        return ((guild_id or 0) >> 22) % self.shard_count in shard_ids

    async def drain(self, seconds: float) -> None:
        """Gives running answers a moment to end."""
        if hasattr(self, "replies"):
            await self.replies.drain(seconds)
            await self.histories.flush()


class SingleClient(MusebotClient, commands.Bot):
    """One connection. It resumes its session after an interruption, so that no event is lost."""


class ShardedClient(MusebotClient, commands.AutoShardedBot):
    """Several connections, for bots on more than a thousand servers."""


def make_client(
    bridge: Bridge, *, shard_count: int | None = None, shard_ids: list[int] | None = None
) -> SingleClient | ShardedClient:
    """A client that has not connected yet. It serves for one connection: after a failure a new one is made."""
    options: dict[str, Any] = {
        "command_prefix": commands.when_mentioned,
        "help_command": None,
        "intents": intents(),
        "chunk_guilds_at_startup": True,
        "max_messages": None,  # nothing that people write is kept; see CaptureCog
        "allowed_mentions": discord.AllowedMentions.none(),
        "heartbeat_timeout": HEARTBEAT_TIMEOUT,
    }
    discord.VoiceClient.warn_nacl = discord.VoiceClient.warn_dave = False  # the bot does not speak
    client: SingleClient | ShardedClient
    if shard_count is not None and (shard_count > 1 or shard_ids):
        if shard_ids:
            options["shard_ids"] = shard_ids
        client = ShardedClient(shard_count=shard_count, **options)
    else:
        client = SingleClient(**options)
    client.bridge = bridge
    return client


def _known_digest() -> str:
    value = InstallationState.objects.filter(name=COMMANDS_STATE).values_list("value", flat=True).first()
    return str((value or {}).get("digest", ""))


def _note_digest(digest: str) -> None:
    InstallationState.objects.update_or_create(name=COMMANDS_STATE, defaults={"value": {"digest": digest}})
