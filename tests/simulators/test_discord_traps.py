"""What discord.py 2.7 does that one has to know, each shown against the simulator."""

import asyncio
import base64
import contextlib
import io
import time
import zlib

import aiohttp
import discord
import pytest
import yarl
from discord import app_commands

from tests.simulators.discord import DiscordSim
from tests.simulators.discord.overrides import apply_overrides

pytestmark = pytest.mark.asyncio


@pytest.fixture(scope="module")
def sim():
    route, ws, asset = discord.http.Route, discord.gateway.DiscordWebSocket, discord.asset.Asset
    old = route.BASE, ws.DEFAULT_GATEWAY, asset.BASE
    with DiscordSim.start("--rate-profile", "fast") as s:
        apply_overrides(s.api_base, s.gateway_url, s.cdn_base)
        yield s
    route.BASE, ws.DEFAULT_GATEWAY, asset.BASE = old


@pytest.fixture
def fresh(sim):
    sim.post("/reset")
    sim.__dict__.update({k: sim.get("/info")[k] for k in ("bot_id", "token", "owner_id")})
    sim.call("DELETE", "/faults")
    sim.post("/config", rate_profile="fast", ack_deadline=3.0, cdn_signed=True)
    sim.alice = sim.user("alice")
    sim.g = sim.guild("G", members=[sim.alice], channels=["a", "b"])
    sim.a, sim.b = sim.g["channels"]["a"], sim.g["channels"]["b"]
    return sim


class Bot(discord.Client):
    def __init__(self, intents=None, **kw):
        i = intents or discord.Intents.default()
        if intents is None:
            i.message_content = i.members = True
        kw.setdefault("guild_ready_timeout", 0.2)
        super().__init__(intents=i, **kw)
        self.tree = app_commands.CommandTree(self)
        self.got = asyncio.Queue()
        self.ready_n = 0

    async def on_message(self, m):
        self.got.put_nowait(m)

    async def on_ready(self):
        self.ready_n += 1


@contextlib.asynccontextmanager
async def running(sim, bot=None, wait=True):
    bot = bot or Bot()
    task = asyncio.create_task(bot.start(sim.token))
    try:
        if wait:
            r = asyncio.create_task(_until_ready(bot))
            await asyncio.wait([task, r], return_when=asyncio.FIRST_COMPLETED, timeout=20)
            if task.done():
                r.cancel()
                task.result()
            await r
        bot.task = task
        yield bot
    finally:
        await bot.close()
        with contextlib.suppress(BaseException):
            await asyncio.wait_for(task, 5)


async def _until_ready(bot):
    while not bot.ready_n:
        await asyncio.sleep(0.01)


T = asyncio.to_thread


# ------------------------------------------------------------------ history
async def test_history_paging_all_modes(fresh):
    s = fresh
    r = s.preload(s.a, 1000, [s.alice])
    async with running(s) as bot:
        ch = bot.get_channel(int(s.a))
        s.post("/requests/reset")
        up = [m.content async for m in ch.history(limit=None, oldest_first=True)]
        down = [m.content async for m in ch.history(limit=None)]
        assert up == [f"message {i}" for i in range(1000)] and down == up[::-1]
        # 11 pages each: a full last page costs one more (empty) request
        assert s.requests()["routes"]["GET /channels/{channel_id}/messages"]["count"] == 22
        assert len([m async for m in ch.history()]) == 100  # the default limit is 100, not all
        page = s.get(f"/channels/{s.a}/messages", after=r["first"], limit=3)["messages"]
        assert [m["content"] for m in page] == [
            "message 3",
            "message 2",
            "message 1",
        ]  # newest first even for `after`
        mid = int(s.get(f"/channels/{s.a}/messages", around=r["first"], limit=1)["messages"][0]["id"])
        got = [m.content async for m in ch.history(limit=None, after=discord.Object(mid))]
        assert got == [f"message {i}" for i in range(1, 1000)]  # `after` alone turns oldest_first on
        got = [m.content async for m in ch.history(limit=None, before=discord.Object(mid))]
        assert got == []
        with pytest.raises(discord.HTTPException) as e:
            await bot.http.logs_from(int(s.a), 101)
        assert e.value.code == 50035


