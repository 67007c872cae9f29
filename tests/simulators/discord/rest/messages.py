"""Routes about messages, reactions and pins."""

from __future__ import annotations

import re

from ..actions import react
from ..constants import TEXTLIKE, THREADS
from ..errors import ApiErr, form_err, missing_perms
from ..store import Obj
from ..times import iso, snow_ts
from .bodies import apply_edit, check_body, take_files
from .request import Req, route, snow_arg


@route("GET", "/channels/{channel_id}/messages")
async def r_history(r: Req):
    c = r.channel()
    if c.type not in TEXTLIKE:
        raise ApiErr(400, 50008, "Cannot send messages in a non-text channel")
    try:
        limit = int(r.q.get("limit", 50))
    except ValueError:
        raise form_err("limit", "NUMBER_TYPE_COERCE", "Value is not int.") from None
    if limit < 1:
        raise form_err("limit", "NUMBER_TYPE_MIN", "int value should be greater than or equal to 1.")
    if limit > 100:
        raise form_err("limit", "NUMBER_TYPE_MAX", "int value should be less than or equal to 100.")
    if not r.sim.can(r.bot.id, c, "READ_MESSAGE_HISTORY") and c.type != 1:
        return 200, []
    a = {k: snow_arg(r.q[k], k) for k in ("before", "after", "around") if k in r.q}
    return 200, [r.out(m) for m in c.store.page(limit, **a)]


@route("GET", "/channels/{channel_id}/messages/{message_id}")
async def r_message(r: Req):
    c = r.channel("READ_MESSAGE_HISTORY")
    return 200, r.out(r.message(c))


@route("POST", "/channels/{channel_id}/messages")
async def r_send(r: Req):
    s = r.sim
    c = r.channel()
    if c.type not in TEXTLIKE:
        raise ApiErr(400, 50008, "Cannot send messages in a non-text channel")
    if c.type == 1:
        other = next(u for u in c.recipients if u != r.bot.id)
        if s.users[other].dm_closed:
            raise ApiErr(403, 50007, "Cannot send messages to this user")
    elif not s.can(r.bot.id, c, "SEND_MESSAGES_IN_THREADS" if c.type in THREADS else "SEND_MESSAGES"):
        raise missing_perms()
    if c.type in THREADS and c.archived and c.locked and not s.can(r.bot.id, c, "MANAGE_THREADS"):
        raise ApiErr(400, 50083, "Thread is archived")
    body = r.body
    embeds = check_body(r, body)
    if r.files and not s.can(r.bot.id, c, "ATTACH_FILES") and c.type != 1:
        raise missing_perms()
    nonce = body.get("nonce")
    if nonce is not None and len(str(nonce)) > 25:
        raise form_err("nonce", "BASE_TYPE_MAX_LENGTH", "Must be 25 or fewer in length.")
    if body.get("enforce_nonce") and nonce is not None:
        for mid in reversed(c.store.ids[-50:]):
            m = c.store.by_id[mid]
            if m.author_id == r.bot.id and str(m.get("nonce")) == str(nonce) and s.now() - snow_ts(mid) < 300:
                return 200, r.out(m)
    ref = None
    mr = body.get("message_reference")
    if mr:
        rc = s.channels.get(int(mr.get("channel_id") or c.id))
        ref = rc.store.by_id.get(int(mr["message_id"])) if rc else None
        if not s.can(r.bot.id, c, "READ_MESSAGE_HISTORY") and c.type != 1:
            raise ApiErr(400, 160002, "Cannot reply without permission to read message history")
        if ref is None and mr.get("fail_if_not_exists", True):
            raise form_err("message_reference", "REPLIES_UNKNOWN_MESSAGE", "Unknown message")
    am = body.get("allowed_mentions")
    m = s.post(
        c,
        r.bot.id,
        body.get("content") or "",
        ref=ref,
        allowed=am,
        ping=am is None or am.get("replied_user", False),
        embeds=embeds,
        components=body.get("components"),
        nonce=nonce,
        attachments=take_files(r, c.id, body),
        flags=(body.get("flags") or 0) & (4 | 4096 | 32768),
        tts=body.get("tts"),
    )
    s.log_sent(
        "message_create",
        bot_id=r.bot.id,
        channel_id=c.id,
        guild_id=c.guild_id,
        message_id=m.id,
        content=m.content,
        reply_to_id=ref.id if ref else None,
        flags=m.get("flags", 0),
        embeds=m.get("embeds", []),
        attachments=[a["filename"] for a in m.get("attachments", [])],
        mentions=[str(u) for u in m.get("mentions", [])],
    )
    return 200, r.out(m, gateway=False) | ({"nonce": nonce} if nonce is not None else {})


