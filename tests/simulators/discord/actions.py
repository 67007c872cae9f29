"""Changes of the world that both the REST routes and the control API make."""

from __future__ import annotations

from .constants import I_DM_REACTIONS, I_GUILD_REACTIONS, I_GUILDS, THREADS
from .store import Obj
from .times import parse_when


def app_flags(b):
    f = 0
    for n, bit in (("presences", 1 << 13), ("members", 1 << 15), ("message_content", 1 << 19)):
        if n in b.allowed:
            f |= bit
    return f


def remove_bot(sim, g, b):
    d = {"id": str(g.id)}
    sim.emit("GUILD_DELETE", d, bot=b, guild=g, need=I_GUILDS)
    m = g.members.pop(b.id, None)
    for r in m.roles if m else []:
        if g.roles.get(r, Obj()).bot_id == b.id:
            g.roles.pop(r)


def update_thread(sim, c, body):
    for k in ("name", "locked"):
        if k in body:
            c[k] = body[k]
    if "archived" in body and body["archived"] != c.archived:
        c.archived = body["archived"]
        c.archive_ts = parse_when(body["archive_timestamp"]) if body.get("archive_timestamp") else sim.now()
    sim.emit("THREAD_UPDATE", lambda s: sim.channel_d(c, s.bot.id), channel=c, need=I_GUILDS)


def delete_channel(sim, c):
    g = sim.guilds[c.guild_id]
    if c.type in THREADS:
        sim.emit(
            "THREAD_DELETE",
            {"id": str(c.id), "guild_id": str(g.id), "parent_id": str(c.parent_id), "type": c.type},
            channel=c,
            need=I_GUILDS,
        )
        g.threads.pop(c.id, None)
    else:
        sim.emit("CHANNEL_DELETE", lambda s: sim.channel_d(c, s.bot.id), guild=g, need=I_GUILDS)
        g.channels.pop(c.id, None)
        for t in [t for t in g.threads.values() if t.parent_id == c.id]:
            g.threads.pop(t.id)
            sim.channels.pop(t.id, None)
    sim.channels.pop(c.id, None)


def thread_created(sim, t, by):
    def build(s):
        d = sim.channel_d(t, s.bot.id)
        d["newly_created"] = True
        return d

    sim.emit("THREAD_CREATE", build, channel=t, need=I_GUILDS)


def react(sim, c, m, uid, emoji, add):
    rx = m.get("reactions") or {}
    us = rx.setdefault(emoji, [])
    if add and uid not in us:
        us.append(uid)
    if not add and uid in us:
        us.remove(uid)
    m.set("reactions", rx)
    d = {
        "user_id": str(uid),
        "channel_id": str(c.id),
        "message_id": str(m.id),
        "emoji": {"id": None, "name": emoji},
        "type": 0,
        "burst": False,
    }
    if c.guild_id:
        d["guild_id"] = str(c.guild_id)
        if add:
            d["member"] = sim.member_d(sim.guilds[c.guild_id], uid)
            d["message_author_id"] = str(m.author_id)
    sim.emit(
        "MESSAGE_REACTION_ADD" if add else "MESSAGE_REACTION_REMOVE",
        d,
        channel=c,
        need=I_GUILD_REACTIONS,
        need_dm=I_DM_REACTIONS,
    )
