"""As little of Discord as a bot needs to sign in and stay: for measurements of a bot that has nothing to do.

``python -m musebot_site.benchmarks.small_discord PORT`` prints a line for each thing that happens: ``ready``, ``asked`` with the first
request, ``connected`` once a bot has identified itself.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from aiohttp import WSMsgType, web

USER = {
    "id": "1290000000000000000",
    "username": "musebot",
    "discriminator": "0",
    "global_name": "Musebot",
    "avatar": None,
    "bot": True,
}
APPLICATION = {
    "id": USER["id"],
    "name": "Musebot",
    "icon": None,
    "description": "",
    "bot_public": True,
    "bot_require_code_grant": False,
    "verify_key": "0" * 64,
    "owner": USER,
    "team": None,
    "flags": (1 << 15) | (1 << 19),
}
HEARTBEAT_MILLISECONDS = 41_250


class SmallDiscord:
    def __init__(self, port: int) -> None:
        self.port = port
        self._asked = False

    def application(self) -> web.Application:
        found = web.Application()
        found.router.add_get("/gateway", self.socket)
        found.router.add_route("*", "/api/{path:.*}", self.answer)
        return found

    async def answer(self, request: web.Request) -> web.Response:
        if not self._asked:
            self._asked = True
            _say("asked")
        path = request.match_info["path"]
        if path.endswith("me"):  # the bot itself; some write the @ before it as %40
            return _json(APPLICATION if "applications" in path else USER)
        if "gateway" in path:
            limit = {"total": 1000, "remaining": 1000, "reset_after": 0, "max_concurrency": 1}
            url = f"ws://127.0.0.1:{self.port}/gateway"
            return _json({"url": url, "shards": 1, "session_start_limit": limit})
        return _json([])

    async def socket(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.send_json({"op": 10, "d": {"heartbeat_interval": HEARTBEAT_MILLISECONDS}})
        async for message in socket:
            if message.type != WSMsgType.TEXT:
                break
            said: dict[str, Any] = message.json()
            if said["op"] == 1:
                await socket.send_json({"op": 11})
            elif said["op"] == 2:
                await socket.send_json({"op": 0, "t": "READY", "s": 1, "d": self._ready()})
                _say("connected")
        return socket

    def _ready(self) -> dict[str, Any]:
        return {
            "v": 10,
            "user": USER,
            "guilds": [],
            "private_channels": [],
            "session_id": "benchmark",
            "resume_gateway_url": f"ws://127.0.0.1:{self.port}/gateway",
            "application": {"id": APPLICATION["id"], "flags": APPLICATION["flags"]},
            "shard": [0, 1],
        }


def _json(value: Any) -> web.Response:
    """discord.py takes what names a charset for text."""
    return web.Response(body=json.dumps(value).encode(), content_type="application/json")


def _say(what: str) -> None:
    print(what, flush=True)


async def _started(application: web.Application) -> None:
    _say("ready")


def main() -> None:
    port = int(sys.argv[1])
    application = SmallDiscord(port).application()
    application.on_startup.append(_started)
    web.run_app(application, host="127.0.0.1", port=port, print=lambda *_: None)


if __name__ == "__main__":
    main()
