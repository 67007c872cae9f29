"""Control routes that make things go wrong."""

from __future__ import annotations

import asyncio
import os
import signal
import time

from ..errors import CtlErr
from ..store import Obj
from .base import C, ctl


@ctl("POST", "/faults")
async def c_fault(c: C):
    """{match: "GET /channels/*/messages", action: "status"|"drop"|"drop_after"|"hang"|"delay", status, code,
    message, body, headers, retry_after, global, scope, no_via, delay, count (default 1, -1 for ever), skip,
    probability}"""
    b = c.b
    c.sim.fault_seq += 1
    f = Obj(
        id=c.sim.fault_seq,
        match=b["match"],
        action=b.get("action", "status"),
        status=int(b.get("status", 500)),
        code=b.get("code"),
        message=b.get("message"),
        body=b.get("body"),
        headers=b.get("headers"),
        retry_after=b.get("retry_after"),
        scope=b.get("scope"),
        no_via=b.get("no_via", False),
        delay=float(b.get("delay", 0)),
        count=int(b.get("count", 1)),
        skip=int(b.get("skip", 0)),
        probability=float(b.get("probability", 1)),
        hits=0,
    )
    f["global"] = bool(b.get("global"))
    c.sim.faults.append(f)
    return {"id": f.id}


@ctl("GET", "/faults")
async def c_faults(c: C):
    return {"faults": c.sim.faults}


@ctl("DELETE", "/faults")
async def c_faults_clear(c: C):
    c.sim.faults.clear()
    return {}


@ctl("POST", "/ratelimits")
async def c_rl(c: C):
    """{profile?, global?, rules?: [{method, route, limit, per, hidden?}]} - rules go before the profile's;
    hidden: advertise that larger limit"""
    s, b = c.sim, c.b
    if "profile" in b:
        s.set_profile(b["profile"])
        s.cfg.global_limit = 0 if b["profile"] == "off" else 50
    if "global" in b:
        s.cfg.global_limit = int(b["global"])
    for r in b.get("rules", []):
        s.rules.insert(
            0,
            Obj(
                method=r.get("method", "*"),
                route=r.get("route", "*"),
                limit=int(r["limit"]),
                per=float(r["per"]),
                hidden=int(r.get("hidden", 0)),
            ),
        )
    s.buckets.clear()
    return {"rules": s.rules, "global": s.cfg.global_limit}


@ctl("GET", "/gateway")
async def c_gw(c: C):
    s = c.sim
    return {
        "stats": s.gwstats,
        "sessions": [
            {
                "session_id": x.id,
                "bot_id": str(x.bot.id),
                "connected": x.conn is not None,
                "seq": x.seq,
                "intents": x.intents,
                "shard": x.shard,
                "resumes": x.resumes,
                "replayed": x.replayed,
                "events": dict(x.dispatched),
                "compress": x.conn.compress if x.conn else None,
                "path": x.conn.request.path if x.conn else None,
            }
            for x in s.sessions.values()
        ],
    }


@ctl("POST", "/gateway/{action}")
async def c_gwact(c: C):
    """drop {mode: "abort"|"close", code, forget: make the session unresumable} | reconnect
    | invalidate {resumable} | pause {ack, events} | unpause | refuse {count|seconds, mode: reset|503|hang}
    | forget (sessions are no longer resumable) | heartbeat (ask for one)"""
    s, b, a = c.sim, c.b, c.p["action"]
    live = [x for x in s.sessions.values() if x.conn is not None]
    if a == "drop":
        for x in live:
            if b.get("mode", "abort") == "abort":
                x.conn.abort()
                x.conn, x.lost_at = None, time.monotonic()
            else:
                x.conn.close(int(b.get("code", 4000)), "sim")
            if b.get("forget"):
                s.sessions.pop(x.id, None)
    elif a == "reconnect":
        for x in live:
            x.conn.put({"t": None, "s": None, "op": 7, "d": None})
    elif a == "invalidate":
        for x in live:
            if not b.get("resumable"):
                s.sessions.pop(x.id, None)
            x.conn.put({"t": None, "s": None, "op": 9, "d": bool(b.get("resumable"))})
    elif a == "pause":
        for x in live:
            x.conn.ack = not b.get("ack", True)
            x.conn.hold = bool(b.get("events", False))
    elif a == "unpause":
        for x in live:
            x.conn.ack, x.conn.hold = True, False
    elif a == "refuse":
        s.refuse = Obj(
            count=int(b.get("count", 0)),
            until=time.time() + float(b.get("seconds", 0)),
            mode=b.get("mode", "reset"),
        )
    elif a == "forget":
        for x in list(s.sessions.values()):
            if x.conn is None or b.get("all"):
                s.sessions.pop(x.id, None)
    elif a == "heartbeat":
        for x in live:
            x.conn.put({"t": None, "s": None, "op": 1, "d": None})
    else:
        raise CtlErr("unknown action", 404)
    return {"sessions": len(live)}


@ctl("POST", "/dispatch")
async def c_dispatch(c: C):
    """{t, d} - a raw event to every session of the bot"""
    n = 0
    for s in c.sim.sessions.values():
        if s.bot is c.bot():
            s.dispatch(c.b["t"], c.b["d"])
            n += 1
    return {"sessions": n}


@ctl("POST", "/shutdown")
async def c_down(c: C):
    asyncio.get_running_loop().call_later(0.05, os.kill, os.getpid(), signal.SIGTERM)
    return {}
