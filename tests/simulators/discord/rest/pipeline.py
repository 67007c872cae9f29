"""The way of a REST request: fault, authentication, rate limit, body, route, answer."""

from __future__ import annotations

import asyncio
import json
import math
import re
import time
import traceback
import urllib.parse

from aiohttp import web

from ..errors import ApiErr, unauthorized
from ..faults import find_fault, rate_check
from ..store import Obj
from ..world import Sim
from . import channels, commands, guilds, interactions, messages, oauth, threads, users  # noqa: F401 (they register)
from .request import ROUTES, Req


async def rest_handler(sim: Sim, request):
    m = re.match(r"^/api(?:/v(\d+))?(/.*)$", request.rel_url.raw_path)
    path = m.group(2)
    method = request.method
    t_in = time.time()
    hit, params = None, {}
    for r in ROUTES:
        if r[0] == method:
            mm = r[2].match(path)
            if mm:
                hit, params = r, {k: urllib.parse.unquote(v) for k, v in mm.groupdict().items()}
                break
    template = hit[1] if hit else path
    base_h = {"Via": "1.1 google", "Server": "cloudflare", "CF-RAY": "sim", "X-Sim": "1"}
    sim.reqseq += 1
    rec = {
        "seq": sim.reqseq,
        "t": round(t_in - sim.t0, 4),
        "method": method,
        "path": path,
        "query": dict(request.query),
        "route": f"{method} {template}",
        "status": None,
    }
    sim.reqlog.append(rec)
    cnt = sim.counts.setdefault(rec["route"], Obj(count=0, statuses={}))
    cnt.count += 1

    def done(status, body=None, headers=None, text=None):
        rec["status"] = status
        rec["ms"] = round((time.time() - t_in) * 1000, 2)
        cnt.statuses[str(status)] = cnt.statuses.get(str(status), 0) + 1
        sim.pulse()
        h = dict(base_h, **(headers or {}))
        if text is not None:
            return web.Response(status=status, text=text, headers=h, content_type="text/html")
        if status == 204:
            return web.Response(status=204, headers=h)
        return web.Response(
            status=status,
            body=json.dumps(body, ensure_ascii=False).encode(),
            headers=h,
            content_type="application/json",
        )

    def drop(why):
        rec["status"] = why
        cnt.statuses[why] = cnt.statuses.get(why, 0) + 1
        if request.transport is not None:
            request.transport.abort()
        return web.Response()

    if sim.cfg.latency_ms:
        await asyncio.sleep(sim.cfg.latency_ms / 1000)
    f = find_fault(sim, method, path, template, "pre")
    if f:
        rec["fault"] = f.id
        if f.delay:
            await asyncio.sleep(f.delay)
        if f.action == "drop":
            return drop("drop")
        if f.action == "hang":
            await asyncio.sleep(f.delay or 3600)
            return drop("hang")
        if f.action == "status":
            h = dict(f.headers or {})
            if f.no_via:
                base_h.pop("Via")
            if f.status == 429 and isinstance(f.body, str) is False:
                ra = f.retry_after or 0.5
                h.setdefault("Retry-After", str(math.ceil(ra)))
                if f["global"]:
                    h.setdefault("X-RateLimit-Global", "true")
                h.setdefault("X-RateLimit-Scope", "global" if f["global"] else f.scope or "user")
                return done(
                    429,
                    {
                        "message": "You are being rate limited.",
                        "retry_after": ra,
                        "global": bool(f["global"]),
                    },
                    h,
                )
            if isinstance(f.body, str):
                return done(f.status, headers=h, text=f.body)
            return done(
                f.status, f.body or {"message": f.message or f"{f.status}: Injected", "code": f.code or 0}, h
            )
    # authentication
    auth = request.headers.get("Authorization", "")
    bot = sim.tokens.get(auth[4:]) if auth.startswith("Bot ") else None
    if hit is None:
        if bot is None:
            return done(401, unauthorized().body())
        sim.unimplemented[f"{method} {re.sub(r'[0-9]{15,}', '{id}', path)}"] += 1
        return done(404, {"message": "404: Not Found", "code": 0})
    if hit[4] and bot is None:
        return done(401, unauthorized().body())
    if not request.headers.get("User-Agent"):
        return done(403, {"message": "internal network error", "code": 40333})
    ident = bot.id if bot else params.get("webhook_id") or "anon"
    h, retry, is_global = rate_check(sim, ident, method, template, params, hit[5])
    if retry is not None:
        h = dict(h, **{"Retry-After": str(math.ceil(retry))})
        return done(
            429,
            {
                "message": "You are being rate limited." if not is_global else "You are being rate limited.",
                "retry_after": round(retry, 3),
                "global": is_global,
            },
            h,
        )
    body, files, form = {}, {}, {}
    try:
        ct = request.content_type
        if ct == "multipart/form-data":
            async for part in await request.multipart():
                if part.name == "payload_json":
                    body = json.loads(await part.text())
                elif part.filename is not None:
                    files[part.name] = (
                        part.filename,
                        bytes(await part.read(decode=False)),
                        part.headers.get("Content-Type"),
                    )
        elif ct == "application/x-www-form-urlencoded":
            form = dict(await request.post())
        elif request.can_read_body:
            raw = await request.read()
            body = json.loads(raw) if raw else {}
    except (ValueError, UnicodeDecodeError):
        return done(400, {"message": "The request body contains invalid JSON.", "code": 50109}, h)
    if request.transport is None or request.transport.is_closing():
        return drop("client_gone")
    rq = Req(sim, bot, params, request.query, body, files, request, method, path, form)
    try:
        status, out = await hit[3](rq)
    except ApiErr as e:
        if e.status in (401, 403, 429):
            sim.invalid_requests.append(time.time())
        return done(e.status, e.body(), h)
    except (KeyError, TypeError, ValueError) as e:
        traceback.print_exc()
        return done(400, {"message": f"Invalid Form Body (sim: {e!r})", "code": 50035}, h)
    f = find_fault(sim, method, path, template, "post")
    if f:
        rec["fault"] = f.id
        return drop("drop_after")
    if isinstance(out, oauth.Page):
        return done(status, headers=h, text=str(out))
    if isinstance(out, oauth.Redirect):
        return done(status, headers=dict(h, Location=str(out)), text="")
    return done(status, out, h)
