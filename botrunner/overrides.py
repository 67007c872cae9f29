"""Where Discord is: discord.com, or the server that ``DISCORD_API_BASE`` names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import aiohttp
import discord
import yarl
from discord.gateway import DiscordWebSocket
from discord.http import Route

USER_AGENT = "DiscordBot (https://github.com/Rapptz/discord.py, 2)"


@dataclass(frozen=True, slots=True)
class Gateway:
    """The websocket address, and into how many shards Discord wants this bot to be divided."""

    url: str
    shards: int


def use_api_base(api_base: str) -> None:
    """Sends every REST request of this process to ``api_base`` (no slash at its end); empty leaves discord.com."""
    if api_base:
        Route.BASE = api_base


async def find_gateway(token: str) -> Gateway:
    """Asks for the gateway and points discord.py at it.

    ``discord.Client`` never asks by itself, so without this another server's address would be ignored.
    Raises ``discord.LoginFailure`` for a wrong token and ``ConnectionError`` while the server does not answer properly.
    """
    headers = {"Authorization": f"Bot {token}", "User-Agent": USER_AGENT}
    timeout = aiohttp.ClientTimeout(total=20)
    try:
        async with aiohttp.ClientSession(headers=headers, timeout=timeout, trust_env=True) as session:
            async with session.get(f"{Route.BASE}/gateway/bot") as response:
                if response.status == 401:
                    raise discord.LoginFailure("Improper token has been passed.")
                if response.status != 200:
                    raise ConnectionError(f"it answered with status {response.status}")
                data: dict[str, Any] = await response.json()
        gateway = Gateway(url=str(data["url"]), shards=int(data.get("shards") or 1))
    except (aiohttp.ClientError, TimeoutError, ValueError, KeyError) as error:
        raise ConnectionError(type(error).__name__) from error
    DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(gateway.url)
    return gateway
