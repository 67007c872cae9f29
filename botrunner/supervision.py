"""Keeps the bot connected, tells how it is, and ends it cleanly."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import os
import signal
from dataclasses import dataclass
from typing import Any

import discord

from botrunner.bridge import Bridge
from botrunner.client import MusebotClient, ShardedClient, SingleClient, make_client
from botrunner.overrides import find_gateway, use_api_base
from botrunner.quiet import log_failure, quieten_discord
from memory.conf import Config
from memory.models import InstallationState

logger = logging.getLogger(__name__)

BACK_OFF = (1, 2, 5, 10, 20, 30, 60)
"""Seconds between attempts to connect; the last one repeats."""
HEARTBEAT_SECONDS = 15.0
GRACE_SECONDS = 3.0
"""What running answers get when the bot is stopped."""
PORTAL = "https://discord.com/developers/applications"


class CannotRun(Exception):
    """Trying again cannot help; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Shards:
    """Which part of the bot's servers this process serves; all of them by default."""

    count: int | None = None
    ids: tuple[int, ...] = ()

    @property
    def state_name(self) -> str:
        """The name under which this process tells how it is. The process of the first shard is the one that is shown."""
        return "bot" if not self.ids or 0 in self.ids else f"bot:{','.join(map(str, self.ids))}"


async def run(config: Config, shards: Shards, *, stop: asyncio.Event | None = None) -> bool:
    """Runs the bot until SIGINT or SIGTERM (or ``stop``).

    Returns whether everything ended; False if a thread still waits for a model, which the caller then leaves behind.
    Raises ``CannotRun``.
    """
    if config.discord.token is None:
        raise CannotRun(
            "No Discord token is set. Set DISCORD_TOKEN, or chatApis.discord.token in config.jsonc."
        )
    quieten_discord()
    use_api_base(config.discord.api_base)
    stop = stop or asyncio.Event()
    _stop_on_signals(stop)
    bridge = Bridge()
    supervisor = Supervisor(config.discord.token.get_secret_value(), shards, bridge, stop)
    try:
        await supervisor.run()
    finally:
        await supervisor.tell(connected=False)
        ended = await bridge.close()
    return ended