async def test_history_author_is_user_when_member_has_left(fresh):
    s = fresh
    ghost = s.user("ghost")
    s.preload(s.a, 2, [s.alice, ghost])
    async with running(s) as bot:
        ms = [m async for m in bot.get_channel(int(s.a)).history(limit=None, oldest_first=True)]
        assert isinstance(ms[0].author, discord.Member) and isinstance(ms[1].author, discord.User)


async def test_channels_one_cannot_read_are_listed_all_the_same(fresh):
    s = fresh
    s.preload(s.a, 3, [s.alice])
    s.preload(s.b, 3, [s.alice])
    s.post(f"/channels/{s.a}/overwrites", id=s.g["bot_role_id"], type="role", deny=["VIEW_CHANNEL"])
    s.post(f"/channels/{s.b}/overwrites", id=s.g["bot_role_id"], type="role", deny=["READ_MESSAGE_HISTORY"])
    async with running(s) as bot:
        a, b = bot.get_channel(int(s.a)), bot.get_channel(int(s.b))
        assert a is not None and not a.permissions_for(a.guild.me).read_messages
        with pytest.raises(discord.Forbidden) as e:
            [m async for m in a.history(limit=None)]
        assert (e.value.status, e.value.code) == (403, 50001)
        assert [m async for m in b.history(limit=None)] == []  # no error at all: silently empty
        assert not b.permissions_for(b.guild.me).read_message_history
        await T(s.say, s.a, s.alice, "hidden")
        await T(s.say, s.b, s.alice, "seen")
        assert (await asyncio.wait_for(bot.got.get(), 5)).content == "seen"


async def test_threads_and_forums_are_not_in_text_channels(fresh):
    s = fresh
    forum = s.post(f"/guilds/{s.g['id']}/channels", name="forum", type="forum")["id"]
    voice = s.post(f"/guilds/{s.g['id']}/channels", name="voice", type="voice")["id"]
    s.preload(voice, 2, [s.alice])
    s.post(f"/channels/{forum}/threads", name="post", user_id=s.alice, content="first post", silent=True)
    act = s.post(f"/channels/{s.a}/threads", name="active", user_id=s.alice, silent=True)["id"]
    arch = [
        s.post(f"/channels/{s.a}/threads", name=f"old{i}", user_id=s.alice, silent=True, archived=True)["id"]
        for i in range(3)
    ]
    s.post(f"/channels/{s.a}/threads", name="priv", user_id=s.alice, private=True, silent=True)
    privarch = s.post(
        f"/channels/{s.a}/threads", name="privold", user_id=s.alice, private=True, silent=True, archived=True
    )["id"]
    for c in (act, *arch, privarch):
        s.preload(c, 5, [s.alice])
    async with running(s) as bot:
        g = bot.guilds[0]
        assert {c.name for c in g.text_channels} == {"a", "b"}
        assert not hasattr(g.get_channel(int(forum)), "history")
        assert {t.name for t in g.threads} == {"post", "active"}  # active, visible ones only
        assert {t.name for t in await g.active_threads()} == {"post", "active"}
        old = [t async for t in g.get_channel(int(s.a)).archived_threads(limit=None)]
        assert {t.name for t in old} == {"old0", "old1", "old2"}
        assert [
            t async for t in g.get_channel(int(s.a)).archived_threads(private=True, joined=True, limit=None)
        ] == []
        with pytest.raises(discord.Forbidden):
            [
                t async for t in g.get_channel(int(s.a)).archived_threads(private=True, limit=None)
            ]  # MANAGE_THREADS
        n = 0
        for c in [*g.text_channels, *g.voice_channels, *g.stage_channels, *g.threads, *old]:
            n += len([m async for m in c.history(limit=None)])
        assert n == 2 + 1 + 5 + 15
        t = await g.get_channel(int(s.a)).create_thread(name="mine", type=discord.ChannelType.public_thread)
        await t.send("x")
        m = await g.get_channel(int(s.a)).send("root")
        t2 = await m.create_thread(name="from message")
        assert t2.id == m.id


