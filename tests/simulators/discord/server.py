"""A local, single-process simulator of the parts of Discord that a bot uses.

One aiohttp server on 127.0.0.1 offers
  * the REST API v9/v10      http://127.0.0.1:PORT/api/v10/...
  * the Gateway v9/v10       ws://127.0.0.1:PORT/gateway
  * the CDN                  http://127.0.0.1:PORT/attachments/... (signed, expiring), /avatars/...
  * a control API for tests  http://127.0.0.1:PORT/sim/...

    python -m tests.simulators.discord --port 0     # prints one line of JSON: all URLs and the bot's token
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal

from aiohttp import web

from .cdn import cdn_handler
from .constants import RATES
from .control.base import info
from .control.handler import ctl_handler
from .gateway import gateway_handler
from .rest.pipeline import rest_handler
from .world import Sim


async def serve(args):
    sim = Sim(args)

    async def entry(request):
        p = request.path
        if p.startswith("/sim/") or p == "/sim":
            return await ctl_handler(sim, request)
        if p.startswith("/api"):
            return await rest_handler(sim, request)
        if p.rstrip("/") in ("/gateway", "/gateway/resume") or p == "/":
            return await gateway_handler(sim, request)
        return await cdn_handler(sim, request)

    app = web.Application(client_max_size=64 * 1024 * 1024)
    app.router.add_route("*", "/{tail:.*}", entry)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", args.port)
    await site.start()
    sim.port = site._server.sockets[0].getsockname()[1]
    sim.base = f"http://127.0.0.1:{sim.port}"
    print(json.dumps(info(sim)), flush=True)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for sg in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(sg, stop.set)
    parent = os.getppid()
    while not stop.is_set():
        try:
            await asyncio.wait_for(stop.wait(), 1.0)
        except TimeoutError:
            if args.exit_with_parent and os.getppid() != parent:
                break
    for c in list(sim.conns):
        c.abort()
    await runner.cleanup()


def main(argv=None):
    ap = argparse.ArgumentParser(
        "python -m tests.simulators.discord",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    ap.add_argument("--port", type=int, default=0)
    ap.add_argument("--token", help="token of the default bot (default: random)")
    ap.add_argument("--bot-name", default="SimBot")
    ap.add_argument("--rate-profile", choices=list(RATES), default="realistic")
    ap.add_argument("--heartbeat-interval", type=int, default=41250, help="milliseconds")
    ap.add_argument("--exit-with-parent", action="store_true")
    asyncio.run(serve(ap.parse_args(argv)))
