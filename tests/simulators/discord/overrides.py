"""Points discord.py 2.7 at the simulator."""

from __future__ import annotations

import json
import os


def apply_overrides(api_base=None, gateway_url=None, cdn_base=None):
    """Call before a Client connects. No arguments: from the environment.

    Route.BASE covers REST, interaction callbacks, follow-ups and webhooks (webhook.async_ and webhook.sync
    build the same Route).
    DEFAULT_GATEWAY covers Client/Bot, which never ask /gateway/bot (only AutoShardedClient does).
    READY's resume_gateway_url is used for resuming; attachments are fetched from the URLs in the payloads.
    Asset.BASE covers avatars, icons and emojis."""
    import discord
    import yarl

    api_base = api_base or os.environ.get("DISCORD_API_BASE")
    gateway_url = gateway_url or os.environ.get("DISCORD_GATEWAY_URL")
    cdn_base = cdn_base or os.environ.get("DISCORD_CDN_BASE")
    if api_base:
        discord.http.Route.BASE = api_base.rstrip("/")
        if not gateway_url:  # one setting is enough: GET /gateway needs no token, on discord.com too
            import urllib.request

            rq = urllib.request.Request(
                api_base.rstrip("/") + "/gateway", headers={"User-Agent": "DiscordBot (local, 1)"}
            )
            gateway_url = json.load(urllib.request.urlopen(rq, timeout=10))["url"]
    if gateway_url:
        discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(gateway_url)
    if cdn_base:
        discord.asset.Asset.BASE = cdn_base.rstrip("/")