# ------------------------------------------------------------------ limits and failures of REST
async def test_rate_limits(fresh, caplog):
    s = fresh
    s.preload(s.a, 1500, [s.alice])
    s.post(
        "/ratelimits",
        rules=[{"method": "GET", "route": "/channels/{channel_id}/messages", "limit": 5, "per": 1.0}],
    )
    async with running(s) as bot:
        ch = bot.get_channel(int(s.a))
        t = time.monotonic()
        assert len([m async for m in ch.history(limit=None)]) == 1500
        took = time.monotonic() - t
        assert (
            s.requests()["status_429"] == 0 and took > 2.5
        )  # discord.py sleeps before it would hit the limit
        s.post("/ratelimits", profile="fast")
        s.fault("GET /channels/*/messages", status=429, retry_after=0.3)
        s.fault("GET /channels/*/messages", status=429, retry_after=0.3, **{"global": True}, skip=2)
        assert len([m async for m in ch.history(limit=None)]) == 1500
        assert s.requests()["status_429"] == 2
        s.fault("GET /channels/*/messages", status=429, no_via=True, body="<html>error code: 1015</html>")
        with pytest.raises(discord.HTTPException) as e:  # a Cloudflare ban is not retried
            [m async for m in ch.history(limit=1)]
        assert e.value.status == 429
        # 5 tries, then it gives up
        s.fault("GET /channels/*/messages", status=429, retry_after=0.01, count=5)
        with pytest.raises(discord.HTTPException):
            [m async for m in ch.history(limit=1)]
    async with running(s, Bot(max_ratelimit_timeout=30)) as bot:
        s.fault("GET /channels/*/messages", status=429, retry_after=31)
        with pytest.raises(discord.RateLimited):
            [m async for m in bot.get_channel(int(s.a)).history(limit=1)]


async def test_global_limit_50_per_second(fresh):
    s = fresh
    s.post("/ratelimits", **{"global": 50})
    async with running(s) as bot:
        chans = [await T(s.post, f"/guilds/{s.g['id']}/channels", name=f"c{i}") for i in range(60)]
        s.post("/requests/reset")
        await asyncio.gather(*(bot.http.logs_from(int(c["id"]), 1) for c in chans))
        st = s.requests()["routes"]["GET /channels/{channel_id}/messages"]["statuses"]
        assert st["200"] == 60 and st["429"] >= 5


async def test_which_failures_are_retried(fresh):
    s = fresh
    s.preload(s.a, 3, [s.alice])
    async with running(s) as bot:
        ch = bot.get_channel(int(s.a))
        for status in (500, 502, 504):
            s.fault("GET /channels/*/messages", status=status)
            assert len([m async for m in ch.history(limit=None)]) == 3  # after 1 s
        s.fault("GET /channels/*/messages", status=503)
        with pytest.raises(discord.DiscordServerError):  # 503 is not in discord.py's list
            [m async for m in ch.history(limit=None)]
        s.fault("GET /channels/*/messages", action="drop")
        assert (
            len([m async for m in ch.history(limit=None)]) == 3
        )  # aiohttp repeats a GET once on a reused connection
        s.fault("GET /channels/*/messages", action="drop", count=2)
        with pytest.raises(aiohttp.ClientError):  # after that nobody retries (Linux errno is 104, not 54)
            [m async for m in ch.history(limit=None)]
        # the worst case for a reply: the request was carried out, the answer was lost
        s.fault("POST /channels/*/messages", action="drop_after")
        with pytest.raises(aiohttp.ClientError):
            await ch.send("once?", nonce="n1")
        await ch.send("once?", nonce="n1")  # same nonce (enforce_nonce): no second message
        assert [x.content async for x in ch.history(limit=None)].count("once?") == 1
        assert discord.utils._to_json({}) == "{}"


async def test_slow_edits_do_not_reorder(fresh):
    s = fresh
    async with running(s) as bot:
        m = await bot.get_channel(int(s.a)).send("0")
        s.fault("PATCH /channels/*", action="delay", delay=0.3, count=1)
        await asyncio.gather(m.edit(content="first"), asyncio.sleep(0.05, None), return_exceptions=True)
        await m.edit(content="second")
        assert s.sent(kind="message_edit")[-1]["content"] == "second"
        await T(s.call, "DELETE", f"/channels/{s.a}/messages/{m.id}")
        with pytest.raises(discord.NotFound) as e:  # a user deleted the streamed reply
            await m.edit(content="third")
        assert e.value.code == 10008


