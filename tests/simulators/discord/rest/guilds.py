"""Routes about guilds and their members."""

from __future__ import annotations

from ..errors import form_err, missing_access, unknown_member, unknown_user
from .request import Req, route, snow_arg


@route("GET", "/guilds/{guild_id}")
async def r_guild(r: Req):
    g = r.guild()
    d = r.sim.guild_base(g)
    if r.q.get("with_counts") in ("1", "true", "True"):
        d.update(approximate_member_count=len(g.members), approximate_presence_count=1)
    return 200, d


@route("GET", "/guilds/{guild_id}/channels")
async def r_guild_channels(r: Req):
    g = r.guild()
    return 200, [r.sim.channel_d(c, r.bot.id) for c in g.channels.values()]


@route("GET", "/guilds/{guild_id}/roles")
async def r_roles(r: Req):
    return 200, [r.sim.role_d(x) for x in r.guild().roles.values()]


@route("GET", "/guilds/{guild_id}/members")
async def r_members(r: Req):
    g = r.guild()
    if "members" not in r.bot.allowed:
        raise missing_access()
    limit, after = int(r.q.get("limit", 1)), int(r.q.get("after", 0))
    if not 1 <= limit <= 1000:
        raise form_err("limit", "NUMBER_TYPE_MAX", "int value should be less than or equal to 1000.")
    ids = sorted(u for u in g.members if u > after)[:limit]
    return 200, [r.sim.member_d(g, u) for u in ids]


@route("GET", "/guilds/{guild_id}/members/search")
async def r_members_search(r: Req):
    g = r.guild()
    q = r.q.get("query", "").lower()
    ids = [
        u
        for u in g.members
        if r.sim.users[u].username.lower().startswith(q) or (g.members[u].nick or "").lower().startswith(q)
    ]
    return 200, [r.sim.member_d(g, u) for u in ids[: int(r.q.get("limit", 1))]]


@route("GET", "/guilds/{guild_id}/members/{user_id}")
async def r_member(r: Req):
    g = r.guild()
    uid = r.bot.id if r.p["user_id"] == "@me" else snow_arg(r.p["user_id"], "user_id")
    if uid not in r.sim.users:
        raise unknown_user()
    if uid not in g.members:
        raise unknown_member()
    return 200, r.sim.member_d(g, uid)
