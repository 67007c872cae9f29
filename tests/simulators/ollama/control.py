"""The control API under /__sim/."""

from __future__ import annotations

import dataclasses
import json

from aiohttp import web

CONTROL = """
GET    /__sim/requests[?endpoint=chat]   recorded requests, oldest first
DELETE /__sim/requests
GET    /__sim/rules      POST /__sim/rules {"match":{},"action":{},"times":-1,"skip":0,"front":false}
DELETE /__sim/rules
GET    /__sim/models     PUT /__sim/models/{name} {...Model fields}    DELETE /__sim/models/{name}
PATCH  /__sim/settings   {"token_delay":0.01,"load_delay":2,"num_parallel":1,"max_queue":512,...}
POST   /__sim/unload     forget loaded models (next request pays load_delay)
POST   /__sim/reset      rules, records, settings and models back to the start
GET    /__sim/state      loaded models, queue depth, counters

match  (all given keys must hold; values are regular expressions unless boolean)
       endpoint: chat|generate|embed|embeddings|show|tags|ps|version|pull|delete|v1_chat|v1_embeddings
       model, contains (last user message), any (any surviving message), system (system messages),
       last_role, has_tools, has_format, has_images, stream, think
action reply | chunks | thinking | json | tool_calls [{"name","arguments"}] | done_reason
       first_delay | token_delay | load_delay | chunk_chars
       status+error            an error reply before anything is sent, e.g. {"status":500,"error":"boom"}
       raw_status+raw_body(+raw_type)   these bytes exactly (HTML from a proxy, malformed JSON, ...)
       error_after n (+error)  NDJSON error line after n chunks      drop_after n  cut the TCP connection
       malformed_after n       a line that is not JSON               no_done       end without a done line
       hang                    accept, never answer
       embeddings {"dims":n} | {"count_delta":-1} | {"zero":true} | {"values":[[...]]} | {"nan":true}
       pass                    fall through to the model's own behaviour (useful with delays)
A user message may carry its own action:  [[sim {"reply":"..."}]]
"""


class Control:
    """Control routes."""

    def control(self, r: web.UrlDispatcher) -> None:
        def ok() -> web.Response:
            return web.json_response({"ok": True})

        async def requests(req: web.Request) -> web.Response:
            if req.method == "DELETE":
                self.requests.clear()
                return ok()
            return web.json_response(
                self.calls(req.query.get("endpoint")), dumps=lambda o: json.dumps(o, default=str)
            )

        async def rules(req: web.Request) -> web.Response:
            if req.method == "DELETE":
                self.rules.clear()
            elif req.method == "POST":
                b = await req.json()
                for x in b if isinstance(b, list) else [b]:
                    self.on(
                        x.get("match"),
                        x.get("action"),
                        times=x.get("times", -1),
                        skip=x.get("skip", 0),
                        front=x.get("front", False),
                    )
            else:
                return web.json_response(self.rules)
            return ok()

        async def models(req: web.Request) -> web.Response:
            name = req.match_info.get("name")
            if req.method == "PUT":
                self.add_model(name, **await req.json())
            elif req.method == "DELETE":
                self.remove_model(name)
            else:
                return web.json_response([dataclasses.asdict(m) for m in self.models.values()])
            return ok()

        async def settings(req: web.Request) -> web.Response:
            if req.method == "PATCH":
                b = await req.json()
                self.cfg.update(b)
                if "num_parallel" in b:
                    self.sems.clear()
            return web.json_response(self.cfg)

        async def unload(_: web.Request) -> web.Response:
            self.loaded.clear()
            return ok()

        async def reset(_: web.Request) -> web.Response:
            self.reset()
            return ok()

        async def state(_: web.Request) -> web.Response:
            self.expire()
            return web.json_response(
                {
                    "loaded": list(self.loaded),
                    "active": self.active,
                    "pending": self.pending,
                    "requests": len(self.requests),
                    "rules": len(self.rules),
                }
            )

        for method in ("GET", "DELETE"):
            r.add_route(method, "/__sim/requests", requests)
        for method in ("GET", "POST", "DELETE"):
            r.add_route(method, "/__sim/rules", rules)
        r.add_get("/__sim/models", models)
        for method in ("PUT", "DELETE"):
            r.add_route(method, "/__sim/models/{name:.+}", models)
        for method in ("GET", "PATCH"):
            r.add_route(method, "/__sim/settings", settings)
        r.add_post("/__sim/unload", unload)
        r.add_post("/__sim/reset", reset)
        r.add_get("/__sim/state", state)
