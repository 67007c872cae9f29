"""Control routes that tell what the bot did."""

from __future__ import annotations

import fnmatch

from .base import C, ctl


def match_sent(sim, b):
    since = int(b.get("since", 0))
    out = []
    for r in sim.sent[since:]:
        if b.get("kind") and r["kind"] not in (
            b["kind"] if isinstance(b["kind"], list) else b["kind"].split(",")
        ):
            continue
        if any(
            b.get(k) and str(r.get(k)) != str(b[k])
            for k in ("channel_id", "message_id", "interaction_id", "reply_to_id", "bot_id")
        ):
            continue
        if b.get("contains") and b["contains"] not in (r.get("content") or ""):
            continue
        if b.get("equals") is not None and b["equals"] != r.get("content"):
            continue
        out.append(r)
    return out


@ctl("GET", "/sent")
async def c_sent(c: C):
    return {"seq": len(c.sim.sent), "sent": match_sent(c.sim, c.q)}


@ctl("POST", "/wait")
async def c_wait(c: C):
    """{kind?, channel_id?, contains?, equals?, reply_to_id?, since?, count?, timeout?}
    -> the first matching records of /sim/sent"""
    n = int(c.b.get("count", 1))
    r = await c.sim.wait_for(
        lambda: (lambda x: x if len(x) >= n else None)(match_sent(c.sim, c.b)), float(c.b.get("timeout", 10))
    )
    return {"ok": bool(r), "sent": r or match_sent(c.sim, c.b), "seq": len(c.sim.sent)}


@ctl("POST", "/wait_ready")
async def c_wait_ready(c: C):
    """until a bot session is connected (and, with commands: true, has registered slash commands)"""
    b = c.bot()

    def pred():
        live = [s for s in c.sim.sessions.values() if s.bot is b and s.conn is not None]
        return bool(live) and (not c.b.get("commands") or bool(b.commands or b.guild_commands))

    ok = await c.sim.wait_for(pred, float(c.b.get("timeout", 30)))
    return {"ok": bool(ok)}


@ctl("GET", "/requests")
async def c_requests(c: C):
    return {
        "total": sum(v.count for v in c.sim.counts.values()),
        "routes": c.sim.counts,
        "unimplemented": dict(c.sim.unimplemented),
        "status_429": sum(v.statuses.get("429", 0) for v in c.sim.counts.values()),
    }


@ctl("GET", "/requests/log")
async def c_reqlog(c: C):
    since = int(c.q.get("since", 0))
    out = [r for r in c.sim.reqlog if r["seq"] > since]
    if c.q.get("match"):
        out = [
            r
            for r in out
            if fnmatch.fnmatchcase(f"{r['method']} {r['path']}", c.q["match"])
            or fnmatch.fnmatchcase(r["route"], c.q["match"])
        ]
    return {"seq": c.sim.reqseq, "log": out[-int(c.q.get("limit", 1000)) :]}


@ctl("POST", "/requests/reset")
async def c_reqreset(c: C):
    c.sim.counts.clear()
    c.sim.reqlog.clear()
    c.sim.unimplemented.clear()
    return {}
