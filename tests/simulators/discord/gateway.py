"""The gateway: websocket connections, sessions, IDENTIFY, RESUME, heartbeats."""

from __future__ import annotations

import asyncio
import collections
import json
import secrets
import time
import zlib

from aiohttp import WSMsgType, web

from .actions import app_flags
from .constants import I_GUILDS, I_MEMBERS, PRIVILEGED, VALID_INTENTS
from .world import Sim


class Conn:
    """One websocket connection: ordered writer with optional transport compression."""

    def __init__(self, sim: Sim, ws, request, compress):
        self.sim, self.ws, self.request, self.compress = sim, ws, request, compress
        self.q: asyncio.Queue = asyncio.Queue()
        self.z = zlib.compressobj() if compress == "zlib-stream" else None
        self.zs = None
        if compress == "zstd-stream":
            try:
                import zstandard

                self.zs = zstandard.ZstdCompressor().compressobj()
                self._flush_block = zstandard.COMPRESSOBJ_FLUSH_BLOCK
            except ImportError:
                self.zs = None  # plain text frames: discord.py accepts these too
        self.session = None
        self.last_hb = time.monotonic()
        self.ack = True
        self.hold = False
        self.dead = self.server_closed = False
        self.ops: collections.deque = collections.deque()

    def put(self, payload):
        if not self.dead:
            self.q.put_nowait(payload)

    async def writer(self):
        try:
            while True:
                p = await self.q.get()
                while self.hold and not self.dead:
                    await asyncio.sleep(0.01)
                if self.sim.cfg.gateway_latency_ms:
                    await asyncio.sleep(self.sim.cfg.gateway_latency_ms / 1000)
                if isinstance(p, tuple):
                    await self.ws.close(code=p[0], message=p[1])
                    return
                raw = json.dumps(p, separators=(",", ":"), ensure_ascii=False)
                if self.z is not None:
                    data = self.z.compress(raw.encode()) + self.z.flush(zlib.Z_SYNC_FLUSH)
                    await self.ws.send_bytes(data)
                elif self.zs is not None:
                    await self.ws.send_bytes(
                        self.zs.compress(raw.encode()) + self.zs.flush(self._flush_block)
                    )
                else:
                    await self.ws.send_str(raw)
        except (asyncio.CancelledError, ConnectionError, RuntimeError):
            pass

    def close(self, code, reason=""):
        self.server_closed = True
        self.sim.gwstats.closes.append(code)
        self.put((code, reason.encode()))

    def abort(self):
        """RST/FIN without a websocket close frame, as when a NAT or a load balancer dies."""
        self.dead = True
        t = self.request.transport
        if t is not None:
            t.abort()


class Session:
    def __init__(self, sim: Sim, bot, conn: Conn, intents, shard, large):
        self.sim, self.bot, self.conn, self.intents, self.shard, self.large = (
            sim,
            bot,
            conn,
            intents,
            shard,
            large,
        )
        self.id = secrets.token_hex(16)
        self.seq = 0
        self.buffer: collections.deque = collections.deque(maxlen=sim.cfg.buffer_size)
        self.lost_at: float | None = None
        self.resumes = self.replayed = 0
        self.dispatched: collections.Counter = collections.Counter()
        self.dropped_low = 0

    def dispatch(self, t, d):
        self.seq += 1
        if len(self.buffer) == self.buffer.maxlen:
            self.dropped_low = self.buffer[0]["s"]
        p = {"t": t, "s": self.seq, "op": 0, "d": d}
        self.buffer.append(p)
        self.dispatched[t] += 1
        if self.conn is not None:
            self.conn.put(p)
        self.sim.pulse()