@route("PATCH", "/channels/{channel_id}/messages/{message_id}")
async def r_edit(r: Req):
    c = r.channel()
    m = r.message(c)
    if m.author_id != r.bot.id and (set(r.body) - {"flags"} or not r.sim.can(r.bot.id, c, "MANAGE_MESSAGES")):
        raise ApiErr(403, 50005, "Cannot edit a message authored by another user")
    if c.type in THREADS and c.archived:
        raise ApiErr(400, 50083, "Thread is archived")
    apply_edit(r, m, r.body)
    r.sim.emit_msg("MESSAGE_UPDATE", m)
    r.sim.log_sent(
        "message_edit",
        bot_id=r.bot.id,
        channel_id=c.id,
        guild_id=c.guild_id,
        message_id=m.id,
        content=m.content,
        edit_no=len(m.get("edits")),
        embeds=m.get("embeds", []),
    )
    return 200, r.out(m)


@route("DELETE", "/channels/{channel_id}/messages/{message_id}")
async def r_delete(r: Req):
    c = r.channel()
    m = r.message(c)
    if m.author_id != r.bot.id and (c.type == 1 or not r.sim.can(r.bot.id, c, "MANAGE_MESSAGES")):
        raise missing_perms() if c.type != 1 else ApiErr(403, 50003, "Cannot execute action on a DM channel")
    r.sim.delete(c, m.id)
    r.sim.log_sent("message_delete", bot_id=r.bot.id, channel_id=c.id, message_id=m.id)
    return 204, None


@route("POST", "/channels/{channel_id}/messages/bulk-delete")
async def r_bulk(r: Req):
    c = r.channel("MANAGE_MESSAGES")
    ids = r.body.get("messages") or []
    if not 2 <= len(ids) <= 100:
        raise form_err("messages", "BASE_TYPE_BAD_LENGTH", "Must be between 2 and 100 in length.")
    if any(r.sim.now() - snow_ts(int(i)) > 14 * 86400 for i in ids):
        raise ApiErr(400, 50034, "You can only bulk delete messages that are under 14 days old.")
    r.sim.bulk_delete(c, [int(i) for i in ids])
    return 204, None


@route("PUT", "/channels/{channel_id}/messages/{message_id}/reactions/{emoji}/@me")
async def r_react(r: Req):
    c = (
        r.channel("READ_MESSAGE_HISTORY", "ADD_REACTIONS")
        if r.sim.channels.get(int(r.p["channel_id"]), Obj()).type != 1
        else r.channel()
    )
    m = r.message(c)
    react(r.sim, c, m, r.bot.id, r.p["emoji"], True)
    r.sim.log_sent("reaction_add", bot_id=r.bot.id, channel_id=c.id, message_id=m.id, emoji=r.p["emoji"])
    return 204, None


@route("DELETE", "/channels/{channel_id}/messages/{message_id}/reactions/{emoji}/@me")
async def r_unreact(r: Req):
    c = r.channel()
    m = r.message(c)
    react(r.sim, c, m, r.bot.id, r.p["emoji"], False)
    return 204, None


@route("GET", "/channels/{channel_id}/pins")
async def r_pins(r: Req):
    c = (
        r.channel("READ_MESSAGE_HISTORY")
        if r.sim.channels.get(int(r.p["channel_id"]), Obj()).type != 1
        else r.channel()
    )
    return 200, [r.out(c.store.by_id[i]) for i in reversed(c.pins or []) if i in c.store.by_id]


@route("GET", "/channels/{channel_id}/messages/pins")
async def r_pins2(r: Req):
    c = r.channel()
    return 200, {
        "items": [
            {"pinned_at": iso(snow_ts(i)), "message": r.out(c.store.by_id[i])}
            for i in reversed(c.pins or [])
            if i in c.store.by_id
        ],
        "has_more": False,
    }


@route("POST", "/attachments/refresh-urls")
async def r_refresh(r: Req):
    out = []
    for u in r.body.get("attachment_urls") or []:
        m = re.search(r"/attachments/\d+/(\d+)/", u)
        f = r.sim.files.get(int(m.group(1))) if m else None
        out.append({"original": u, "refreshed": r.sim.base + r.sim.cdn_url(f["meta"]) if f else u})
    return 200, {"refreshed_urls": out}