class Supervisor:
    """Makes a new client whenever the connection is lost for good."""

    def __init__(self, token: str, shards: Shards, bridge: Bridge, stop: asyncio.Event) -> None:
        self.token = token
        self.shards = shards
        self.bridge = bridge
        self.stop = stop
        self.client: SingleClient | ShardedClient | None = None

    async def run(self) -> None:
        failures = 0
        telling = asyncio.create_task(self._keep_telling())
        try:
            while not self.stop.is_set():
                was_ready = await self._one_connection()
                failures = 0 if was_ready else failures + 1
                if not self.stop.is_set():
                    await self._pause(BACK_OFF[min(failures, len(BACK_OFF) - 1)])
        finally:
            telling.cancel()

    async def _one_connection(self) -> bool:
        """From login to the end of the connection; returns whether it was ever up."""
        try:
            gateway = await find_gateway(self.token)
        except discord.LoginFailure as error:
            raise CannotRun(_bad_token()) from error
        except ConnectionError as error:
            logger.warning("Discord cannot be reached (%s); trying again", error)
            return False
        count = self.shards.count or (gateway.shards if gateway.shards > 1 else None)
        self.client = client = make_client(
            self.bridge, shard_count=count, shard_ids=list(self.shards.ids) or None
        )
        connection = asyncio.create_task(client.start(self.token))
        stopping = asyncio.create_task(self.stop.wait())
        try:
            await asyncio.wait({connection, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if self.stop.is_set():
                logger.info("stopping")
                await client.drain(GRACE_SECONDS)
                return True
            connection.result()
        except discord.LoginFailure as error:
            raise CannotRun(_bad_token()) from error
        except discord.PrivilegedIntentsRequired as error:
            raise CannotRun(_missing_intents(client)) from error
        except discord.ConnectionClosed as error:
            _refuse_if_final(error)
            logger.warning("Discord closed the connection (%s); connecting again", error.code)
        except AttributeError as error:
            # discord.py reads a connection that does not exist yet when the very first one is refused.
            logger.warning("Discord's gateway cannot be reached (%s); trying again", type(error).__name__)
        except (TimeoutError, discord.DiscordException, OSError) as error:
            logger.warning("the connection to Discord failed (%s); trying again", type(error).__name__)
        except Exception as error:
            log_failure(logger, "the bot", error)
        finally:
            stopping.cancel()
            was_ready = client.is_ready()
            await _close(client, connection)
        return was_ready

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.stop.wait(), seconds)

    async def _keep_telling(self) -> None:
        while True:
            await self.tell(connected=self.client is not None and self.client.is_ready())
            await self._until_changed()

    async def _until_changed(self) -> None:
        """Until the next heartbeat is due, or the bot connected or lost its connection."""
        before = self.client is not None and self.client.is_ready()
        for _ in range(int(HEARTBEAT_SECONDS)):
            await asyncio.sleep(1)
            if (self.client is not None and self.client.is_ready()) != before:
                return

    async def tell(self, *, connected: bool) -> None:
        """Leaves a sign of life for the dashboard."""
        client = self.client
        value: dict[str, Any] = {"connected": connected, "pid": os.getpid(), "guilds": 0, "latency_ms": None}
        if connected and client is not None:
            latency = client.latency
            value |= {
                "guilds": len(client.guilds),
                "latency_ms": round(latency * 1000) if math.isfinite(latency) else None,
                "user": str(client.me),
                "user_id": str(client.me.id),
                "application_id": str(client.application_id),
                "shards": list(self.shards.ids) or None,
            }
        try:
            await self.bridge.command(_note, self.shards.state_name, value)
        except Exception as error:
            log_failure(logger, "telling how the bot is", error)


def _note(name: str, value: dict[str, Any]) -> None:
    InstallationState.objects.update_or_create(name=name, defaults={"value": value})


async def _close(client: MusebotClient, connection: asyncio.Task[None]) -> None:
    """Ends a client for good; a close that hangs is not waited for."""
    with contextlib.suppress(Exception):
        await asyncio.wait_for(client.close(), 5)
    connection.cancel()
    with contextlib.suppress(BaseException):
        await asyncio.wait_for(asyncio.gather(connection, return_exceptions=True), 2)


def _refuse_if_final(error: discord.ConnectionClosed) -> None:
    """Close codes of Discord's gateway that a new connection would only meet again."""
    if error.code == 4004:
        raise CannotRun(_bad_token()) from error
    if error.code in (4010, 4011, 4012, 4013):
        what = {
            4010: "the shard ids do not fit the shard count",
            4011: "this bot is on so many servers that it needs shards",
        }
        raise CannotRun(
            f"Discord refuses the connection: {what.get(error.code, f'code {error.code}')}."
        ) from error


def _bad_token() -> str:
    return (
        "Discord does not accept the token. Copy it anew from the Bot page of your application at "
        f"{PORTAL} and set it as DISCORD_TOKEN (or chatApis.discord.token in config.jsonc)."
    )


def _missing_intents(client: MusebotClient) -> str:
    flags = client.application_flags
    missing = []
    if not (flags.gateway_message_content or flags.gateway_message_content_limited):
        missing.append("Message Content Intent")
    if not (flags.gateway_guild_members or flags.gateway_guild_members_limited):
        missing.append("Server Members Intent")
    which = (
        " and ".join(f'"{name}"' for name in missing)
        or '"Message Content Intent" and "Server Members Intent"'
    )
    return (
        f"Discord does not let this bot connect yet: switch on {which} under Privileged Gateway Intents on the Bot page of "
        f"your application at {PORTAL}, then start it again."
    )


def _stop_on_signals(stop: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        try:
            loop.add_signal_handler(number, stop.set)
        except NotImplementedError:  # Windows
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop.set))
        except (RuntimeError, ValueError):  # not in the main thread: whoever started it there stops it
            return