async def gateway_handler(sim: Sim, request):
    r = sim.refuse
    if r.count > 0 or time.time() < r.until:
        r.count = max(0, r.count - 1)
        sim.gwstats.refused += 1
        if r.mode == "503":
            return web.Response(status=503, text="Service Unavailable")
        if r.mode == "hang":
            await asyncio.sleep(max(0.0, r.until - time.time()) or 30)
        request.transport.abort()
        return web.Response()
    ws = web.WebSocketResponse(compress=False, max_msg_size=0, autoping=True)
    await ws.prepare(request)
    conn = Conn(sim, ws, request, request.query.get("compress"))
    sim.conns.add(conn)
    sim.gwstats.connects += 1
    writer = asyncio.create_task(conn.writer())
    watchdog = None
    try:
        if request.query.get("v") not in ("9", "10", None):
            conn.close(4012, "Invalid API version")
        if request.query.get("encoding", "json") != "json":
            conn.close(4012, "Only JSON is simulated")
        conn.put(
            {
                "t": None,
                "s": None,
                "op": 10,
                "d": {"heartbeat_interval": sim.cfg.heartbeat_interval, "_trace": ['["sim"]']},
            }
        )

        async def watch():
            while True:
                await asyncio.sleep(max(0.05, sim.cfg.heartbeat_interval / 1000 / 4))
                if (
                    sim.cfg.check_heartbeat
                    and time.monotonic() - conn.last_hb > sim.cfg.heartbeat_interval / 1000 * 1.5 + 5
                ):
                    conn.close(4009, "Session timed out")
                    return

        watchdog = asyncio.create_task(watch())
        async for msg in ws:
            if msg.type not in (WSMsgType.TEXT, WSMsgType.BINARY):
                break
            if len(msg.data) > 4096:
                conn.close(4002, "Payload too large")
                continue
            t = time.monotonic()
            conn.ops.append(t)
            while conn.ops and conn.ops[0] < t - 60:
                conn.ops.popleft()
            if len(conn.ops) > 120:
                conn.close(4008, "Rate limited")
                continue
            try:
                p = json.loads(msg.data)
                op, d = p["op"], p.get("d")
            except Exception:
                conn.close(4002, "Decode error")
                continue
            gateway_op(sim, conn, op, d)
    finally:
        conn.dead = True
        if watchdog:
            watchdog.cancel()
        s = conn.session
        if s is not None and s.conn is conn:
            s.conn = None
            s.lost_at = time.monotonic()
            # a client that closes with 1000/1001 gives its session up; every other code keeps it resumable
            if ws.close_code in (1000, 1001) and not conn.server_closed:
                sim.sessions.pop(s.id, None)
        sim.conns.discard(conn)
        writer.cancel()
        sim.pulse()
    return ws


def gateway_op(sim: Sim, conn: Conn, op, d):
    if op == 1:
        conn.last_hb = time.monotonic()
        sim.gwstats.heartbeats += 1
        if conn.ack:
            conn.put({"t": None, "s": None, "op": 11, "d": None})
    elif op == 2:
        identify(sim, conn, d)
    elif op == 6:
        resume(sim, conn, d)
    elif conn.session is None:
        conn.close(4003, "Not authenticated.")
    elif op == 8:
        request_members(sim, conn.session, d)
    elif op not in (3, 4):
        conn.close(4001, "Unknown opcode")


def identify(sim: Sim, conn: Conn, d):
    if conn.session is not None:
        return conn.close(4005, "Already authenticated")
    b = sim.tokens.get((d or {}).get("token", "").removeprefix("Bot "))
    if b is None:
        return conn.close(4004, "Authentication failed.")
    intents = d.get("intents")
    if not isinstance(intents, int) or intents & ~VALID_INTENTS:
        return conn.close(4013, "Invalid intent(s).")
    for name, bit in PRIVILEGED.items():
        if intents & bit and name not in b.allowed:
            return conn.close(4014, "Disallowed intent(s).")
    shard = d.get("shard") or [0, 1]
    if not (isinstance(shard, list) and len(shard) == 2 and 0 <= shard[0] < shard[1]):
        return conn.close(4010, "Invalid shard.")
    if not d.get("properties"):
        return conn.close(4002, "properties missing")
    sim.gwstats.identifies += 1
    b.starts -= 1
    for o in [o for o in sim.sessions.values() if o.bot is b and o.conn is None]:
        if o.shard == shard and time.monotonic() - (o.lost_at or 0) > sim.cfg.resume_window:
            sim.sessions.pop(o.id, None)
    s = conn.session = Session(sim, b, conn, intents, shard, d.get("large_threshold", 50))
    sim.sessions[s.id] = s
    mine = [g for g in sim.guilds.values() if b.id in g.members and (g.id >> 22) % shard[1] == shard[0]]
    me = dict(sim.user_d(b.id), verified=True, mfa_enabled=False, email=None, flags=0, bot=True)
    s.dispatch(
        "READY",
        {
            "v": 10,
            "user": me,
            "user_settings": {},
            "session_type": "normal",
            "session_id": s.id,
            "resume_gateway_url": sim.base.replace("http", "ws") + "/gateway/resume",
            "relationships": [],
            "private_channels": [],
            "presences": [],
            "guilds": [{"id": str(g.id), "unavailable": True} for g in mine],
            "guild_join_requests": [],
            "geo_ordered_rtc_regions": [],
            "auth": {},
            "shard": shard,
            "application": {"id": str(b.id), "flags": app_flags(b)},
            "_trace": ['["sim"]'],
        },
    )
    if intents & I_GUILDS:
        for g in mine:
            if not g.unavailable:
                s.dispatch("GUILD_CREATE", sim.guild_full(g, b, intents))
    sim.pulse()


