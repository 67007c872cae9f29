"""The web process: dashboard and API."""

from __future__ import annotations

import signal
import sys
import warnings
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from memory.management.base import QuickCommand
from musebot_site import serving
from musebot_site.management.commands.up import require_free_port

THREADS = 8
LOOPBACK = frozenset({"127.0.0.1", "localhost"})


def proxy_options(host: str) -> dict[str, Any]:
    """What waitress believes of a proxy before it: it drops these headers otherwise, and then nothing is ever taken for HTTPS.

    Whoever reaches this address without the proxy must not be able to say that somebody else asks.
    """
    if not settings.SECURE_PROXY_SSL_HEADER:
        # Believed by nobody then, but left where they are: /metrics tells by them that a request was passed on.
        return {"clear_untrusted_proxy_headers": False}
    if host in LOOPBACK:
        headers = {"x-forwarded-for", "x-forwarded-proto"}
        return {"trusted_proxy": "127.0.0.1", "trusted_proxy_headers": headers}
    return {"trusted_proxy": "*", "trusted_proxy_headers": {"x-forwarded-proto"}}


class Command(QuickCommand):
    help = "Serves the dashboard and the API (part of `up`)."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument("--threads", type=int, default=THREADS)

    def handle(self, *args: Any, **options: Any) -> None:
        from waitress.server import create_server

        require_free_port(options["host"], options["port"], command="serve")
        # Static files are found where they are; there is no folder that they were collected in.
        warnings.filterwarnings("ignore", message="No directory at")
        from musebot_site.wsgi import application

        serving.prepare()
        server = create_server(
            application,
            host=options["host"],
            port=options["port"],
            threads=options["threads"],
            ident="",
            # Each piece of an answer leaves at once; by default 18,000 bytes are gathered first.
            send_bytes=1,
            # A stream to a browser that reads slowly must not hold a thread for ever.
            channel_timeout=120,
            **proxy_options(options["host"]),
        )
        for name in ("SIGTERM", "SIGINT", "SIGBREAK"):
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), lambda *_: sys.exit(0))
        self.stdout.write("ready")
        server.run()
