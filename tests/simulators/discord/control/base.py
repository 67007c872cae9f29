"""The table of control routes and what a control call can look up."""

from __future__ import annotations

import os
import re

from ..constants import SIM_VERSION
from ..errors import CtlErr
from ..world import Sim

CTL: list = []


def ctl(method, template):
    rx = re.compile("^/sim" + re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", template) + "$")

    def deco(fn):
        CTL.append((method, rx, fn))
        return fn

    return deco


class C:
    def __init__(self, sim, p, b, q):
        self.sim, self.p, self.b, self.q = sim, p, b, q

    def channel(self, v=None):
        c = self.sim.channels.get(int(v if v is not None else self.p["channel_id"]))
        if c is None:
            raise CtlErr("no such channel", 404)
        return c

    def guild(self, v=None):
        g = self.sim.guilds.get(int(v if v is not None else self.p["guild_id"]))
        if g is None:
            raise CtlErr("no such guild", 404)
        return g

    def bot(self):
        v = self.b.get("bot_id") if isinstance(self.b, dict) else None
        return self.sim.bots[int(v)] if v else self.sim.bot

    def msg(self):
        c = self.channel()
        m = c.store.by_id.get(int(self.p["message_id"]))
        if m is None:
            raise CtlErr("no such message", 404)
        return c, m


def info(sim: Sim):
    return {
        "pid": os.getpid(),
        "port": sim.port,
        "base": sim.base,
        "api_base": sim.base + "/api/v10",
        "gateway_url": sim.base.replace("http", "ws") + "/gateway",
        "cdn_base": sim.base,
        "control": sim.base + "/sim",
        "token": sim.bot.token,
        "application_id": str(sim.bot.id),
        "client_id": sim.client_id,
        "client_secret": sim.client_secret,
        "bot_id": str(sim.bot.id),
        "owner_id": str(sim.owner.id),
        "sim_version": SIM_VERSION,
    }
