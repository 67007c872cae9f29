"""Routes about the bot itself, its application, users and direct messages."""

from __future__ import annotations

from ..actions import app_flags, remove_bot
from ..errors import ApiErr, unauthorized, unknown_user
from . import oauth
from .request import Req, route, snow_arg


@route("GET", "/gateway", auth=False)
async def r_gateway(r: Req):
    return 200, {"url": r.sim.base.replace("http", "ws") + "/gateway"}


@route("GET", "/gateway/bot")
async def r_gateway_bot(r: Req):
    return 200, {
        "url": r.sim.base.replace("http", "ws") + "/gateway",
        "shards": 1,
        "session_start_limit": {
            "total": 1000,
            "remaining": max(0, r.bot.starts),
            "reset_after": 86400000,
            "max_concurrency": 1,
        },
    }


@route("GET", "/users/@me", auth=False)
async def r_me(r: Req):
    person = oauth.bearer(r, "identify")
    if person is not None:
        return 200, oauth.me(r, person)
    if r.bot is None:
        raise unauthorized()
    return 200, dict(
        r.sim.user_d(r.bot.id),
        verified=True,
        mfa_enabled=False,
        email=None,
        flags=0,
        locale="en-US",
        banner=None,
        accent_color=None,
    )


@route("PATCH", "/users/@me")
async def r_me_patch(r: Req):
    if r.body.get("username"):
        r.bot.user.username = r.body["username"]
    return await r_me(r)


@route("GET", "/users/@me/guilds", auth=False)
async def r_my_guilds(r: Req):
    person = oauth.bearer(r, "guilds")
    if person is not None:
        return 200, oauth.guilds(r, person)
    if r.bot is None:
        raise unauthorized()
    after, limit = int(r.q.get("after", 0)), min(200, int(r.q.get("limit", 200)))
    gs = sorted(
        (g for g in r.sim.guilds.values() if r.bot.id in g.members and g.id > after), key=lambda g: g.id
    )[:limit]
    return 200, [
        {
            "id": str(g.id),
            "name": g.name,
            "icon": None,
            "owner": g.owner_id == r.bot.id,
            "features": [],
            "permissions": str(r.sim.perms(g, r.bot.id)),
        }
        for g in gs
    ]


@route("DELETE", "/users/@me/guilds/{guild_id}")
async def r_leave(r: Req):
    g = r.guild()
    remove_bot(r.sim, g, r.bot)
    return 204, None


@route("POST", "/users/@me/channels")
async def r_dm(r: Req):
    uid = snow_arg(r.body.get("recipient_id", ""), "recipient_id")
    if uid not in r.sim.users:
        raise ApiErr(400, 50033, "Invalid Recipient(s)")
    if r.sim.users[uid].bot:
        raise ApiErr(400, 50007, "Cannot send messages to this user")
    c = r.sim.dm_channel(r.bot, uid)
    r.sim.log_sent("dm_open", bot_id=r.bot.id, channel_id=c.id, user_id=uid)
    return 200, r.sim.channel_d(c, r.bot.id)


@route("GET", "/users/{user_id}")
async def r_user(r: Req):
    uid = snow_arg(r.p["user_id"], "user_id")
    if uid not in r.sim.users:
        raise unknown_user()
    return 200, dict(r.sim.user_d(uid), banner=None, accent_color=None)


async def r_app(r: Req):
    b, s = r.bot, r.sim
    n = len([g for g in s.guilds.values() if b.id in g.members])
    return 200, {
        "id": str(b.id),
        "name": b.user.username,
        "icon": None,
        "description": "",
        "summary": "",
        "type": None,
        "bot_public": True,
        "bot_require_code_grant": False,
        "verify_key": "0" * 64,
        "flags": app_flags(b),
        "owner": s.user_d(s.owner.id),
        "team": None,
        "bot": s.user_d(b.id),
        "hook": True,
        "redirect_uris": [],
        "interactions_endpoint_url": None,
        "tags": [],
        "approximate_guild_count": n,
        "approximate_user_install_count": 0,
        "integration_types_config": {"0": {}},
        "install_params": {"scopes": ["bot", "applications.commands"], "permissions": "0"},
    }


route("GET", "/applications/@me")(r_app)
route("GET", "/oauth2/applications/@me")(r_app)


@route("GET", "/applications/{application_id}/emojis")
async def r_app_emojis(r: Req):
    return 200, {"items": []}


@route("GET", "/applications/{application_id}/entitlements")
async def r_entitle(r: Req):
    return 200, []