async def test_reply_to_deleted_message(fresh):
    s = fresh
    async with running(s) as bot:
        await T(s.say, s.a, s.alice, "hi")
        m = await asyncio.wait_for(bot.got.get(), 5)
        await T(s.call, "DELETE", f"/channels/{s.a}/messages/{m.id}")
        with pytest.raises(discord.HTTPException) as e:
            await m.reply("too late")
        assert e.value.code == 50035
        ref = m.to_reference(fail_if_not_exists=False)
        assert (await m.channel.send("ok", reference=ref)).content == "ok"


# ------------------------------------------------------------------ intents
async def test_message_content_intent(fresh):
    s = fresh
    i = discord.Intents.default()
    assert not i.message_content
    async with running(s, Bot(intents=i)) as bot:
        await T(s.say, s.a, s.alice, "secret")
        await T(s.say, s.a, s.alice, f"<@{s.bot_id}> to you")
        dm = (await T(s.post, "/dms", user_id=s.alice))["id"]
        await T(s.say, dm, s.alice, "dm text")
        assert [(await asyncio.wait_for(bot.got.get(), 5)).content for _ in range(3)] == [
            "",
            f"<@{s.bot_id}> to you",
            "dm text",
        ]
    s.call("PATCH", "/bot", {"allowed": ["members"]})
    s.preload(s.b, 2, [s.alice])
    bot = Bot()
    with pytest.raises(discord.PrivilegedIntentsRequired):
        await asyncio.wait_for(bot.start(s.token), 20)
    await bot.close()
    async with running(s, Bot(intents=i)) as bot:  # REST strips as well
        assert {m.content async for m in bot.get_channel(int(s.b)).history()} == {""}


async def test_bad_token(fresh):
    bot = Bot()
    with pytest.raises(discord.LoginFailure):
        await bot.start("MTIz.abc.def")
    await bot.close()


async def test_chunking_2500_members_at_startup(fresh):
    s = fresh
    s.post(f"/guilds/{s.g['id']}/members/bulk", count=2500)
    async with running(s) as bot:
        assert bot.guilds[0].chunked and len(bot.guilds[0].members) == 2503
    await asyncio.sleep(0.2)
    # Client.close() asks for 1000, but with aiohttp 3.14 the poll loop wins and sends 4000:
    # the session stays resumable on the server
    assert [x["connected"] for x in s.get("/gateway")["sessions"]] == [False]
    async with running(s, Bot(chunk_guilds_at_startup=False)) as bot:
        assert len(bot.guilds[0].members) == 1
        assert bot.guilds[0].get_member(int(s.alice)) is None
        assert (await bot.guilds[0].fetch_member(int(s.alice))).name == "alice"
        q = await bot.guilds[0].query_members("alice")
        assert [m.name for m in q] == ["alice"]


# ------------------------------------------------------------------ gateway
async def test_zombie_connection_needs_the_heartbeat_timeout(fresh):
    s = fresh
    s.post("/config", heartbeat_interval=500)
    try:
        async with running(s, Bot(heartbeat_timeout=2.0)) as bot:  # 60 s by default
            s.gateway("pause", ack=True, events=True)  # nothing arrives any more
            await T(s.say, s.a, s.alice, "while dead")
            m = await asyncio.wait_for(bot.got.get(), 10)  # arrives by RESUME
            assert m.content == "while dead" and s.get("/gateway")["stats"]["replayed"] >= 1
    finally:
        s.post("/config", heartbeat_interval=41250)


async def test_gateway_down_at_the_first_connect(fresh):
    """REST is up, the very first websocket connect fails: discord.py reads ws.sequence while ws is None."""
    s = fresh
    s.gateway(
        "refuse", seconds=0.5
    )  # one refusal is not enough: aiohttp itself repeats a GET on a reused connection
    bot = Bot()
    with pytest.raises(AttributeError, match="'NoneType' object has no attribute 'sequence'"):
        await asyncio.wait_for(bot.start(s.token), 20)
    await bot.close()


