"""Routes about application commands."""

from __future__ import annotations

import re

from ..errors import ApiErr, form_err
from .request import Req, route

NAME_RX = re.compile(r"^[-_'\w]{1,32}$", re.U)


def check_cmd(c, path=""):
    def bad(f, code, msg):
        raise form_err((path + "." if path else "") + f, code, msg)

    t = c.get("type", 1)
    n = c.get("name")
    if not isinstance(n, str) or not n:
        bad("name", "BASE_TYPE_REQUIRED", "This field is required")
    if t == 1 or path:
        if not NAME_RX.match(n) or n != n.lower():
            bad("name", "APPLICATION_COMMAND_INVALID_NAME", "Command name is invalid")
        ds = c.get("description")
        if not ds or len(ds) > 100:
            bad("description", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100 in length.")
    elif c.get("description"):
        bad(
            "description",
            "APPLICATION_COMMAND_CONTEXT_MENU_DESCRIPTION_INVALID",
            "Context menu commands cannot have description",
        )
    opts = c.get("options") or []
    if len(opts) > 25:
        bad("options", "BASE_TYPE_MAX_LENGTH", "Must be 25 or fewer in length.")
    seen_opt, names = False, set()
    for i, o in enumerate(opts):
        sub = (path + "." if path else "") + f"options.{i}"
        check_cmd(dict(o, type=o.get("type", 3)), sub)
        if o["name"] in names:
            raise form_err(
                sub + ".name",
                "APPLICATION_COMMAND_OPTIONS_NAME_ALREADY_EXISTS",
                "Option names must be unique",
            )
        names.add(o["name"])
        if o.get("required") and seen_opt:
            raise form_err(
                sub,
                "APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID",
                "Required options must be placed before non-required options",
            )
        if not o.get("required") and o.get("type") not in (1, 2):
            seen_opt = True


def build_cmd(sim, b, body, gid=None, old=None):
    body = dict(body.items())
    t = body.get("type") or 1
    d = {
        "id": old["id"] if old else str(sim.snow()),
        "application_id": str(b.id),
        "version": str(sim.snow()),
        "type": t,
        "name": body["name"],
        "name_localizations": body.get("name_localizations"),
        "description": body.get("description", "") or "",
        "description_localizations": body.get("description_localizations"),
        "options": body.get("options") or [],
        "default_member_permissions": body.get("default_member_permissions"),
        "dm_permission": body.get("dm_permission", True),
        "nsfw": body.get("nsfw", False),
        "integration_types": body.get("integration_types") or [0],
        "contexts": body.get("contexts"),
        "default_permission": True,
    }
    if not d["options"]:
        d.pop("options")
    if gid:
        d["guild_id"] = str(gid)
    return d


def cmd_table(r: Req):
    if r.p["application_id"] != str(r.bot.id):
        raise ApiErr(403, 20012, "You are not authorized to perform this action on this application")
    if "guild_id" in r.p:
        g = r.guild()
        return r.bot.guild_commands.setdefault(g.id, {}), g.id
    return r.bot.commands, None


async def r_cmds_get(r: Req):
    t, _ = cmd_table(r)
    return 200, list(t.values())


async def r_cmds_put(r: Req):
    t, gid = cmd_table(r)
    if not isinstance(r.body, list):
        raise form_err("_", "LIST_TYPE_CONVERT", "Only iterables may be used in a ListType")
    if len([c for c in r.body if (c.get("type") or 1) == 1]) > 100:
        raise ApiErr(400, 30032, "Maximum number of application commands reached (100).")
    for i, c in enumerate(r.body):
        try:
            check_cmd(c)
        except ApiErr as e:
            e.errors = {str(i): e.errors}
            raise
    old = {(c["name"], c["type"]): c for c in t.values()}
    t.clear()
    for c in r.body:
        d = build_cmd(r.sim, r.bot, c, gid, old.get((c["name"], c.get("type") or 1)))
        t[d["id"]] = d
    r.sim.log_sent("commands_sync", bot_id=r.bot.id, guild_id=gid, names=[c["name"] for c in t.values()])
    return 200, list(t.values())


async def r_cmds_post(r: Req):
    t, gid = cmd_table(r)
    check_cmd(r.body)
    old = next(
        (c for c in t.values() if c["name"] == r.body["name"] and c["type"] == (r.body.get("type") or 1)),
        None,
    )
    d = build_cmd(r.sim, r.bot, r.body, gid, old)
    t[d["id"]] = d
    return (200 if old else 201), d


async def r_cmd_one(r: Req):
    t, gid = cmd_table(r)
    c = t.get(r.p["command_id"])
    if c is None:
        raise ApiErr(404, 10063, "Unknown application command")
    if r.method == "DELETE":
        del t[r.p["command_id"]]
        return 204, None
    if r.method == "PATCH":
        check_cmd(dict(c, **r.body))
        t[c["id"]] = c = build_cmd(r.sim, r.bot, dict(c, **r.body), gid, c)
    return 200, c


for _base in (
    "/applications/{application_id}/commands",
    "/applications/{application_id}/guilds/{guild_id}/commands",
):
    route("GET", _base)(r_cmds_get)
    route("PUT", _base)(r_cmds_put)
    route("POST", _base)(r_cmds_post)
    for _m in ("GET", "PATCH", "DELETE"):
        route(_m, _base + "/{command_id}")(r_cmd_one)


@route("GET", "/applications/{application_id}/guilds/{guild_id}/commands/permissions")
async def r_cmd_perms(r: Req):
    cmd_table(r)
    return 200, []


@route("GET", "/applications/{application_id}/guilds/{guild_id}/commands/{command_id}/permissions")
async def r_cmd_perm(r: Req):
    raise ApiErr(404, 10066, "Unknown application command permissions")
