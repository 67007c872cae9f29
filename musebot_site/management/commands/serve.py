"""The web process: dashboard and API."""

from __future__ import annotations

import signal
import sys
import warnings
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

THREADS = 8


class Command(BaseCommand):
    help = "Serves the dashboard and the API (part of `up`)."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument("--threads", type=int, default=THREADS)

    def handle(self, *args: Any, **options: Any) -> None:
        from waitress.server import create_server

        # Static files are found where they are; there is no folder that they were collected in.
        warnings.filterwarnings("ignore", message="No directory at")
        from musebot_site.wsgi import application

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
        )
        for name in ("SIGTERM", "SIGINT", "SIGBREAK"):
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), lambda *_: sys.exit(0))
        self.stdout.write("ready")
        server.run()
