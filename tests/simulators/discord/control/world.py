"""Control routes that build the world: users, bots, guilds, channels, roles, members, threads, clock."""

from __future__ import annotations

from ..actions import delete_channel, remove_bot, thread_created, update_thread
from ..constants import I_GUILDS, I_MEMBERS, I_MODERATION, PRIVILEGED, perm_value
from ..errors import CtlErr
from ..store import Obj
from .base import C, ctl, info


@ctl("GET", "/info")
async def c_info(c: C):
    return info(c.sim)


@ctl("POST", "/reset")
async def c_reset(c: C):
    c.sim.reset()
    return info(c.sim)


@ctl("POST", "/config")
async def c_config(c: C):
    for k, v in c.b.items():
        if k not in c.sim.cfg:
            raise CtlErr(f"unknown setting {k}")
        if k == "rate_profile":
            c.sim.set_profile(v)
        c.sim.cfg[k] = v
    return dict(c.sim.cfg)


@ctl("POST", "/clock")
async def c_clock(c: C):
    c.sim.offset += float(c.b.get("advance", 0))
    c.sim.pulse()
    return {"now": c.sim.now(), "offset": c.sim.offset}


@ctl("POST", "/users")
async def c_user(c: C):
    b = dict(c.b)
    u = c.sim.add_user(
        b.pop("username"),
        b.pop("global_name", None),
        b.pop("bot", False),
        b.pop("id", None),
        b.pop("dm_closed", False),
        **b,
    )
    return c.sim.user_d(u.id)


@ctl("PATCH", "/users/{user_id}")
async def c_user_patch(c: C):
    u = c.sim.users[int(c.p["user_id"])]
    u.update(c.b)
    return c.sim.user_d(u.id)


@ctl("POST", "/bots")
async def c_bot(c: C):
    b = c.sim.add_bot(c.b.get("name", "Bot2"), c.b.get("token"), c.b.get("allowed", list(PRIVILEGED)))
    return {"id": str(b.id), "token": b.token}


@ctl("PATCH", "/bot")
async def c_bot_patch(c: C):
    b = c.bot()
    if "allowed" in c.b:
        b.allowed = set(c.b["allowed"])
    if "token" in c.b:
        c.sim.tokens.pop(b.token, None)
        b.token = c.b["token"]
        c.sim.tokens[b.token] = b
    return {"id": str(b.id), "token": b.token, "allowed": sorted(b.allowed)}


@ctl("POST", "/guilds")
async def c_guild(c: C):
    b, s = c.b, c.sim
    g = s.add_guild(
        b.get("name", "Guild"),
        b.get("owner_id"),
        b.get("bots"),
        b.get("bot_permissions"),
        b.get("everyone"),
        dispatch=False,
        id=b.get("id"),
    )
    for u in b.get("members", []):
        s._member(
            g, int(u["id"] if isinstance(u, dict) else u), nick=u.get("nick") if isinstance(u, dict) else None
        )
    out = {"id": str(g.id), "name": g.name, "channels": {}}
    for ch in b.get("channels", ["general"]):
        d = {"name": ch} if isinstance(ch, str) else dict(ch)
        x = s.add_channel(g, d.pop("name"), d.pop("type", 0), **d)
        out["channels"][x.name] = str(x.id)
    for bt in s.guild_bots(g):
        s.emit(
            "GUILD_CREATE",
            lambda q, bt=bt: s.guild_full(g, bt, q.intents, True),
            bot=bt,
            guild=g,
            need=I_GUILDS,
        )
    r = next((r for r in g.roles.values() if r.bot_id == s.bot.id), None)
    out["bot_role_id"] = str(r.id) if r else None
    return out


@ctl("GET", "/guilds/{guild_id}")
async def c_guild_get(c: C):
    g = c.guild()
    return dict(
        c.sim.guild_base(g),
        channels=[c.sim.channel_d(x) for x in g.channels.values()],
        threads=[c.sim.channel_d(t) for t in g.threads.values()],
        members=[str(m) for m in g.members],
    )


@ctl("POST", "/guilds/{guild_id}/channels")
async def c_chan(c: C):
    g = c.guild()
    b = dict(c.b)
    x = c.sim.add_channel(g, b.pop("name"), b.pop("type", 0), **b)
    c.sim.emit("CHANNEL_CREATE", lambda s: c.sim.channel_d(x, s.bot.id), guild=g, need=I_GUILDS)
    return {"id": str(x.id), "name": x.name}


@ctl("DELETE", "/channels/{channel_id}")
async def c_chan_del(c: C):
    delete_channel(c.sim, c.channel())
    return {}


@ctl("POST", "/channels/{channel_id}/overwrites")
async def c_ow(c: C):
    x = c.channel()
    before = {b.id: c.sim.can(b.id, x, "VIEW_CHANNEL") for b in c.sim.bots.values()}
    c.sim.set_overwrite(x, c.b)
    c.sim.emit(
        "CHANNEL_UPDATE",
        lambda s: c.sim.channel_d(x, s.bot.id),
        guild=c.sim.guilds[x.guild_id],
        need=I_GUILDS,
    )
    return {
        "bot_could_view": before.get(c.sim.bot.id),
        "bot_can_view": c.sim.can(c.sim.bot.id, x, "VIEW_CHANNEL"),
    }


