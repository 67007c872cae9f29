"""A REST request, the route table, and look-ups that fail as Discord's do."""

from __future__ import annotations

import re

from ..errors import form_err, missing_access, missing_perms, unknown_channel, unknown_guild, unknown_message

ROUTES: list = []
MAJOR = ("channel_id", "guild_id", "webhook_id", "webhook_token")


class Req:
    __slots__ = ("sim", "bot", "p", "q", "body", "files", "web", "method", "path", "form")

    def __init__(self, sim, bot, p, q, body, files, web_req, method, path, form=None):
        self.sim, self.bot, self.p, self.q, self.body, self.files, self.web = (
            sim,
            bot,
            p,
            q,
            body,
            files,
            web_req,
        )
        self.method, self.path = method, path
        self.form = form or {}

    # -- lookups with Discord's errors
    def guild(self):
        g = self.sim.guilds.get(snow_arg(self.p["guild_id"], "guild_id"))
        if g is None or g.unavailable:
            raise unknown_guild()
        if self.bot.id not in g.members:
            raise missing_access()
        return g

    def channel(self, *perms):
        c = self.sim.channels.get(snow_arg(self.p["channel_id"], "channel_id"))
        if c is None:
            raise unknown_channel()
        if c.type == 1:
            if self.bot.id not in c.recipients:
                raise missing_access()
            return c
        g = self.sim.guilds.get(c.guild_id)
        if g is None or self.bot.id not in g.members or not self.sim.can(self.bot.id, c, "VIEW_CHANNEL"):
            raise missing_access()
        if perms and not self.sim.can(self.bot.id, c, *perms):
            raise missing_perms()
        return c

    def message(self, c):
        m = c.store.by_id.get(snow_arg(self.p["message_id"], "message_id"))
        if m is None:
            raise unknown_message()
        return m

    def out(self, m, **kw):
        return self.sim.msg_d(m, self.bot, "message_content" in self.bot.allowed, **kw)


def snow_arg(v, name):
    if not str(v).isdigit():
        raise form_err(name, "NUMBER_TYPE_COERCE", f'Value "{v}" is not snowflake.')
    return int(v)


def route(method, template, auth=True, glob=True):
    rx = re.compile("^" + re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", template) + "$")

    def deco(fn):
        ROUTES.append((method, template, rx, fn, auth, glob))
        return fn

    return deco
