"""A discord.py bot in one process, the simulator in another, the test as the Discord users."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.simulators.discord import DiscordSim
from tests.simulators.process import ROOT


class BotProc:
    def __init__(self, sim, tmp, **env):
        self.logf = os.path.join(tmp, f"bot{time.time_ns()}.jsonl")
        Path(self.logf).touch()
        self.err = open(self.logf + ".err", "w")  # noqa: SIM115 (closed by stop)
        self.p = subprocess.Popen(
            [sys.executable, "-m", "tests.simulators.proof_bot"],
            stderr=self.err,
            cwd=ROOT,
            env=dict(os.environ, **sim.env(), BOT_LOG=self.logf, **env),
        )

    def events(self, ev=None, **kw):
        lines = Path(self.logf).read_text().splitlines(keepends=True)
        out = [json.loads(x) for x in lines if x.endswith("\n")]
        return [e for e in out if (ev is None or e["ev"] == ev) and all(e.get(k) == v for k, v in kw.items())]

    def wait(self, ev, n=1, timeout=20, **kw):
        end = time.time() + timeout
        while time.time() < end:
            e = self.events(ev, **kw)
            if len(e) >= n:
                return e
            assert self.p.poll() is None, self.stderr()
            time.sleep(0.02)
        raise AssertionError(f"no {ev} {kw} after {timeout}s; last: {self.events()[-8:]}\n{self.stderr()}")

    def stderr(self):
        return Path(self.logf + ".err").read_text()[-3000:]

    def stop(self):
        if self.p.poll() is None:
            self.p.terminate()
            self.p.wait(10)
        self.err.close()


class World:
    pass


@pytest.fixture(scope="module")
def w(tmp_path_factory):
    tmp = str(tmp_path_factory.mktemp("bot"))
    with DiscordSim.start("--heartbeat-interval", "2000") as sim:
        w = World()
        w.sim, w.tmp = sim, tmp
        w.alice, w.bob = sim.user("alice"), sim.user("bob")
        w.g = sim.guild("Guild A", members=[w.alice, w.bob], channels=["general", "one", "two", "three"])
        w.ch = w.g["channels"]
        w.bot = BotProc(sim, tmp)
        try:
            w.bot.wait("ready")
            w.mention = f"<@{sim.bot_id}>"
            yield w
        finally:
            w.bot.stop()
            un = sim.requests()["unimplemented"]
            assert not un, f"the bot used routes that the simulator lacks: {un}"


def test_login_and_command_sync(w):
    assert w.bot.wait("synced")[0]["names"] == ["memory", "slow", "job"]
    assert w.bot.wait("ready")[0] == {"ev": "ready", "guilds": ["Guild A"], "members": [4], "chunked": [True]}
    mem = next(c for c in w.sim.get("/commands")["global"] if c["name"] == "memory")
    assert [o["name"] for o in mem["options"]] == ["remember", "forget"]
    with pytest.raises(RuntimeError, match="no subcommand nosuch"):
        w.sim.invoke(w.ch["general"], w.alice, "memory nosuch")


def test_mention_is_echoed_as_a_reply(w):
    m = w.sim.say(w.ch["general"], w.alice, f"{w.mention} hello")
    r = w.sim.wait_sent(kind="message_create", reply_to_id=m["id"])[0]
    assert r["content"] == "echo: hello" and r["mentions"] == [w.alice]
    w.sim.say(w.ch["general"], w.alice, "not for the bot")
    w.bot.wait("message", content="not for the bot")
    assert len(w.sim.sent(kind="message_create", since=r["seq"])) == 0


def test_streamed_reply_is_edited_in_place(w):
    m = w.sim.say(w.ch["general"], w.alice, f"{w.mention} stream 40")
    r = w.sim.wait_sent(kind="message_create", reply_to_id=m["id"])[0]
    want = " ".join(f"w{k}" for k in range(40))
    w.sim.wait_sent(kind="message_edit", message_id=r["message_id"], equals=want, timeout=30)
    edits = w.sim.sent(kind="message_edit", message_id=r["message_id"])
    assert [e["content"] for e in edits] == [" ".join(f"w{i}" for i in range(k)) for k in range(5, 45, 5)]
    assert len(w.sim.sent(kind="message_create", reply_to_id=m["id"])) == 1


def test_2000_character_limit(w):
    w.sim.say(w.ch["general"], w.alice, f"{w.mention} long")
    e = w.bot.wait("too_long")[0]
    assert (e["status"], e["code"]) == (400, 50035) and "Must be 2000 or fewer in length" in e["text"]


def test_backfill_5000_messages_3_channels_with_429s(w):
    s = w.sim
    s.post("/requests/reset")
    for name, n in (("one", 2500), ("two", 1500), ("three", 1000)):
        s.preload(w.ch[name], n, [w.alice, w.bob], template="history {i}")
    # what a client sees when a bucket is shared with someone else: a 429 although "remaining" said otherwise
    s.post(
        "/ratelimits",
        rules=[
            {
                "method": "GET",
                "route": "/channels/{channel_id}/messages",
                "limit": 8,
                "per": 1.0,
                "hidden": 100,
            }
        ],
    )
    s.fault("GET /channels/*/messages", status=429, retry_after=0.4, skip=3, scope="shared")
    s.fault("GET /channels/*/messages", status=502, skip=12)
    r = s.invoke(w.ch["general"], w.alice, "memory remember", wait="final", contains="Stored", timeout=90)
    rq = s.requests()["routes"]["GET /channels/{channel_id}/messages"]
    log = w.bot.wait("backfill")[0]
    assert log["order_ok"] and [log["per"][k] for k in ("one", "two", "three")] == [2500, 1500, 1000]
    assert r["state"] == "acked" and r["ack_type"] == 5 and r["ephemeral"]
    assert (
        r["messages"][-1]["content"] == f"Stored {log['mine']} of {log['total']} messages."
        and r["messages"][-1]["ephemeral"]
    )
    assert rq["statuses"].get("429", 0) >= 2 and rq["statuses"]["502"] == 1
    assert any("read" in e["content"] for e in s.sent(kind="original_edit"))
    s.post("/ratelimits", profile="realistic")


def test_resume_after_dropped_socket_loses_nothing(w):
    s = w.sim
    before = s.get("/gateway")["stats"]
    n_ready = len(w.bot.events("ready"))
    sent = []
    for k in range(30):
        sent.append(s.say(w.ch["one"], w.bob, f"resume {k}")["content"])
        if k == 9:
            s.gateway("refuse", count=1)  # the first reconnect fails too
            s.gateway("drop", mode="abort")  # TCP dies without a close frame
        if k == 19:
            w.bot.wait("resumed")
            s.gateway("reconnect")  # op 7
    w.bot.wait("message", content="resume 29")
    time.sleep(0.5)
    got = [e["content"] for e in w.bot.events("message") if e["content"].startswith("resume ")]
    after = s.get("/gateway")["stats"]
    assert got == sent  # all, once, in order
    assert after["identifies"] == before["identifies"] and after["replayed"] > before["replayed"]
    assert len(w.bot.events("ready")) == n_ready  # on_ready does not fire again after a RESUME
    assert s.get("/gateway")["sessions"][0]["path"] == "/gateway/resume"


def test_invalid_session_means_new_identify_and_lost_events(w):
    s = w.sim
    n = len(w.bot.events("ready"))
    s.gateway("drop", mode="close", code=4000, forget=True)  # as after an outage of more than a few minutes
    s.say(w.ch["one"], w.bob, "said while nobody listened")
    w.bot.wait("ready", n + 1, timeout=30)
    s.say(w.ch["one"], w.bob, "after the new IDENTIFY")
    w.bot.wait("message", content="after the new IDENTIFY")
    assert not w.bot.events(
        "message", content="said while nobody listened"
    )  # only history() can bring it back


def test_interaction_deadlines(w):
    s = w.sim
    s.post("/config", ack_deadline=1.0)  # instead of three seconds
    r = s.invoke(w.ch["general"], w.alice, "slow", options={"seconds": 2}, timeout=10)
    assert r["state"] == "failed" and r["messages"] == []
    assert w.bot.wait("slow")[0] == {"ev": "slow", "ok": False, "code": 10062, "status": 404}
    s.post("/config", ack_deadline=3.0)
    r = s.invoke(w.ch["general"], w.alice, "memory forget")
    assert r["messages"][0]["content"] == "All memories deleted." and r["messages"][0]["ephemeral"]
    assert not [
        m
        for m in s.get(f"/channels/{w.ch['general']}/messages", limit=5)["messages"]
        if m["content"] == "All memories deleted."
    ]
    r = s.invoke(w.ch["general"], w.alice, "job", wait="ack")
    s.post("/clock", advance=15 * 60 + 1)
    assert w.bot.wait("job")[0] == {"ev": "job", "ok": False, "code": 50027, "status": 401}
    s.wait_sent(kind="message_create", equals="the result, as an ordinary message")


def test_events_about_removal(w):
    s = w.sim
    s.preload(w.ch["two"], 3, [w.alice])
    ids = [s.say(w.ch["two"], w.alice, f"gone {k}")["id"] for k in range(4)]
    w.bot.wait("message", content="gone 3")
    s.call("PATCH", f"/channels/{w.ch['two']}/messages/{ids[0]}", {"content": "changed"})
    w.bot.wait("raw_edit", content="changed", cached=True)
    s.call("DELETE", f"/channels/{w.ch['two']}/messages/{ids[0]}")
    w.bot.wait("raw_delete", id=int(ids[0]))
    s.post(f"/channels/{w.ch['two']}/bulk_delete", ids=ids[1:3])
    w.bot.wait("raw_bulk", ids=sorted(map(int, ids[1:3])))
    old = s.get(f"/channels/{w.ch['two']}/messages", limit=100)["messages"][-1]["id"]
    s.call("DELETE", f"/channels/{w.ch['two']}/messages/{old}")
    w.bot.wait("raw_delete", id=int(old), cached=False)  # on_message_delete would have missed it
    s.call("DELETE", f"/guilds/{w.g['id']}/members/{w.bob}")
    w.bot.wait("member_remove", user=int(w.bob))
    s.post(f"/guilds/{w.g['id']}/members", user_id=w.bob)
    g2 = s.guild("Guild B", channels=["x"])
    w.bot.wait("guild_join", id=int(g2["id"]))
    s.post(f"/guilds/{g2['id']}/bot", action="outage")
    w.bot.wait("guild_unavailable", id=int(g2["id"]))
    s.post(f"/guilds/{g2['id']}/bot", action="recover")
    w.bot.wait("guild_available", id=int(g2["id"]))
    s.post(f"/guilds/{g2['id']}/bot", action="remove")
    w.bot.wait("guild_remove", id=int(g2["id"]))


def test_attachments_and_dms(w):
    s = w.sim
    s.say(w.ch["two"], w.alice, "look", attachments=[{"filename": "a.txt", "text": "hello file"}])
    a = w.bot.wait("attachment")[0]
    assert a["bytes"] == 10 and a["ct"].startswith("text/plain") and a["url"].startswith(s.cdn_base)
    dm = s.post("/dms", user_id=w.alice)["id"]
    s.say(dm, w.alice, "hi in private")
    assert s.wait_sent(kind="message_create", channel_id=dm)[0]["content"] == "echo: hi in private"