@ctl("POST", "/guilds/{guild_id}/roles")
async def c_role(c: C):
    g = c.guild()
    r = Obj(
        id=c.sim.snow(),
        name=c.b.get("name", "role"),
        permissions=perm_value(c.b.get("permissions")),
        position=len(g.roles),
        managed=False,
    )
    g.roles[r.id] = r
    c.sim.emit("GUILD_ROLE_CREATE", {"guild_id": str(g.id), "role": c.sim.role_d(r)}, guild=g, need=I_GUILDS)
    return {"id": str(r.id)}


@ctl("PATCH", "/guilds/{guild_id}/roles/{role_id}")
async def c_role_patch(c: C):
    g = c.guild()
    r = g.roles[int(c.p["role_id"])]
    if "permissions" in c.b:
        r.permissions = perm_value(c.b["permissions"])
    c.sim.emit("GUILD_ROLE_UPDATE", {"guild_id": str(g.id), "role": c.sim.role_d(r)}, guild=g, need=I_GUILDS)
    return c.sim.role_d(r)


@ctl("POST", "/guilds/{guild_id}/members")
async def c_member(c: C):
    g = c.guild()
    uid = int(c.b["user_id"])
    c.sim._member(g, uid, c.b.get("roles", []), c.b.get("nick"))
    c.sim.emit(
        "GUILD_MEMBER_ADD",
        lambda s: dict(c.sim.member_d(g, uid), guild_id=str(g.id)),
        guild=g,
        need=I_MEMBERS,
    )
    return c.sim.member_d(g, uid)


@ctl("POST", "/guilds/{guild_id}/members/bulk")
async def c_member_bulk(c: C):
    g = c.guild()
    n = int(c.b["count"])
    for i in range(n):
        c.sim._member(g, c.sim.add_user(f"{c.b.get('prefix', 'u')}{i}").id)
    return {"members": len(g.members)}


@ctl("PATCH", "/guilds/{guild_id}/members/{user_id}")
async def c_member_patch(c: C):
    g = c.guild()
    m = g.members[int(c.p["user_id"])]
    if "roles" in c.b:
        m.roles = [int(r) for r in c.b["roles"]]
    if "nick" in c.b:
        m.nick = c.b["nick"]
    c.sim.emit(
        "GUILD_MEMBER_UPDATE",
        lambda s: dict(c.sim.member_d(g, m.user_id), guild_id=str(g.id)),
        guild=g,
        need=I_MEMBERS,
    )
    return c.sim.member_d(g, m.user_id)


@ctl("DELETE", "/guilds/{guild_id}/members/{user_id}")
async def c_member_del(c: C):
    g, uid = c.guild(), int(c.p["user_id"])
    if uid in c.sim.bots:
        remove_bot(c.sim, g, c.sim.bots[uid])
        return {}
    if g.members.pop(uid, None) is None:
        raise CtlErr("not a member", 404)
    d = {"guild_id": str(g.id), "user": c.sim.user_d(uid)}
    if c.q.get("ban"):
        c.sim.emit("GUILD_BAN_ADD", d, guild=g, need=I_MODERATION)
    c.sim.emit("GUILD_MEMBER_REMOVE", d, guild=g, need=I_MEMBERS)
    return {}


@ctl("POST", "/guilds/{guild_id}/bot")
async def c_guild_bot(c: C):
    """{"action": "add" | "remove" | "outage" | "recover"}"""
    g, s, b = c.guild(), c.sim, c.bot()
    a = c.b["action"]
    if a == "remove":
        remove_bot(s, g, b)
    elif a == "add":
        s._add_bot_to_guild(g, b, c.b.get("permissions"))
        s.emit("GUILD_CREATE", lambda q: s.guild_full(g, b, q.intents, True), bot=b, guild=g, need=I_GUILDS)
    elif a == "outage":
        s.emit("GUILD_DELETE", {"id": str(g.id), "unavailable": True}, guild=g, need=I_GUILDS)
        g.unavailable = True
    elif a == "recover":
        g.unavailable = False
        for bt in s.guild_bots(g):
            s.emit(
                "GUILD_CREATE",
                lambda q, bt=bt: s.guild_full(g, bt, q.intents),
                bot=bt,
                guild=g,
                need=I_GUILDS,
            )
    else:
        raise CtlErr("unknown action")
    return {}


@ctl("POST", "/channels/{channel_id}/threads")
async def c_thread(c: C):
    """text: {name, user_id, private?, archived?, message_id?}; forum: {name, user_id, content}"""
    x, b, s = c.channel(), c.b, c.sim
    m = x.store.by_id.get(int(b["message_id"])) if b.get("message_id") else None
    t = s.add_thread(x, b["name"], b["user_id"], private=b.get("private", False), message=m, archived=False)
    for u in b.get("members", []):
        t.tmembers[int(u)] = s.now()
    if b.get("silent"):
        t.archived = bool(b.get("archived"))
    else:
        thread_created(s, t, None)
    if x.type in (15, 16) or b.get("content"):
        s.post(
            t,
            int(b["user_id"]),
            b.get("content", ""),
            id=t.id if x.type in (15, 16) else None,
            emit=not b.get("silent"),
        )
    if b.get("archived") and not b.get("silent"):
        update_thread(s, t, {"archived": True})
    return {"id": str(t.id), "name": t.name, "type": t.type}


@ctl("PATCH", "/threads/{channel_id}")
async def c_thread_patch(c: C):
    update_thread(c.sim, c.channel(), c.b)
    return c.sim.channel_d(c.channel())


@ctl("POST", "/dms")
async def c_dm(c: C):
    x = c.sim.dm_channel(c.bot(), int(c.b["user_id"]))
    return {"id": str(x.id)}
