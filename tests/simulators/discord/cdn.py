"""Attachments with signed, expiring URLs; any other path is a one-pixel image."""

from __future__ import annotations

import asyncio
import base64
import hmac
import re
import time

from aiohttp import web

from .faults import find_fault
from .store import Obj
from .world import Sim

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


async def cdn_handler(sim: Sim, request):
    path = request.path
    rec = {
        "seq": 0,
        "t": round(time.time() - sim.t0, 4),
        "method": request.method,
        "path": path,
        "query": dict(request.query),
        "route": f"{request.method} CDN",
        "status": 200,
    }
    sim.reqlog.append(rec)
    cnt = sim.counts.setdefault(rec["route"], Obj(count=0, statuses={}))
    cnt.count += 1
    f = find_fault(sim, request.method, path)
    if f:
        if f.delay:
            await asyncio.sleep(f.delay)
        if f.action in ("drop", "drop_after", "hang"):
            request.transport.abort()
            return web.Response()
        if f.action == "status":
            return web.Response(status=f.status, text=str(f.body or ""))
    if path.startswith("/proxy"):
        path = path[6:]
    m = re.match(r"^/attachments/(\d+)/(\d+)/[^/]+$", path)
    if not m:
        return web.Response(body=PIXEL, content_type="image/png")
    e = sim.files.get(int(m.group(2)))
    gone = web.Response(status=404, text="This content is no longer available.")
    if e is None or str(e["meta"]["channel_id"]) != m.group(1):
        return gone
    if sim.cfg.cdn_signed:
        try:
            ex = int(request.query["ex"], 16)
            if (
                not hmac.compare_digest(request.query["hm"], sim.cdn_sig(e["meta"]["id"], ex))
                or ex < sim.now()
            ):
                return gone
        except (KeyError, ValueError):
            return gone
    ct = e["meta"].get("content_type") or "application/octet-stream"
    return web.Response(
        body=e["data"],
        headers={
            "Content-Type": ct,
            "Content-Disposition": f'attachment; filename="{e["meta"]["filename"]}"',
        },
    )