def resume(sim: Sim, conn: Conn, d):
    sim.gwstats.resumes += 1
    t = sim.sessions.get((d or {}).get("session_id") or "")
    b = sim.tokens.get((d or {}).get("token", "").removeprefix("Bot "))
    if b is None:
        return conn.close(4004, "Authentication failed.")
    seq = (d or {}).get("seq")
    if (
        t is None
        or t.bot is not b
        or (t.conn is None and time.monotonic() - (t.lost_at or 0) > sim.cfg.resume_window)
    ):
        sim.gwstats.invalid += 1
        return conn.put({"t": None, "s": None, "op": 9, "d": False})
    if not isinstance(seq, int) or seq > t.seq:
        sim.sessions.pop(t.id, None)
        return conn.close(4007, "Invalid seq.")
    if seq < t.dropped_low:
        sim.sessions.pop(t.id, None)
        sim.gwstats.invalid += 1
        return conn.put({"t": None, "s": None, "op": 9, "d": False})
    if t.conn is not None and t.conn is not conn:
        t.conn.session = None
        t.conn.close(4000, "Resumed elsewhere")
    conn.session, t.conn, t.lost_at = t, conn, None
    t.resumes += 1
    sim.gwstats.resumed_ok += 1
    for p in list(t.buffer):
        if p["s"] > seq:
            conn.put(p)
            t.replayed += 1
            sim.gwstats.replayed += 1
    t.dispatch("RESUMED", {"_trace": ['["sim"]']})


def request_members(sim: Sim, s: Session, d):
    g = sim.guilds.get(int((d or {}).get("guild_id", 0)))
    if g is None or s.bot.id not in g.members:
        return
    ids, missing = list(g.members), []
    if d.get("user_ids") is not None:
        want = d["user_ids"] if isinstance(d["user_ids"], list) else [d["user_ids"]]
        ids = [int(u) for u in want if int(u) in g.members][:100]
        missing = [str(u) for u in want if int(u) not in g.members]
    elif d.get("query"):
        q = d["query"].lower()
        ids = [
            u
            for u in ids
            if sim.users[u].username.lower().startswith(q) or (g.members[u].nick or "").lower().startswith(q)
        ]
        ids = ids[: min(100, d.get("limit") or 100)]
    else:
        if not s.intents & I_MEMBERS:
            return  # Discord ignores/refuses a full list without the intent
        if d.get("limit"):
            ids = ids[: d["limit"]]
    chunks = [ids[i : i + 1000] for i in range(0, len(ids), 1000)] or [[]]
    for i, ch in enumerate(chunks):
        out = {
            "guild_id": str(g.id),
            "members": [sim.member_d(g, u) for u in ch],
            "chunk_index": i,
            "chunk_count": len(chunks),
            "not_found": missing,
        }
        if d.get("presences"):
            out["presences"] = []
        if d.get("nonce"):
            out["nonce"] = d["nonce"]
        s.dispatch("GUILD_MEMBERS_CHUNK", out)
