"""Routes that answer interactions: callbacks, follow-ups, the original response."""

from __future__ import annotations

from ..errors import ApiErr, form_err, unknown_interaction, unknown_message, unknown_webhook
from ..store import Msg, Obj
from .bodies import apply_edit, check_body, take_files
from .request import Req, route, snow_arg


def new_interaction_msg(r, i: Obj, body, flags, edit_of=None, typ=20):
    s = r.sim
    c = s.channels[i.channel_id]
    u = s.user_d(i.user_id)
    x = {
        "type": typ if i.type == 2 else 0,
        "flags": flags,
        "application_id": i.bot.id,
        "webhook_id": i.bot.id,
        "interaction_app": i.bot.id,
    }
    if i.type == 2 and typ == 20:
        x["interaction"] = {"id": str(i.id), "type": 2, "name": i.command, "user": u}
        x["interaction_metadata"] = {
            "id": str(i.id),
            "type": 2,
            "name": i.command,
            "user": u,
            "command_type": 1,
            "authorizing_integration_owners": {"0": str(i.guild_id or 0)},
        }
    content = body.get("content") or ""
    embeds = body.get("embeds") or []
    files = take_files(r, c.id, body) if r is not None and r.files else []
    x.update(embeds=embeds, components=body.get("components") or [], attachments=files)
    if flags & 64:
        m = Msg(s.snow(), c.id, i.bot.id, content, **{k: v for k, v in x.items() if v not in (None, [], 0)})
        m.set("flags", flags)
    else:
        m = s.post(c, i.bot.id, content, allowed=body.get("allowed_mentions"), **x)
        m.set("flags", flags)
    i.msgs.append(m)
    return m


@route("POST", "/interactions/{interaction_id}/{interaction_token}/callback", auth=False, glob=False)
async def r_callback(r: Req):
    s = r.sim
    i = s.interactions.get(snow_arg(r.p["interaction_id"], "interaction_id"))
    if i is None or i.token != r.p["interaction_token"]:
        raise unknown_interaction()
    if i.ack is not None:
        raise ApiErr(400, 40060, "Interaction has already been acknowledged.")
    if s.now() - i.created > s.cfg.ack_deadline:
        i.rejected = (i.rejected or 0) + 1
        s.pulse()
        raise unknown_interaction()
    t = r.body.get("type")
    data = r.body.get("data") or {}
    ok = {1: (1,), 2: (4, 5, 9), 3: (4, 5, 6, 7, 9), 4: (8,), 5: (4, 5, 6, 7)}[i.type]
    if t not in ok:
        raise form_err("type", "INTERACTION_APPLICATION_COMMAND_INVALID_TYPE", f"Value must be one of {ok}.")
    flags = int(data.get("flags") or 0) & (4 | 64 | 4096 | 32768)
    msg = None
    if t == 4:
        check_body(r, data)
    i.ack, i.acked = t, s.now()
    if t == 4:
        msg = i.original = new_interaction_msg(r, i, data, flags)
        i.ephemeral = bool(flags & 64)
    elif t == 5:
        msg = i.original = new_interaction_msg(r, i, {}, (flags & 64) | 128)
        i.ephemeral, i.loading = bool(flags & 64), True
    elif t in (6, 7):
        i.original = i.source
        if t == 7 and i.source is not None:
            apply_edit(r, i.source, data)
            s.emit_msg("MESSAGE_UPDATE", i.source)
        msg = i.source if t == 7 else None
    elif t == 8:
        i.choices = data.get("choices") or []
        if len(i.choices) > 25:
            raise form_err("data.choices", "BASE_TYPE_MAX_LENGTH", "Must be 25 or fewer in length.")
    elif t == 9:
        i.modal = data
    s.log_sent(
        "interaction_callback",
        bot_id=i.bot.id,
        interaction_id=i.id,
        type=t,
        content=data.get("content"),
        ephemeral=bool(flags & 64),
        channel_id=i.channel_id,
        message_id=msg.id if msg else None,
        after=round(i.acked - i.created, 4),
    )
    if r.q.get("with_response", "").lower() not in ("true", "1"):
        return 204, None
    out = {
        "interaction": {
            "id": str(i.id),
            "type": i.type,
            "response_message_loading": bool(i.loading),
            "response_message_ephemeral": bool(i.ephemeral),
        }
    }
    if msg is not None:
        out["interaction"]["response_message_id"] = str(msg.id)
        out["interaction"]["channel_id"] = str(i.channel_id)
        out["interaction"]["guild_id"] = str(i.guild_id) if i.guild_id else None
        out["resource"] = {"type": t, "message": s.msg_d(msg)}
    return 200, out


