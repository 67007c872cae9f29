"""OllamaSim: starts the simulator as a process of its own and drives its control API."""

from __future__ import annotations

import http.client
import json
import sys
import urllib.parse
from typing import Any

from ..process import start_module, stop_process


class OllamaSim:
    """Starts the simulator as a separate process and talks to its control API (synchronously)."""

    def __init__(self, proc, info: dict):
        self.proc, self.info = proc, info
        self.url: str = info["url"]

    @classmethod
    def start(cls, *args: str, python: str = sys.executable) -> OllamaSim:
        """Arguments are those of the command line, e.g. "--token-delay", "0.01"."""
        return cls(*start_module("tests.simulators.ollama", *args, python=python))

    @classmethod
    def attach(cls, url: str) -> OllamaSim:
        """A server that already runs."""
        return cls(None, {"url": url.rstrip("/")})

    def __enter__(self) -> OllamaSim:
        return self

    def __exit__(self, *_: Any) -> None:
        self.stop()

    def stop(self) -> None:
        stop_process(self.proc)

    def call(self, method: str, path: str, body: Any = None, timeout: float = 60, **query: Any) -> Any:
        u = urllib.parse.urlparse(self.url)
        c = http.client.HTTPConnection(u.hostname, u.port, timeout=timeout)
        q = "?" + urllib.parse.urlencode(query) if query else ""
        try:
            data = json.dumps(body).encode() if body is not None else None
            c.request(method, "/__sim" + path + q, data, {"Content-Type": "application/json"})
            r = c.getresponse()
            raw = r.read()
        finally:
            c.close()
        if r.status >= 400:
            raise RuntimeError(f"{method} /__sim{path}: {r.status} {raw.decode(errors='replace')[:500]}")
        return json.loads(raw)

    # -- what the server answers
    def on(
        self,
        match: dict | None = None,
        action: dict | None = None,
        *,
        times: int = -1,
        skip: int = 0,
        front: bool = False,
    ) -> None:
        """A rule; the first one that matches applies. `front` puts it before those already there."""
        rule = {"match": match or {}, "action": action or {}, "times": times, "skip": skip, "front": front}
        self.call("POST", "/rules", rule)

    @property
    def rules(self) -> list[dict]:
        return self.call("GET", "/rules")

    def clear_rules(self) -> None:
        self.call("DELETE", "/rules")

    def settings(self, **changes: Any) -> dict:
        """Changes settings (token_delay, load_delay, num_parallel, max_queue, ...); returns all of them."""
        return self.call("PATCH", "/settings", changes) if changes else self.call("GET", "/settings")

    def reset(self) -> None:
        """Rules, records, settings and models back to the start."""
        self.call("POST", "/reset")

    # -- models
    @property
    def models(self) -> list[dict]:
        return self.call("GET", "/models")

    def add_model(self, name: str, **fields: Any) -> None:
        """Fields are those of `Model`, e.g. capabilities=["embedding"], embedding_length=7."""
        self.call("PUT", "/models/" + urllib.parse.quote(name), fields)

    def remove_model(self, name: str) -> None:
        self.call("DELETE", "/models/" + urllib.parse.quote(name))

    def unload(self) -> None:
        """Forgets the loaded models: the next request pays load_delay."""
        self.call("POST", "/unload")

    # -- what was asked
    def calls(self, endpoint: str | None = None) -> list[dict]:
        """The recorded requests, oldest first."""
        return self.call("GET", "/requests", **({"endpoint": endpoint} if endpoint else {}))

    def clear_calls(self) -> None:
        self.call("DELETE", "/requests")

    def state(self) -> dict:
        """Loaded models, active and pending requests, counters."""
        return self.call("GET", "/state")
