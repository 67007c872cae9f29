"""A line so slow that a page comes in pieces, between a browser and the live server."""

from __future__ import annotations

import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PIECE, PAUSE = 1500, 0.02
"""Bytes, and seconds between them: the browser draws what it has in between."""


@contextmanager
def slow_line(upstream: str) -> Iterator[str]:
    """The address of a server that answers as ``upstream`` does, to GET alone; pages in pieces, files at once."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args: object) -> None:
            pass

        def do_GET(self) -> None:
            headers = {"Cookie": self.headers.get("Cookie", "")}
            with urllib.request.urlopen(
                urllib.request.Request(upstream + self.path, headers=headers)
            ) as answer:
                body, kind = answer.read(), answer.headers["Content-Type"]
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            size = PIECE if "html" in kind else len(body)
            for start in range(0, len(body), size):
                self.wfile.write(body[start : start + size])
                self.wfile.flush()
                time.sleep(PAUSE if "html" in kind else 0)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()
