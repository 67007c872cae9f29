"""Reading the history of a server for members who opted in, from Discord's REST API to the rows."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from memory.capture import backfill
from memory.models import Message, Scan, ScanChannel
from tests.botrunner.history_support import configured, opt_in, page_requests, read_all, turn
from tests.simulators.discord import DiscordSim

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(scope="module")
def server() -> Iterator[DiscordSim]:
    with DiscordSim.start("--rate-profile", "off") as sim:
        yield sim
        assert not sim.requests()["unimplemented"]


@pytest.fixture
def sim(server: DiscordSim) -> Iterator[DiscordSim]:
    server.__dict__.update(server.post("/reset"))
    with configured(server):
        yield server


def texts(**conditions: object) -> set[str]:
    return set(Message.objects.filter(**conditions).values_list("text", flat=True))


def test_every_kind_of_channel_is_read_from_the_newest_to_the_oldest(sim):
    ada, zoe = sim.user("ada"), sim.user("zoe")
    kinds = ["text", "news", "voice", "stage", "forum"]
    guild = sim.guild("G", members=[ada, zoe], channels=[{"name": kind, "type": kind} for kind in kinds])
    places = dict(guild["channels"])
    forum = places.pop("forum")
    for name in ("active", "archived"):
        for parent in ("text", "news"):
            made = sim.post(
                f"/channels/{places[parent]}/threads",
                name=name,
                user_id=ada,
                silent=True,
                archived=name == "archived",
            )
            places[f"{name} of {parent}"] = made["id"]
        post = sim.post(
            f"/channels/{forum}/threads",
            name=name,
            user_id=ada,
            content="post",
            silent=True,
            archived=name == "archived",
        )
        places[f"{name} post"] = post["id"]
    for name, channel in places.items():
        sim.preload(channel, 250, [ada, zoe], template=f"{name} {{i}}")
    [scan] = opt_in(ada, guilds=[guild["id"]])
    read_all()
    scan.refresh_from_db()
    assert scan.state == Scan.State.DONE
    expected = {f"{name} {i}" for name in places for i in range(0, 250, 2)} | {"post"}
    assert texts() == expected
    assert Message.objects.count() == len(places) * 125 + 2
    requests = page_requests(sim)
    assert len(requests) == len(set(requests)) == 3 * len(places)
    assert scan.scanned == 250 * len(places) + 2
    assert scan.skipped == {"no_consent": 125 * len(places)}


def test_the_same_scan_serves_all_who_opted_in_within_a_minute(sim):
    people = [sim.user(f"p{n}") for n in range(5)]
    guild = sim.guild("G", members=people, channels=["general"])
    sim.preload(guild["channels"]["general"], 420, people)
    scans = opt_in(*people[:4], guilds=[guild["id"]])
    assert len(scans) == 1
    read_all()
    assert len(page_requests(sim)) == 5
    assert Message.objects.count() == 4 * 84
    late = opt_in(people[4], guilds=[guild["id"]])[-1]
    assert late.pk != scans[0].pk
    read_all()
    assert len(page_requests(sim)) == 10
    assert Message.objects.count() == 420
    late.refresh_from_db()
    assert late.skipped == {"no_consent": 4 * 84}


def test_replies_of_the_bot_belong_to_whoever_they_answer(sim):
    ada, zoe = sim.user("ada"), sim.user("zoe")
    guild = sim.guild("G", members=[ada, zoe], channels=["general"])
    channel, bot = guild["channels"]["general"], sim.bot_id
    said = [
        {"user_id": ada, "content": "ada asks"},
        {"user_id": bot, "content": "to ada", "reply_prev": True},
        {"user_id": zoe, "content": "zoe asks"},
        {"user_id": bot, "content": "to zoe", "reply_prev": True},
        {"user_id": bot, "content": "to nobody"},
        {"user_id": ada, "content": "ada regrets"},
        {"user_id": bot, "content": "to what is gone", "reply_prev": True},
    ]
    ids = sim.post(f"/channels/{channel}/preload", messages=said)["ids"]
    sim.call("DELETE", f"/channels/{channel}/messages/{ids[5]}?silent=1")
    opt_in(ada, guilds=[guild["id"]])
    read_all()
    assert texts() == {"ada asks", "to ada"}
    answer = Message.objects.get(is_bot=True)
    assert (answer.member_id, answer.author_id, answer.reply_to) == (int(ada), int(bot), int(ids[0]))


def test_what_may_not_be_read_is_reported_and_not_fatal(sim):
    ada = sim.user("ada")
    hidden = {"name": "hidden", "overwrites": []}
    guild = sim.guild(
        "G", members=[ada], channels=["general", hidden, "mute", {"name": "stairs", "type": "voice"}]
    )
    places = guild["channels"]
    for name, what in (("hidden", "VIEW_CHANNEL"), ("mute", "READ_MESSAGE_HISTORY"), ("stairs", "CONNECT")):
        sim.post(f"/channels/{places[name]}/overwrites", id=guild["id"], type="role", deny=[what])
    for channel in places.values():
        sim.preload(channel, 5, [ada])
    [scan] = opt_in(ada, guilds=[guild["id"]])
    read_all()
    assert Message.objects.count() == 5
    found = {row.name: (row.state, row.error_code) for row in backfill.channels(scan.pk)}
    assert found == {
        "general": ("done", ""),
        "hidden": ("unreadable", "no_view"),
        "mute": ("unreadable", "no_history"),
        "stairs": ("unreadable", "no_connect"),
    }
    [seen] = backfill.progress()
    assert (seen.state, seen.channels, seen.channels_done, seen.unreadable) == ("done", 1, 1, 3)


def test_a_bot_that_is_not_on_the_server_any_more(sim):
    ada = sim.user("ada")
    guild = sim.guild("G", members=[ada], channels=["general"])
    sim.post(f"/guilds/{guild['id']}/bot", action="remove")
    [scan] = opt_in(ada, guilds=[guild["id"]])
    read_all()
    scan.refresh_from_db()
    assert (scan.state, scan.error_code) == (Scan.State.FAILED, "guild_left")


@pytest.mark.parametrize(
    "fault",
    [
        {"status": 500},
        {"status": 503},
        {"action": "drop"},
        {"action": "drop_after"},
        {"status": 429, "retry_after": 0.2},
        {"status": 429, "retry_after": 0.2, "global": True},
        {"status": 502, "body": "<html>Bad gateway</html>"},
    ],
    ids=["500", "503", "drop", "answer lost", "429", "429 everywhere", "a proxy"],
)
def test_a_failure_leaves_no_hole(sim, monkeypatch, fault):
    monkeypatch.setattr("botrunner.rest.BACK_OFF", (0.01,) * 5)
    ada = sim.user("ada")
    guild = sim.guild("G", members=[ada], channels=["general"])
    sim.preload(guild["channels"]["general"], 350, [ada])
    sim.fault("GET /channels/*/messages", count=3, skip=1, **fault)
    opt_in(ada, guilds=[guild["id"]])
    read_all()
    assert Message.objects.count() == 350
    assert Scan.objects.get().state == Scan.State.DONE


def test_a_page_that_keeps_failing_is_never_taken_for_read(sim, monkeypatch):
    monkeypatch.setattr("botrunner.rest.BACK_OFF", (0.01,) * 2)
    ada = sim.user("ada")
    guild = sim.guild("G", members=[ada], channels=["general", "other"])
    channel = guild["channels"]["general"]
    sim.preload(channel, 250, [ada])
    sim.preload(guild["channels"]["other"], 50, [ada])
    fault = sim.fault(f"GET /channels/{channel}/messages", count=-1, skip=1, status=503)
    opt_in(ada, guilds=[guild["id"]])
    turn()
    assert Message.objects.count() == 150
    row = ScanChannel.objects.get(channel_id=channel)
    assert (row.state, row.error_code, row.failures) == ("waiting", "discord_unavailable", 1)
    assert Scan.objects.get().state == Scan.State.RUNNING
    turn()
    assert ScanChannel.objects.get(channel_id=channel).failures == 2
    sim.call("DELETE", "/faults")
    assert fault
    read_all()
    assert Message.objects.count() == 300


def test_a_token_that_is_refused_only_waits(sim):
    ada = sim.user("ada")
    guild = sim.guild("G", members=[ada], channels=["general"])
    opt_in(ada, guilds=[guild["id"]])
    good = sim.token
    sim.call("PATCH", "/bot", {"token": "another"})
    try:
        turn()
        assert Scan.objects.get().state in {Scan.State.LISTING, Scan.State.GATHERING}
    finally:
        sim.call("PATCH", "/bot", {"token": good})
    read_all()
    assert Scan.objects.get().state == Scan.State.DONE


def test_a_reply_whose_trigger_discord_does_not_send_along(sim, monkeypatch):
    """It is held aside by its id until the trigger is seen, and fetched then."""
    from botrunner import channel_reading, raw

    ada, zoe = sim.user("ada"), sim.user("zoe")
    guild = sim.guild("G", members=[ada, zoe], channels=["general"])
    channel, bot = guild["channels"]["general"], sim.bot_id
    asked = sim.post(
        f"/channels/{channel}/preload",
        messages=[{"user_id": ada, "content": "ada asks"}, {"user_id": zoe, "content": "zoe asks"}],
    )["ids"]
    sim.preload(channel, 150, [zoe])
    sim.post(
        f"/channels/{channel}/preload",
        start=None,
        messages=[
            {"user_id": bot, "content": f"to {name}", "reply_to": id, "timestamp": "2031-01-01T00:00:00Z"}
            for name, id in zip(("ada", "zoe"), asked, strict=True)
        ],
    )

    def without(work, payloads, reader, fetched_at):
        return raw.page_of(
            work,
            [{k: v for k, v in one.items() if k != "referenced_message"} for one in payloads],
            reader,
            fetched_at,
        )

    monkeypatch.setattr(channel_reading, "page_of", without)
    opt_in(ada, guilds=[guild["id"]])
    read_all()
    assert texts() == {"ada asks", "to ada"}
    assert Message.objects.get(is_bot=True).member_id == int(ada)


def test_a_private_conversation(sim):
    from memory import consent
    from memory.types import GuildInfo, Person
    from tests.botrunner.history_support import close_cohorts

    ada = sim.user("ada")
    place = sim.post("/dms", user_id=ada)["id"]
    said = [
        {"user_id": ada, "content": "hello"},
        {"user_id": sim.bot_id, "content": "hello ada", "reply_prev": True},
    ]
    sim.post(f"/channels/{place}/preload", messages=said)
    consent.give(person=Person(int(ada), "ada"), origin="discord")
    backfill.request(user_id=int(ada), guilds=[GuildInfo(id=int(place), kind="dm")])
    close_cohorts()
    read_all()
    assert texts(guild__kind="dm") == {"hello", "hello ada"}
