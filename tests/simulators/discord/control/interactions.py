"""Control routes for slash commands, components and modals, as a user."""

from __future__ import annotations

from ..constants import ALL_PERMS, P
from ..errors import CtlErr
from ..interactions import await_interaction, build_options, start_interaction
from .base import C, ctl


@ctl("POST", "/interactions")
async def c_invoke(c: C):
    """{channel_id, user_id, command: "memory remember", options: {}, wait: "final"|"ack"|"none", contains?,
    timeout?} or {..., message_id, custom_id, component_type?, values?} (component)
    or {..., custom_id, fields: {}} (modal submit)"""
    s, b = c.sim, c.b
    x, uid, bot = c.channel(b["channel_id"]), int(b["user_id"]), c.bot()
    g = s.guilds.get(x.guild_id) if x.guild_id else None
    if "command" in b:
        t = b.get("type", 1)
        names = b["command"].strip().lstrip("/").split() if t == 1 else [b["command"]]
        tables = ([bot.guild_commands.get(g.id, {})] if g else []) + [bot.commands]
        cmd = next(
            (k for tb in tables for k in tb.values() if k["name"] == names[0] and k["type"] == t), None
        )
        if cmd is None:
            raise CtlErr(f"/{names[0]} is not registered for this bot (was the tree synced?)", 404)
        if cmd.get("contexts") is not None and (0 if g else 1) not in cmd["contexts"]:
            raise CtlErr("command not available in this context", 403)
        if not g and cmd.get("dm_permission") is False:
            raise CtlErr("command not available in DMs", 403)
        if g:
            p = s.perms(g, uid, x)
            if not p & P["USE_APPLICATION_COMMANDS"]:
                raise CtlErr("user lacks USE_APPLICATION_COMMANDS", 403)
            need = cmd.get("default_member_permissions")
            if need is not None and (int(need) == 0 or p & int(need) != int(need)) and p != ALL_PERMS:
                raise CtlErr("user lacks default_member_permissions", 403)
        resolved: dict = {"_guild": g}
        spec, chain = cmd.get("options", []), []
        for n in names[1:]:
            o = next((o for o in spec if o["name"] == n and o["type"] in (1, 2)), None)
            if o is None:
                raise CtlErr(f"/{b['command']} is not registered: no subcommand {n}", 404)
            chain.append(o)
            spec = o.get("options", [])
        if any(o["type"] in (1, 2) for o in spec):
            raise CtlErr("a subcommand has to be named")
        data = {"id": cmd["id"], "name": cmd["name"], "type": t}
        if t == 1:
            leaf = opts = build_options(s, spec, b.get("options", {}), resolved)
            for o in reversed(chain):
                opts = [{"name": o["name"], "type": o["type"], "options": opts}]
            data["options"] = opts
        else:
            tid = str(b["target_id"])
            data["target_id"] = tid
            if t == 3:
                resolved["messages"] = {tid: s.msg_d(x.store.by_id[int(tid)])}
            else:
                resolved["users"] = {tid: s.user_d(int(tid))}
                if g and int(tid) in g.members:
                    resolved["members"] = {
                        tid: dict(s.member_d(g, int(tid), user=False), permissions=str(s.perms(g, int(tid))))
                    }
        resolved.pop("_guild", None)
        if resolved:
            data["resolved"] = resolved
        if "guild_id" in cmd:
            data["guild_id"] = cmd["guild_id"]
        if b.get("autocomplete"):
            for o in leaf:
                if o["name"] == b["autocomplete"]:
                    o["focused"] = True
        i = start_interaction(s, bot, x, uid, 4 if b.get("autocomplete") else 2, data, " ".join(names))
    elif "message_id" in b:
        m = x.store.by_id.get(int(b["message_id"])) or next(
            (m for j in s.interactions.values() for m in j.msgs if str(m.id) == str(b["message_id"])), None
        )
        if m is None:
            raise CtlErr("no such message", 404)
        comp = [
            k
            for row in m.get("components", [])
            for k in row.get("components", [row])
            if k.get("custom_id") == b["custom_id"]
        ]
        if not comp:
            raise CtlErr("no such component", 404)
        if comp[0].get("disabled"):
            raise CtlErr("component is disabled", 403)
        data = {"custom_id": b["custom_id"], "component_type": comp[0]["type"]}
        if comp[0]["type"] != 2:
            data["values"] = b.get("values", [])
        i = start_interaction(s, bot, x, uid, 3, data, b["custom_id"], source=m)
    else:
        comps = [
            {"type": 1, "components": [{"type": 4, "custom_id": k, "value": v}]}
            for k, v in b.get("fields", {}).items()
        ]
        i = start_interaction(
            s, bot, x, uid, 5, {"custom_id": b["custom_id"], "components": comps}, b["custom_id"]
        )
    return await await_interaction(
        s, i, b.get("wait", "final"), float(b.get("timeout", 15)), b.get("contains")
    )


@ctl("GET", "/interactions/{interaction_id}")
async def c_inter(c: C):
    i = c.sim.interactions.get(int(c.p["interaction_id"]))
    if i is None:
        raise CtlErr("no such interaction", 404)
    return await await_interaction(
        c.sim, i, c.q.get("wait", "none"), float(c.q.get("timeout", 15)), c.q.get("contains")
    )


@ctl("GET", "/commands")
async def c_cmds(c: C):
    b = c.sim.bot
    return {
        "global": list(b.commands.values()),
        "guild": {str(k): list(v.values()) for k, v in b.guild_commands.items()},
    }
