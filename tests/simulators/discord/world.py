"""The state of the simulated Discord: users, bots, guilds, channels, threads, clock."""

from __future__ import annotations

import argparse
import asyncio
import base64
import collections
import contextlib
import random
import secrets
import time
from collections.abc import Callable
from typing import Any

from .access import Access
from .constants import BOT_DEFAULT, CTYPES, EVERYONE_DEFAULT, I_GUILDS, RATES, perm_value
from .messages import Messages
from .serializers import Serializers
from .store import Msg, Obj, Store
from .times import EPOCH


class Sim(Access, Serializers, Messages):
    """The world. One per server process."""

    def __init__(self, cfg: argparse.Namespace | None = None):
        self.base = ""
        self.t0 = time.time()
        self.client_id, self.client_secret = "100000000000000001", secrets.token_urlsafe(24)
        self._ev: asyncio.Event | None = None
        self.cfg = Obj(
            ack_deadline=3.0,
            token_ttl=900.0,
            heartbeat_interval=41250,
            resume_window=180.0,
            buffer_size=20000,
            latency_ms=0,
            gateway_latency_ms=0,
            cdn_ttl=86400,
            cdn_signed=True,
            global_limit=50,
            rate_profile="realistic",
            max_attachment=10 * 1024 * 1024,
            large_threshold=250,
            check_heartbeat=True,
            message_limit=2000,
        )
        if cfg is not None:
            self.cfg.rate_profile = cfg.rate_profile
            self.cfg.heartbeat_interval = cfg.heartbeat_interval
            if cfg.rate_profile == "off":
                self.cfg.global_limit = 0
        self.reset(cfg)

    def reset(self, cfg=None):
        for s in list(getattr(self, "sessions", {}).values()):
            if s.conn:
                s.conn.abort()
        self.offset = 0.0
        self.last_id = 0
        self.users: dict[int, Obj] = {}
        self.bots: dict[int, Obj] = {}
        self.tokens: dict[str, Obj] = {}
        self.guilds: dict[int, Obj] = {}
        self.channels: dict[int, Obj] = {}
        self.files: dict[int, dict] = {}
        self.interactions: dict[int, Obj] = {}
        self.itokens: dict[str, Obj] = {}
        self.sessions: dict[str, Any] = {}
        self.sent: list[dict] = []
        self.reqlog: collections.deque = collections.deque(maxlen=20000)
        self.reqseq = 0
        self.counts: dict[str, Obj] = {}
        self.unimplemented: collections.Counter = collections.Counter()
        self.faults: list[Obj] = []
        self.fault_seq = 0
        self.rules: list[Obj] = []
        self.buckets: dict = {}
        self.gbuckets: dict = {}
        self.invalid_requests: collections.deque = collections.deque()
        self.gwstats = Obj(
            connects=0,
            identifies=0,
            resumes=0,
            resumed_ok=0,
            replayed=0,
            invalid=0,
            heartbeats=0,
            closes=[],
            refused=0,
        )
        self.refuse = Obj(count=0, until=0.0, mode="reset")
        self.conns: set = set()
        self.set_profile(self.cfg.rate_profile)
        tok = getattr(cfg, "token", None) or getattr(self, "default_token", None)
        self.owner = self.add_user("owner", "The Owner")
        self.bot = self.add_bot(getattr(cfg, "bot_name", None) or "SimBot", token=tok)
        self.default_token = self.bot.token

    def set_profile(self, name):
        self.cfg.rate_profile = name
        self.rules = [Obj(method=r[0], route=r[1], limit=r[2], per=r[3], hidden=0) for r in RATES[name]]
        self.buckets.clear()

    def now(self) -> float:
        return time.time() + self.offset

    def snow(self, ts: float | None = None) -> int:
        ms = int((self.now() if ts is None else ts) * 1000) - EPOCH
        if ts is None:
            self.last_id = max(ms << 22, self.last_id + 1)
            return self.last_id
        return (ms << 22) | random.getrandbits(22)

    def pulse(self):
        if self._ev is not None:
            self._ev.set()
        self._ev = asyncio.Event()

    async def wait_for(self, pred: Callable[[], Any], timeout: float):
        end = time.monotonic() + timeout
        while True:
            r = pred()
            if r:
                return r
            rem = end - time.monotonic()
            if rem <= 0:
                return None
            if self._ev is None:
                self._ev = asyncio.Event()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._ev.wait(), min(rem, 0.5))

    def log_sent(self, kind, **kw):
        rec = {"seq": len(self.sent) + 1, "t": round(time.time() - self.t0, 4), "kind": kind}
        rec.update({k: (str(v) if k.endswith("_id") and v is not None else v) for k, v in kw.items()})
        self.sent.append(rec)
        self.pulse()
        return rec

    def add_user(self, username, global_name=None, bot=False, id=None, dm_closed=False, **kw) -> Obj:
        uid = int(id) if id else self.snow()
        u = Obj(
            id=uid,
            username=username,
            global_name=global_name if global_name is not None else (None if bot else username.title()),
            bot=bot,
            avatar=kw.get("avatar"),
            dm_closed=dm_closed,
            discriminator="0000" if bot else "0",
        )
        self.users[uid] = u
        return u

    def add_bot(self, name, token=None, allowed=("members", "presences", "message_content"), id=None) -> Obj:
        u = self.add_user(name, bot=True, id=id)
        tok = token or (
            base64.b64encode(str(u.id).encode()).decode().rstrip("=")
            + "."
            + secrets.token_urlsafe(4)[:6]
            + "."
            + secrets.token_urlsafe(28)[:38]
        )
        b = Obj(id=u.id, token=tok, user=u, allowed=set(allowed), commands={}, guild_commands={}, starts=1000)
        self.bots[u.id] = b
        self.tokens[tok] = b
        return b

    def add_guild(
        self, name, owner_id=None, bots=None, bot_permissions=None, everyone=None, dispatch=True, id=None
    ) -> Obj:
        gid = int(id) if id else self.snow()
        owner = int(owner_id or self.owner.id)
        g = Obj(
            id=gid,
            name=name,
            owner_id=owner,
            roles={},
            channels={},
            threads={},
            members={},
            unavailable=False,
            created=self.now(),
        )
        g.roles[gid] = Obj(
            id=gid,
            name="@everyone",
            permissions=EVERYONE_DEFAULT if everyone is None else perm_value(everyone),
            position=0,
            managed=False,
        )
        self.guilds[gid] = g
        self._member(g, owner)
        for b in self.bots.values() if bots is None else [self.bots[int(x)] for x in bots]:
            self._add_bot_to_guild(g, b, bot_permissions)
        if dispatch:
            for b in self.guild_bots(g):
                self.emit(
                    "GUILD_CREATE",
                    lambda s, b=b: self.guild_full(g, b, s.intents, True),
                    bot=b,
                    guild=g,
                    need=I_GUILDS,
                )
        return g

    def _add_bot_to_guild(self, g, b, perms=None):
        r = Obj(
            id=self.snow(),
            name=b.user.username,
            permissions=BOT_DEFAULT if perms is None else perm_value(perms),
            position=len(g.roles),
            managed=True,
            bot_id=b.id,
        )
        g.roles[r.id] = r
        self._member(g, b.id, roles=[r.id])

    def _member(self, g, uid, roles=(), nick=None):
        m = Obj(user_id=int(uid), roles=[int(r) for r in roles], nick=nick, joined=self.now())
        g.members[int(uid)] = m
        return m

    def add_channel(
        self,
        g: Obj | None,
        name,
        type=0,
        parent_id=None,
        overwrites=(),
        topic=None,
        nsfw=False,
        id=None,
        **kw,
    ) -> Obj:
        t = CTYPES[type] if isinstance(type, str) else int(type)
        cid = int(id) if id else self.snow()
        c = Obj(
            id=cid,
            type=t,
            guild_id=g.id if g else None,
            name=name,
            parent_id=int(parent_id) if parent_id else None,
            position=len(g.channels) if g else 0,
            overwrites={},
            topic=topic,
            nsfw=nsfw,
            store=Store(),
            last=None,
            pins=[],
        )
        for o in overwrites:
            self.set_overwrite(c, o)
        self.channels[cid] = c
        if g:
            g.channels[cid] = c
        return c

    def set_overwrite(self, c, o):
        c.overwrites[int(o["id"])] = Obj(
            id=int(o["id"]),
            type={"role": 0, "member": 1}.get(o.get("type", 0), o.get("type", 0)),
            allow=perm_value(o.get("allow")),
            deny=perm_value(o.get("deny")),
        )

    def add_thread(
        self,
        parent: Obj,
        name,
        owner_id,
        private=False,
        id=None,
        message: Msg | None = None,
        archived=False,
        applied_tags=(),
        auto_archive=1440,
    ) -> Obj:
        g = self.guilds[parent.guild_id]
        tid = int(id) if id else (message.id if message is not None else self.snow())
        t = Obj(
            id=tid,
            type=12 if private else (10 if parent.type == 5 else 11),
            guild_id=g.id,
            name=name,
            parent_id=parent.id,
            owner_id=int(owner_id),
            overwrites={},
            store=Store(),
            last=None,
            archived=archived,
            locked=False,
            archive_ts=self.now(),
            created=self.now(),
            auto_archive=auto_archive,
            tmembers={int(owner_id): self.now()},
            applied_tags=[int(x) for x in applied_tags],
            total=0,
            pins=[],
            nsfw=parent.nsfw,
        )
        self.channels[tid] = t
        g.threads[tid] = t
        if message is not None:
            message.set("thread_id", tid)
            message.set("flags", message.get("flags", 0) | 32)
        return t

    def dm_channel(self, b: Obj, uid: int) -> Obj:
        for c in self.channels.values():
            if c.type == 1 and set(c.recipients) == {b.id, uid}:
                return c
        c = self.add_channel(None, None, 1)
        c.recipients = [b.id, uid]
        return c
