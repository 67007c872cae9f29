"""Routes about channels."""

from __future__ import annotations

from ..actions import delete_channel, update_thread
from ..constants import I_GUILDS, THREADS
from ..errors import missing_perms
from ..store import Obj
from .request import Req, route


@route("GET", "/channels/{channel_id}")
async def r_channel(r: Req):
    return 200, r.sim.channel_d(r.channel(), r.bot.id)


@route("PATCH", "/channels/{channel_id}")
async def r_channel_patch(r: Req):
    c = r.channel()
    if c.type in THREADS:
        if r.bot.id != c.owner_id and not r.sim.can(r.bot.id, c, "MANAGE_THREADS"):
            raise missing_perms()
        update_thread(r.sim, c, r.body)
    else:
        if not r.sim.can(r.bot.id, c, "MANAGE_CHANNELS"):
            raise missing_perms()
        for k in ("name", "topic", "nsfw"):
            if k in r.body:
                c[k] = r.body[k]
        r.sim.emit(
            "CHANNEL_UPDATE", lambda s: r.sim.channel_d(c, s.bot.id), channel=c, need=I_GUILDS, viewers=False
        )
    return 200, r.sim.channel_d(c, r.bot.id)


@route("DELETE", "/channels/{channel_id}")
async def r_channel_delete(r: Req):
    c = r.channel()
    if c.type != 1:
        if not r.sim.can(r.bot.id, c, "MANAGE_THREADS" if c.type in THREADS else "MANAGE_CHANNELS"):
            raise missing_perms()
        delete_channel(r.sim, c)
    return 200, r.sim.channel_d(c, r.bot.id)


@route("POST", "/channels/{channel_id}/typing")
async def r_typing(r: Req):
    c = (
        r.channel("SEND_MESSAGES_IN_THREADS")
        if r.sim.channels.get(int(r.p["channel_id"]), Obj()).type in THREADS
        else r.channel("SEND_MESSAGES")
    )
    r.sim.log_sent("typing", bot_id=r.bot.id, channel_id=c.id)
    return 204, None


@route("GET", "/channels/{channel_id}/webhooks")
async def r_webhooks(r: Req):
    r.channel("MANAGE_WEBHOOKS")
    return 200, []