async def test_exception_in_a_handler_does_not_stop_the_bot(fresh):
    s = fresh

    class B(Bot):
        async def on_message(self, m):
            await super().on_message(m)
            if m.content == "boom":
                raise ValueError("boom")

    async with running(s, B()) as bot:
        for t in ("boom", "after"):
            await T(s.say, s.a, s.alice, t)
        assert [(await asyncio.wait_for(bot.got.get(), 5)).content for _ in range(2)] == ["boom", "after"]


async def test_on_message_handlers_run_concurrently(fresh):
    """Each event is its own task: two messages of one channel can be handled out of order."""
    s = fresh
    done = []

    class B(Bot):
        async def on_message(self, m):
            await asyncio.sleep(0.3 if m.content == "1" else 0)
            done.append(m.content)

    async with running(s, B()):
        await T(s.say, s.a, s.alice, "1")
        await T(s.say, s.a, s.alice, "2")
        await asyncio.sleep(0.6)
    assert done == ["2", "1"]


async def test_autosharded_needs_only_route_base(fresh):
    s = fresh
    old = discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY
    discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL("ws://127.0.0.1:9/")
    try:

        class B(discord.AutoShardedClient):
            ready_n = 0

            async def on_ready(self):
                self.ready_n += 1

        async with running(s, B(intents=discord.Intents.default(), guild_ready_timeout=0.2)) as bot:
            assert [g.name for g in bot.guilds] == ["G"] and bot.shard_count == 1
    finally:
        discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = old


async def test_transport_compression(fresh):
    s = fresh
    async with running(s):
        assert (
            s.get("/gateway")["sessions"][0]["compress"]
            == discord.utils._ActiveDecompressionContext.COMPRESSION_TYPE
        )


# ------------------------------------------------------------------ interactions
async def test_interactions_in_depth(fresh):
    s = fresh
    bot = Bot()
    errs = []

    @bot.tree.command(name="say", description="d")
    @app_commands.describe(who="w")
    async def say(
        it: discord.Interaction, text: str, who: discord.Member, n: app_commands.Range[int, 1, 5] = 2
    ):
        await it.response.send_message(f"{text} {who.name} {n}")
        await it.followup.send("more", ephemeral=True)
        m = await it.original_response()
        await m.edit(content="edited")
        with contextlib.suppress(discord.InteractionResponded):
            await it.response.send_message("again")
        try:
            await bot.http.request(
                discord.http.Route("POST", "/interactions/{i}/{t}/callback", i=it.id, t=it.token),
                json={"type": 5},
            )
        except discord.HTTPException as e:
            errs.append(e.code)

    @say.autocomplete("text")
    async def ac(it, cur):
        return [app_commands.Choice(name=cur + "!", value=cur + "!")]

    @bot.tree.command(name="eph", description="d")
    async def eph(it: discord.Interaction):
        await it.response.defer(ephemeral=True)
        m = await it.followup.send("public?", ephemeral=False)  # keeps the deferral's ephemerality
        errs.append(m.flags.ephemeral)

    class V(discord.ui.View):
        @discord.ui.button(label="yes")
        async def yes(self, it, b):
            await it.response.edit_message(content="confirmed", view=None)

    @bot.tree.command(name="ask", description="d")
    async def ask(it: discord.Interaction):
        await it.response.send_message("sure?", view=V(), ephemeral=True)

    @bot.tree.command(name="admin", description="d")
    @app_commands.default_permissions(manage_guild=True)
    @app_commands.guild_only()
    async def admin(it):
        await it.response.send_message("ok")

    @bot.tree.context_menu(name="Remember this")
    async def ctx(it: discord.Interaction, m: discord.Message):
        await it.response.send_message(m.content, ephemeral=True)

    async with running(s, bot):
        with pytest.raises(RuntimeError, match="not registered"):
            await T(s.invoke, s.a, s.alice, "say", options={"text": "x"})
        await bot.tree.sync()
        r = await T(
            s.invoke, s.a, s.alice, "say", options={"text": "hey", "who": s.alice, "n": 3}, contains="more"
        )
        assert [m["content"] for m in r["messages"]] == ["hey alice 3", "more"] and r["messages"][1][
            "ephemeral"
        ]
        await asyncio.sleep(0.3)
        r = await T(s.get, f"/interactions/{r['id']}")
        assert r["messages"][0]["content"] == "edited" and errs == [40060]
        with pytest.raises(RuntimeError, match="out of range"):
            await T(s.invoke, s.a, s.alice, "say", options={"text": "hey", "who": s.alice, "n": 9})
        r = await T(s.invoke, s.a, s.alice, "eph")
        await asyncio.sleep(0.1)
        assert r["messages"][0]["ephemeral"] and errs[-1] is True and len(r["messages"]) == 1
        r = await T(s.invoke, s.a, s.alice, "ask")
        m = r["messages"][0]
        r = await T(
            s.post,
            "/interactions",
            channel_id=s.a,
            user_id=s.alice,
            message_id=m["id"],
            custom_id=m["components"][0]["components"][0]["custom_id"],
        )
        assert r["ack_type"] == 7
        with pytest.raises(RuntimeError, match="default_member_permissions"):
            await T(s.invoke, s.a, s.alice, "admin")
        dm = (await T(s.post, "/dms", user_id=s.alice))["id"]
        with pytest.raises(RuntimeError, match="not available"):
            await T(s.invoke, dm, s.alice, "admin")
        r = await T(s.invoke, dm, s.alice, "eph")
        assert r["state"] == "acked"
        msg = await T(s.say, s.a, s.alice, "worth keeping")
        r = await T(
            s.post,
            "/interactions",
            channel_id=s.a,
            user_id=s.alice,
            command="Remember this",
            type=3,
            target_id=msg["id"],
        )
        assert r["messages"][0]["content"] == "worth keeping"
        r = await T(
            s.post,
            "/interactions",
            channel_id=s.a,
            user_id=s.alice,
            command="say",
            options={"text": "he", "who": s.alice},
            autocomplete="text",
        )
        assert r["choices"] == [{"name": "he!", "value": "he!"}]