def hook(r: Req) -> Obj:
    i = r.sim.itokens.get(r.p["webhook_token"])
    if i is None or str(i.bot.id) != r.p["webhook_id"]:
        raise unknown_webhook() if i is None else ApiErr(401, 50027, "Invalid Webhook Token")
    if r.sim.now() - i.created > r.sim.cfg.token_ttl:
        raise ApiErr(401, 50027, "Invalid Webhook Token")
    if i.ack is None:
        raise unknown_webhook()
    return i


def hook_emit(s, i, m, t):
    if not m.get("flags", 0) & 64:
        s.emit_msg(t, m)


def finish_loading(s, i, m):
    m.set("flags", m.get("flags", 0) & ~128)
    i.loading = False


@route("POST", "/webhooks/{webhook_id}/{webhook_token}", auth=False, glob=False)
async def r_followup(r: Req):
    s = r.sim
    i = hook(r)
    check_body(r, r.body)
    if i.loading and i.original is not None:
        # the first follow-up after a deferral *becomes* the deferred message and stays as ephemeral as that
        m = i.original
        finish_loading(s, i, m)
        apply_edit(r, m, dict(r.body, content=r.body.get("content") or ""), stamp=False)
        hook_emit(s, i, m, "MESSAGE_UPDATE")
    else:
        fl = int(r.body.get("flags") or 0) & (4 | 64 | 4096 | 32768)
        m = new_interaction_msg(r, i, r.body, fl, typ=0)
    s.log_sent(
        "followup_create",
        bot_id=i.bot.id,
        interaction_id=i.id,
        channel_id=i.channel_id,
        message_id=m.id,
        content=m.content,
        ephemeral=bool(m.get("flags", 0) & 64),
        after=round(s.now() - i.created, 4),
    )
    s.pulse()
    return 200, s.msg_d(m)  # whatever `wait` says: follow-ups always answer with the message


def hook_msg(r: Req, i):
    mid = r.p["message_id"]
    m = i.original if mid == "@original" else next((m for m in i.msgs if str(m.id) == mid), None)
    if m is None or m.get("deleted"):
        raise unknown_message()
    return m


@route("GET", "/webhooks/{webhook_id}/{webhook_token}/messages/{message_id}", auth=False, glob=False)
async def r_hook_get(r: Req):
    i = hook(r)
    return 200, r.sim.msg_d(hook_msg(r, i))


@route("PATCH", "/webhooks/{webhook_id}/{webhook_token}/messages/{message_id}", auth=False, glob=False)
async def r_hook_edit(r: Req):
    s = r.sim
    i = hook(r)
    m = hook_msg(r, i)
    was = bool(m.get("flags", 0) & 128)
    apply_edit(r, m, r.body, stamp=not was)
    if was:
        finish_loading(s, i, m)
    hook_emit(s, i, m, "MESSAGE_UPDATE")
    s.log_sent(
        "original_edit" if m is i.original else "followup_edit",
        bot_id=i.bot.id,
        interaction_id=i.id,
        channel_id=i.channel_id,
        message_id=m.id,
        content=m.content,
        ephemeral=bool(m.get("flags", 0) & 64),
        edit_no=len(m.get("edits") or []),
        after=round(s.now() - i.created, 4),
    )
    return 200, s.msg_d(m)


@route("DELETE", "/webhooks/{webhook_id}/{webhook_token}/messages/{message_id}", auth=False, glob=False)
async def r_hook_del(r: Req):
    s = r.sim
    i = hook(r)
    m = hook_msg(r, i)
    m.set("deleted", True)
    if not m.get("flags", 0) & 64:
        s.delete(s.channels[m.channel_id], m.id)
    s.log_sent(
        "original_delete" if m is i.original else "followup_delete",
        bot_id=i.bot.id,
        interaction_id=i.id,
        message_id=m.id,
        channel_id=i.channel_id,
    )
    return 204, None
