"""The server: routing, recording, error answers, start and stop."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import threading
import time
from typing import Any

from aiohttp import web

from .chat import Chat
from .control import Control
from .embeddings import Embeddings
from .errors import ApiError
from .management import Management
from .models import Model
from .real import Real
from .scheduling import Scheduling
from .state import State
from .v1 import V1
from .values import GO_TYPE, REC


class Sim(Chat, Embeddings, Management, V1, Control, Real, Scheduling, State):
    """The whole server; see CONTROL for what tests can tell it."""

    async def body(self, request: web.Request) -> dict:
        raw = await request.read()
        if not raw.strip():
            raise ApiError(400, "missing request body")
        try:
            b = json.loads(raw)
        except ValueError as e:
            ch = raw.decode(errors="replace")[e.pos : e.pos + 1]
            raise ApiError(
                400,
                f"invalid character '{ch}' looking for beginning of "
                + ("object key string" if b"{" in raw[: e.pos] else "value")
                if ch
                else "unexpected EOF",
            ) from None
        if not isinstance(b, dict):
            kind = {list: "array", str: "string", bool: "bool"}.get(type(b), "number")
            raise ApiError(
                400,
                f"json: cannot unmarshal {kind} into Go value of type "
                f"api.{GO_TYPE.get(request[REC]['endpoint'], 'Request')}",
            )
        request[REC]["body"] = b
        return b

    @web.middleware
    async def middleware(self, request: web.Request, handler: Any) -> web.StreamResponse:
        if request.path.startswith("/__sim/"):
            return await handler(request)
        if not self.allowed(request):
            return web.Response(status=403)
        endpoint = (
            request.path.strip("/")
            .replace("api/", "")
            .replace("v1/chat/completions", "v1_chat")
            .replace("v1/", "v1_")
            or "root"
        )
        rec: dict = {
            "id": len(self.requests) + 1,
            "t": time.time(),
            "method": request.method,
            "endpoint": endpoint,
            "path": request.path,
            "headers": {
                k: v
                for k, v in request.headers.items()
                if k.lower() in ("authorization", "user-agent", "content-type", "origin")
            },
            "body": None,
            "status": None,
            "active": self.active,
        }
        request[REC] = rec
        self.requests.append(rec)
        t = time.monotonic()
        try:
            resp = await handler(request)
            rec["status"] = rec["status"] if rec["status"] is not None else resp.status
            return resp
        except ApiError as e:
            rec.update(status=e.status, error=e.message)
            if request.path.startswith("/v1/"):
                kind = {400: "invalid_request_error", 404: "not_found_error"}.get(e.status, "api_error")
                return web.json_response(
                    {"error": {"message": e.message, "type": kind, "param": None, "code": None}},
                    status=e.status,
                )
            return web.json_response({"error": e.message}, status=e.status)
        except web.HTTPMethodNotAllowed:
            rec["status"] = 405
            return web.Response(status=405, text="405 method not allowed")
        except web.HTTPNotFound:
            rec["status"] = 404
            return web.Response(status=404, text="404 page not found")
        finally:
            rec["ms"] = round((time.monotonic() - t) * 1000, 2)

    @staticmethod
    def allowed(request: web.Request) -> bool:
        """On a loopback bind Ollama answers 403 to a foreign Host header or Origin (DNS rebinding)."""

        def local(host: str) -> bool:
            host = host.lower().rsplit(":", 1)[0] if host.count(":") == 1 else host.lower().strip("[]")
            return (
                host in ("", "localhost", "::1", "0.0.0.0")
                or host.endswith((".localhost", ".local", ".internal"))
                or bool(
                    re.fullmatch(r"(127|10)\.[\d.]+|192\.168\.[\d.]+|172\.(1[6-9]|2\d|3[01])\.[\d.]+", host)
                )
            )

        origin = request.headers.get("Origin", "")
        return local(request.host) and (not origin.startswith("http") or local(origin.split("://", 1)[1]))

    def app(self) -> web.Application:
        app = web.Application(middlewares=[self.middleware], client_max_size=256 * 2**20)
        r = app.router

        async def root(_: web.Request) -> web.Response:
            return web.Response(text="Ollama is running")

        r.add_get("/", root)
        r.add_get("/api/version", self.handle_version)
        r.add_get("/api/tags", self.handle_tags)
        r.add_get("/api/ps", self.handle_ps)
        r.add_post("/api/show", self.handle_show)
        r.add_post("/api/chat", self.handle_chat)
        r.add_post("/api/generate", self.handle_generate)
        r.add_post("/api/embed", self.handle_embed)
        r.add_post("/api/embeddings", self.handle_embeddings)
        r.add_post("/api/pull", self.handle_pull)
        r.add_post("/api/copy", self.handle_copy)
        r.add_delete("/api/delete", self.handle_delete)
        r.add_get("/v1/models", self.handle_v1_models)
        r.add_post("/v1/chat/completions", self.handle_v1_chat)
        r.add_post("/v1/embeddings", self.handle_v1_embeddings)
        self.control(r)
        app.on_cleanup.append(self._cleanup)
        return app

    async def _cleanup(self, _: Any) -> None:
        if self._http:
            await self._http.close()

    async def start(self, host: str = "127.0.0.1", port: int = 0) -> Sim:
        self._runner = web.AppRunner(
            self.app(), access_log=None, handler_cancellation=True, shutdown_timeout=0.5
        )
        await self._runner.setup()
        site = web.TCPSite(self._runner, host, port)
        await site.start()
        self.base_url = f"http://{host}:{site._server.sockets[0].getsockname()[1]}"  # type: ignore[union-attr]
        return self

    async def stop(self) -> None:
        await self._runner.cleanup()

    async def __aenter__(self) -> Sim:
        return await self.start()

    async def __aexit__(self, *_: Any) -> None:
        await self.stop()


@contextlib.contextmanager
def run_sim(models: list[Model] | None = None, port: int = 0, **settings: Any):
    """Run the server in a thread: for synchronous tests (Django). Yields the Sim."""
    sim, loop, ready = Sim(models, **settings), asyncio.new_event_loop(), threading.Event()

    def main() -> None:
        asyncio.set_event_loop(loop)
        loop.run_until_complete(sim.start(port=port))
        ready.set()
        loop.run_forever()
        loop.run_until_complete(sim.stop())
        loop.close()

    th = threading.Thread(target=main, daemon=True)
    th.start()
    if not ready.wait(10):
        raise RuntimeError("the Ollama simulator did not start")
    try:
        yield sim
    finally:
        loop.call_soon_threadsafe(loop.stop)
        th.join(5)
