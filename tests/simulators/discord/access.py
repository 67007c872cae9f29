"""Who may do what where."""

from __future__ import annotations

from .constants import ALL_PERMS, THREADS, P
from .store import Obj


class Access:
    """The part of the world that computes permissions."""

    def guild_bots(self, g):
        return [b for b in self.bots.values() if b.id in g.members]

    def parent_of(self, c):
        return self.channels.get(c.parent_id) if c.type in THREADS else c

    def perms(self, g: Obj, uid: int, c: Obj | None = None) -> int:
        if uid == g.owner_id:
            return ALL_PERMS
        m = g.members.get(uid)
        if m is None:
            return 0
        p = g.roles[g.id].permissions
        for r in m.roles:
            if r in g.roles:
                p |= g.roles[r].permissions
        if p & P["ADMINISTRATOR"]:
            return ALL_PERMS
        if c is None:
            return p
        src = self.parent_of(c) or c
        ov = src.overwrites
        if g.id in ov:
            p = (p & ~ov[g.id].deny) | ov[g.id].allow
        allow = deny = 0
        for r in m.roles:
            if r in ov:
                allow |= ov[r].allow
                deny |= ov[r].deny
        p = (p & ~deny) | allow
        if uid in ov:
            p = (p & ~ov[uid].deny) | ov[uid].allow
        if c.type == 12 and uid not in c.tmembers and not p & P["MANAGE_THREADS"]:
            p &= ~P["VIEW_CHANNEL"]
        if not p & P["VIEW_CHANNEL"]:
            return 0
        return p

    def can(self, uid: int, c: Obj, *names) -> bool:
        if c.type == 1:
            return uid in c.recipients
        g = self.guilds.get(c.guild_id)
        if g is None:
            return False
        p = self.perms(g, uid, c)
        return all(p & P[n] for n in names)