async def test_event_loop_blocked_by_cpu_work_misses_the_3_seconds(fresh):
    s = fresh
    bot = Bot()
    seen = []

    @bot.tree.command(name="x", description="d")
    async def x(it: discord.Interaction):
        try:
            await it.response.defer()
            seen.append("ok")
        except discord.NotFound as e:
            seen.append(e.code)

    async with running(s, bot):
        await bot.tree.sync()
        s.post("/config", ack_deadline=0.5)
        task = asyncio.create_task(T(s.invoke, s.a, s.alice, "x", wait="ack", timeout=5))
        await asyncio.sleep(0)
        time.sleep(0.8)  # e.g. an embedding computed in the event loop
        r = await task
        await asyncio.sleep(0.2)
        assert r["state"] == "failed" and seen == [10062]


# ------------------------------------------------------------------ CDN
async def test_attachment_urls_expire(fresh):
    s = fresh
    async with running(s) as bot:
        png = zlib.decompress(
            zlib.compress(
                b"\x89PNG\r\n\x1a\n"
                + b"\0\0\0\rIHDR"
                + (7).to_bytes(4, "big")
                + (5).to_bytes(4, "big")
                + b"\0" * 50
            )
        )
        await T(
            s.say,
            s.a,
            s.alice,
            "",
            attachments=[{"filename": "p.png", "b64": base64.b64encode(png).decode()}],
        )
        a = (await asyncio.wait_for(bot.got.get(), 5)).attachments[0]
        assert (a.width, a.height, a.content_type) == (7, 5, "image/png") and await a.read() == png
        await T(s.post, "/clock", advance=25 * 3600)
        with pytest.raises(discord.NotFound):
            await a.read()  # a stored URL is dead after about a day: re-fetch the message
        m = await bot.get_channel(int(s.a)).fetch_message(
            [m async for m in bot.get_channel(int(s.a)).history(limit=1)][0].id
        )
        assert await m.attachments[0].read() == png
        up = await bot.get_channel(int(s.a)).send("here", file=discord.File(io.BytesIO(b"abc"), "x.txt"))
        assert await up.attachments[0].read() == b"abc"
        assert (await bot.user.display_avatar.read())[:4] == b"\x89PNG"  # Asset.BASE
