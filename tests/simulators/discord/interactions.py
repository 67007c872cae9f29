"""Interactions as a user starts them, and what the user sees of the answer."""

from __future__ import annotations

import secrets
import time

from .constants import ALL_PERMS
from .errors import CtlErr
from .store import Obj
from .world import Sim


def build_options(sim, spec, given, resolved):
    out = []
    for o in spec:
        n, t = o["name"], o["type"]
        if n not in given:
            if o.get("required"):
                raise CtlErr(f"option {n} is required")
            continue
        v = given[n]
        if t in (6, 7, 8, 9, 11):
            v = str(v)
            iv = int(v)
            if t == 6 or (t == 9 and iv in sim.users):
                resolved.setdefault("users", {})[v] = sim.user_d(iv)
                g = resolved.get("_guild")
                if g is not None and iv in g.members:
                    resolved.setdefault("members", {})[v] = dict(
                        sim.member_d(g, iv, user=False), permissions=str(sim.perms(g, iv))
                    )
            elif t == 7:
                ch = sim.channels[iv]
                resolved.setdefault("channels", {})[v] = dict(sim.channel_d(ch), permissions=str(ALL_PERMS))
            elif t == 8:
                resolved.setdefault("roles", {})[v] = sim.role_d(resolved["_guild"].roles[iv])
            elif t == 11:
                resolved.setdefault("attachments", {})[v] = sim.attach_d(sim.files[iv]["meta"])
        elif t == 3:
            v = str(v)
            if o.get("choices") and v not in [ch["value"] for ch in o["choices"]]:
                raise CtlErr(f"{n}: not one of the choices")
            if len(v) > o.get("max_length", 6000) or len(v) < o.get("min_length", 0):
                raise CtlErr(f"{n}: bad length")
        elif t == 4:
            v = int(v)
        elif t == 5:
            v = bool(v)
        elif t == 10:
            v = float(v)
        if t in (4, 10) and (v > o.get("max_value", v) or v < o.get("min_value", v)):
            raise CtlErr(f"{n}: out of range")
        out.append({"name": n, "type": t, "value": v})
    extra = set(given) - {o["name"] for o in spec}
    if extra:
        raise CtlErr(f"unknown options {sorted(extra)}")
    return out


def start_interaction(sim: Sim, bot, x: Obj, uid: int, typ: int, data, command, source=None) -> Obj:
    g = sim.guilds.get(x.guild_id) if x.guild_id else None
    i = Obj(
        id=sim.snow(),
        token="aW50ZXJhY3Rpb246" + secrets.token_urlsafe(60),
        bot=bot,
        user_id=uid,
        channel_id=x.id,
        guild_id=g.id if g else None,
        created=sim.now(),
        ack=None,
        msgs=[],
        command=command,
        type=typ,
        source=source,
        delivered=False,
    )
    sim.interactions[i.id] = i
    sim.itokens[i.token] = i
    d = {
        "id": str(i.id),
        "application_id": str(bot.id),
        "type": typ,
        "token": i.token,
        "version": 1,
        "data": data,
        "channel_id": str(x.id),
        "channel": dict(sim.channel_d(x, bot.id), permissions=str(sim.perms(g, uid, x) if g else ALL_PERMS)),
        "locale": "en-US",
        "entitlements": [],
        "entitlement_sku_ids": [],
        "attachment_size_limit": sim.cfg.max_attachment,
        "app_permissions": str(sim.perms(g, bot.id, x) if g else ALL_PERMS),
    }
    if g:
        d.update(
            guild_id=str(g.id),
            guild={"id": str(g.id), "locale": "en-US", "features": []},
            guild_locale="en-US",
            context=0,
            member=dict(sim.member_d(g, uid), permissions=str(sim.perms(g, uid, x))),
            authorizing_integration_owners={"0": str(g.id)},
        )
    else:
        d.update(user=sim.user_d(uid), context=1, authorizing_integration_owners={"0": "0"})
    if source is not None:
        d["message"] = sim.msg_d(source)
    want = (g.id >> 22) if g else 0
    for s in sim.sessions.values():
        if s.bot is bot and want % s.shard[1] == s.shard[0]:
            i.delivered = i.delivered or s.conn is not None
            s.dispatch("INTERACTION_CREATE", d)
    return i


async def await_interaction(sim: Sim, i: Obj, wait, timeout, contains=None):
    def pred():
        st = i_state(i, sim)
        if st["state"] == "failed":
            return st
        if wait == "ack" and i.ack is not None:
            return st
        if wait == "final" and i.ack is not None:
            if i.ack in (8, 9) or (i.ack in (6, 7)):
                return st
            live = [m for m in st["messages"] if not m["loading"] and not m["deleted"]]
            if live and (contains is None or any(contains in m["content"] for m in live)):
                return st
        return None

    if wait in ("ack", "final"):
        r = await sim.wait_for(pred, timeout)
        if r:
            return r
        return dict(i_state(i, sim), timed_out=True)
    return i_state(i, sim)


def i_state(i: Obj, sim: Sim):
    now = time.time()
    return {
        "id": str(i.id),
        "token": i.token,
        "type": i.type,
        "command": i.command,
        "user_id": str(i.user_id),
        "channel_id": str(i.channel_id),
        "guild_id": str(i.guild_id) if i.guild_id else None,
        "state": "acked"
        if i.ack is not None
        else "failed"
        if now + sim.offset - i.created > sim.cfg.ack_deadline
        else "pending",
        "ack_type": i.ack,
        "ack_after": round(i.acked - i.created, 4) if i.acked else None,
        "deferred": i.ack in (5, 6),
        "ephemeral": bool(i.ephemeral),
        "thinking": bool(i.loading),
        "choices": i.choices,
        "modal": i.modal,
        "delivered": i.delivered,
        "rejected": i.rejected,
        "messages": [
            {
                "id": str(m.id),
                "content": m.content,
                "flags": m.get("flags", 0),
                "ephemeral": bool(m.get("flags", 0) & 64),
                "loading": bool(m.get("flags", 0) & 128),
                "original": m is i.original,
                "deleted": bool(m.get("deleted")),
                "embeds": m.get("embeds", []),
                "components": m.get("components", []),
                "edits": m.get("edits", []),
                "attachments": [a["filename"] for a in m.get("attachments", [])],
            }
            for m in i.msgs
        ],
    }
