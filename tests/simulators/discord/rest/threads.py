"""Routes about threads and forum posts."""

from __future__ import annotations

from ..actions import thread_created
from ..errors import ApiErr, form_err, missing_perms
from ..times import iso, parse_when
from .bodies import check_body, take_files
from .request import Req, route


def thread_list(r, ts, has_more=None):
    out = {
        "threads": [r.sim.channel_d(t, r.bot.id) for t in ts],
        "members": [
            {
                "id": str(t.id),
                "user_id": str(r.bot.id),
                "join_timestamp": iso(t.tmembers[r.bot.id]),
                "flags": 0,
            }
            for t in ts
            if r.bot.id in t.tmembers
        ],
    }
    if has_more is not None:
        out["has_more"] = has_more
    return 200, out


@route("GET", "/guilds/{guild_id}/threads/active")
async def r_active(r: Req):
    g = r.guild()
    return thread_list(
        r,
        sorted(
            (t for t in g.threads.values() if not t.archived and r.sim.can(r.bot.id, t, "VIEW_CHANNEL")),
            key=lambda t: -t.id,
        ),
    )


async def r_archived(r: Req):
    c = r.channel("READ_MESSAGE_HISTORY")
    if c.type not in (0, 5, 15, 16):
        raise ApiErr(400, 50024, "Cannot execute action on this channel type")
    private = r.path.endswith("/private")
    joined = "/users/@me/" in r.path
    if private and not joined and not r.sim.can(r.bot.id, c, "MANAGE_THREADS"):
        raise missing_perms()
    g = r.sim.guilds[c.guild_id]
    ts = [
        t
        for t in g.threads.values()
        if t.parent_id == c.id
        and t.archived
        and (t.type == 12) == private
        and (not joined or r.bot.id in t.tmembers)
    ]
    b = r.q.get("before")
    if joined:
        ts.sort(key=lambda t: -t.id)
        if b:
            ts = [t for t in ts if t.id < int(b)]
    else:
        ts.sort(key=lambda t: -t.archive_ts)
        if b:
            w = parse_when(b)
            ts = [t for t in ts if t.archive_ts < w - 1e-6]
    limit = int(r.q.get("limit") or 50)
    if limit < 2:
        raise form_err("limit", "NUMBER_TYPE_MIN", "int value should be greater than or equal to 2.")
    return thread_list(r, ts[:limit], len(ts) > limit)


for _x in (
    "/channels/{channel_id}/threads/archived/public",
    "/channels/{channel_id}/threads/archived/private",
    "/channels/{channel_id}/users/@me/threads/archived/private",
):
    route("GET", _x)(r_archived)


@route("POST", "/channels/{channel_id}/threads")
async def r_thread(r: Req):
    s, b = r.sim, r.body
    c = r.channel()
    if not b.get("name") or len(b["name"]) > 100:
        raise form_err("name", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100 in length.")
    if c.type in (15, 16):
        if not s.can(r.bot.id, c, "SEND_MESSAGES"):
            raise missing_perms()
        msg = b.get("message") or {}
        embeds = check_body(r, msg)
        t = s.add_thread(c, b["name"], r.bot.id, applied_tags=b.get("applied_tags") or ())
        thread_created(s, t, r.bot)
        m = s.post(
            t,
            r.bot.id,
            msg.get("content") or "",
            id=t.id,
            embeds=embeds,
            attachments=take_files(r, t.id, msg),
        )
        c.last = t.id
        s.log_sent(
            "message_create",
            bot_id=r.bot.id,
            channel_id=t.id,
            guild_id=c.guild_id,
            message_id=m.id,
            content=m.content,
            reply_to_id=None,
        )
        return 201, dict(s.channel_d(t, r.bot.id), message=r.out(m))
    private = b.get("type", 12) == 12
    if c.type not in (0, 5):
        raise ApiErr(400, 50024, "Cannot execute action on this channel type")
    if not s.can(r.bot.id, c, "CREATE_PRIVATE_THREADS" if private else "CREATE_PUBLIC_THREADS"):
        raise missing_perms()
    t = s.add_thread(c, b["name"], r.bot.id, private=private)
    thread_created(s, t, r.bot)
    s.log_sent("thread_create", bot_id=r.bot.id, channel_id=t.id, parent_id=c.id, name=t.name)
    return 201, s.channel_d(t, r.bot.id)


@route("POST", "/channels/{channel_id}/messages/{message_id}/threads")
async def r_thread_msg(r: Req):
    c = r.channel("CREATE_PUBLIC_THREADS")
    m = r.message(c)
    if m.get("thread_id"):
        raise ApiErr(400, 160004, "A thread has already been created for this message")
    t = r.sim.add_thread(c, r.body.get("name") or "thread", r.bot.id, message=m)
    thread_created(r.sim, t, r.bot)
    r.sim.emit_msg("MESSAGE_UPDATE", m)
    r.sim.log_sent("thread_create", bot_id=r.bot.id, channel_id=t.id, parent_id=c.id, name=t.name)
    return 201, r.sim.channel_d(t, r.bot.id)


@route("PUT", "/channels/{channel_id}/thread-members/@me")
async def r_join(r: Req):
    c = r.channel()
    if c.archived:
        raise ApiErr(400, 50083, "Thread is archived")
    c.tmembers[r.bot.id] = r.sim.now()
    return 204, None


@route("DELETE", "/channels/{channel_id}/thread-members/@me")
async def r_unjoin(r: Req):
    r.channel().tmembers.pop(r.bot.id, None)
    return 204, None


@route("GET", "/channels/{channel_id}/thread-members")
async def r_tmembers(r: Req):
    c = r.channel()
    return 200, [
        {"id": str(c.id), "user_id": str(u), "join_timestamp": iso(t), "flags": 0}
        for u, t in c.tmembers.items()
    ]
