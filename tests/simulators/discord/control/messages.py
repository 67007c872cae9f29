"""Control routes that post, edit, delete and preload messages as users."""

from __future__ import annotations

import time

from ..actions import react
from ..constants import I_DM_TYPING, I_GUILD_TYPING, THREADS
from ..errors import CtlErr
from ..times import parse_when
from .base import C, ctl


@ctl("POST", "/channels/{channel_id}/messages")
async def c_post(c: C):
    """{user_id, content, reply_to?, ping?, attachments?, embeds?, force?} - posts as a user and dispatches
    MESSAGE_CREATE"""
    x, b, s = c.channel(), c.b, c.sim
    uid = int(b["user_id"])
    if uid not in s.users:
        raise CtlErr("no such user", 404)
    if (
        not b.get("force")
        and not s.can(uid, x, "VIEW_CHANNEL", "SEND_MESSAGES")
        and not (x.type in THREADS and s.can(uid, x, "SEND_MESSAGES_IN_THREADS"))
    ):
        raise CtlErr("that user may not post there (force: true to override)", 403)
    ref = x.store.by_id.get(int(b["reply_to"])) if b.get("reply_to") else None
    files = [s.add_file(x.id, **s.file_args(a)) for a in b.get("attachments", [])]
    m = s.post(
        x,
        uid,
        b.get("content", ""),
        ref=ref,
        ping=b.get("ping", True),
        attachments=files,
        embeds=b.get("embeds"),
        ts=parse_when(b["timestamp"]) if b.get("timestamp") else None,
        emit=not b.get("silent"),
        webhook_id=b.get("webhook_id"),
        type=b.get("type"),
        flags=b.get("flags"),
    )
    return dict(s.msg_d(m), seq=len(s.sent))


@ctl("PATCH", "/channels/{channel_id}/messages/{message_id}")
async def c_edit(c: C):
    """{content?, embeds?, no_stamp?} - no_stamp mimics Discord's own later update that adds link embeds"""
    x, m = c.msg()
    if "content" in c.b:
        m.content = c.b["content"]
        u, ro, ev = c.sim.find_mentions(m.content, c.sim.guilds.get(x.guild_id))
        m.set("mentions", u)
    if "embeds" in c.b:
        m.set("embeds", c.b["embeds"])
    if not c.b.get("no_stamp"):
        m.set("edited", c.sim.now())
    if not c.b.get("silent"):
        c.sim.emit_msg("MESSAGE_UPDATE", m)
    return c.sim.msg_d(m)


@ctl("DELETE", "/channels/{channel_id}/messages/{message_id}")
async def c_del(c: C):
    x, m = c.msg()
    if c.q.get("silent"):
        x.store.pop(m.id)
    else:
        c.sim.delete(x, m.id)
    return {}


@ctl("POST", "/channels/{channel_id}/bulk_delete")
async def c_bulk(c: C):
    return {"deleted": [str(i) for i in c.sim.bulk_delete(c.channel(), [int(i) for i in c.b["ids"]])]}


@ctl("POST", "/channels/{channel_id}/typing")
async def c_typing(c: C):
    x, s, uid = c.channel(), c.sim, int(c.b["user_id"])
    d = {"channel_id": str(x.id), "user_id": str(uid), "timestamp": int(s.now())}
    if x.guild_id:
        d.update(guild_id=str(x.guild_id), member=s.member_d(s.guilds[x.guild_id], uid))
    s.emit("TYPING_START", d, channel=x, need=I_GUILD_TYPING, need_dm=I_DM_TYPING)
    return {}


@ctl("POST", "/channels/{channel_id}/messages/{message_id}/reactions")
async def c_react(c: C):
    x, m = c.msg()
    react(c.sim, x, m, int(c.b["user_id"]), c.b["emoji"], not c.b.get("remove"))
    return {}


@ctl("POST", "/channels/{channel_id}/preload")
async def c_preload(c: C):
    """{count, users: [ids], template: "message {i}", start|end, interval_ms}
    or {messages: [{user_id, content, timestamp, reply_to?, attachments?}]}"""
    x, b = c.channel(), c.b
    t = time.time()
    ids = c.sim.preload(
        x,
        int(b.get("count", 0)),
        [int(u) for u in b.get("users", [c.sim.owner.id])],
        b.get("template", "message {i}"),
        parse_when(b["start"]) if b.get("start") is not None else None,
        parse_when(b["end"]) if b.get("end") is not None else None,
        b.get("interval_ms", 1000),
        b.get("messages"),
    )
    return {
        "count": len(ids),
        "first": str(ids[0]) if ids else None,
        "last": str(ids[-1]) if ids else None,
        "seconds": round(time.time() - t, 3),
        "ids": [str(i) for i in ids] if len(ids) <= 1000 else None,
    }


@ctl("GET", "/channels/{channel_id}/messages")
async def c_messages(c: C):
    x = c.channel()
    lim = int(c.q.get("limit", 100))
    a = {k: int(c.q[k]) for k in ("before", "after", "around") if k in c.q}
    ms = x.store.page(lim, **a)
    if c.q.get("author"):
        ms = [m for m in ms if str(m.author_id) == c.q["author"]]
    return {
        "total": len(x.store.ids),
        "messages": [dict(c.sim.msg_d(m), edits=m.get("edits", [])) for m in ms],
    }
