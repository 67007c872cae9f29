"""Finds the control route of a request and runs it."""

from __future__ import annotations

import json

from aiohttp import web

from ..errors import ApiErr, CtlErr
from ..world import Sim
from . import faults, interactions, messages, observe, world  # noqa: F401 (they register)
from .base import CTL, C


async def ctl_handler(sim: Sim, request):
    for m, rx, fn in CTL:
        mm = rx.match(request.path) if m == request.method else None
        if mm:
            try:
                raw = await request.read()
                out = await fn(C(sim, mm.groupdict(), json.loads(raw) if raw else {}, dict(request.query)))
                return web.Response(
                    body=json.dumps(out, default=str, ensure_ascii=False).encode(),
                    content_type="application/json",
                )
            except CtlErr as e:
                return web.json_response({"error": str(e)}, status=e.status)
            except (KeyError, TypeError, ValueError, ApiErr) as e:
                return web.json_response(
                    {"error": f"{type(e).__name__}: {e}" if not isinstance(e, ApiErr) else e.message},
                    status=400,
                )
    return web.json_response({"error": "no such control route"}, status=404)
