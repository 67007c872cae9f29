"""What was said, edited and deleted while the bot was away."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from memory import capture, consent
from memory.capture import backfill
from memory.models import Channel, ChannelMark, Guild, Member, Message, Scan
from memory.types import ChannelInfo, GuildInfo, IncomingMessage, Person
from tests.botrunner.history_support import configured, page_requests, read_all
from tests.simulators.discord import DiscordSim

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(scope="module")
def server() -> Iterator[DiscordSim]:
    with DiscordSim.start("--rate-profile", "off") as sim:
        yield sim
        assert not sim.requests()["unimplemented"]


class Town:
    """A server with one member and one stranger, whose messages the bot hears while it is there."""

    def __init__(self, sim: DiscordSim, channels: tuple[str, ...] = ("general",)) -> None:
        self.sim = sim
        self.ada, self.zoe = sim.user("ada"), sim.user("zoe")
        made = sim.guild("G", members=[self.ada, self.zoe], channels=list(channels))
        self.guild = GuildInfo(id=int(made["id"]), name="G")
        self.channels: dict[str, str] = made["channels"]
        consent.give(person=Person(int(self.ada), "ada", "Ada"), origin="discord")
        Member.objects.update(consented_at=datetime(2020, 1, 1, tzinfo=UTC))
        capture.remember_guild(self.guild)

    def say(self, text: str, *, who: str = "", channel: str = "general", heard: bool = True) -> str:
        author, place = who or self.ada, self.channels[channel]
        id = str(self.sim.say(place, author, text, silent=True)["id"])
        if heard:
            info = ChannelInfo(int(place), channel)
            person = Person(int(author), "somebody")
            capture.record_message(
                IncomingMessage(int(id), self.guild, info, person, text, backfill.time_of(int(id)))
            )
            backfill.flush_marks({self.guild.id: {int(place): int(id)}})
        return id

    def come_back(self) -> None:
        assert backfill.begin_catch_up([self.guild.id]) is not None
        read_all()
        assert set(Scan.objects.values_list("state", flat=True)) == {"done"}

    def texts(self) -> set[str]:
        return set(Message.objects.values_list("text", flat=True))


@pytest.fixture
def sim(server: DiscordSim) -> Iterator[DiscordSim]:
    server.__dict__.update(server.post("/reset"))
    with configured(server):
        yield server


def test_everything_after_the_mark_is_read_to_the_end(sim):
    town = Town(sim)
    town.say("heard")
    sim.preload(
        town.channels["general"], 430, [town.ada, town.zoe], template="missed {i}", start=None, end=None
    )
    for n in range(250):
        town.say(f"gap {n}", who=town.ada if n % 2 else town.zoe, heard=False)
    town.come_back()
    assert town.texts() == {"heard"} | {f"gap {n}" for n in range(1, 250, 2)}
    mark = ChannelMark.objects.get(channel_id=town.channels["general"])
    assert mark.seen_id == int(
        sim.get(f"/channels/{town.channels['general']}/messages", limit=1)["messages"][0]["id"]
    )
    assert Message.objects.filter(source="catch-up").count() == 125


def test_edits_and_deletions_of_the_time_in_between(sim):
    town = Town(sim)
    edited, deleted, kept = town.say("before the edit"), town.say("deleted"), town.say("kept")
    place = town.channels["general"]
    sim.call("PATCH", f"/channels/{place}/messages/{edited}", {"content": "after the edit", "silent": True})
    sim.call("DELETE", f"/channels/{place}/messages/{deleted}?silent=1")
    assert kept
    town.come_back()
    assert town.texts() == {"after the edit", "kept"}


@pytest.mark.parametrize("marked", [True, False])
@pytest.mark.parametrize("deleted", [0, 1])
def test_a_part_of_a_long_answer_that_was_deleted_while_away(sim, marked, deleted):
    town = Town(sim)
    place = int(town.channels["general"])
    question = int(town.say("tell me a long story"))
    mark = ChannelMark.objects.get()
    parts = [int(sim.say(str(place), sim.bot_id, f"part {n}", silent=True)["id"]) for n in range(2)]
    answer = IncomingMessage(
        parts[0],
        town.guild,
        ChannelInfo(place, "general"),
        Person(int(sim.bot_id), "musebot", is_bot=True),
        "part 0 part 1",
        backfill.time_of(parts[0]),
        reply_to=question,
        later_parts=(parts[1],),
    )
    assert capture.record_reply(answer, owner_id=int(town.ada))
    if marked:
        town.say("kept")
    else:
        ChannelMark.objects.update(seen_id=mark.seen_id)
    sim.call("DELETE", f"/channels/{place}/messages/{parts[deleted]}?silent=1")
    town.come_back()
    assert town.texts() == {"tell me a long story"} | ({"kept"} if marked else set())


def test_what_was_stored_but_not_marked_before_a_kill_is_compared_too(sim):
    town = Town(sim)
    town.say("marked")
    mark = ChannelMark.objects.get()
    gone = town.say("stored, then deleted while away")
    ChannelMark.objects.update(seen_id=mark.seen_id)
    sim.call("DELETE", f"/channels/{town.channels['general']}/messages/{gone}?silent=1")
    town.come_back()
    assert town.texts() == {"marked"}


def test_a_channel_that_lost_all_its_messages(sim):
    town = Town(sim)
    only = town.say("the only one")
    sim.call("DELETE", f"/channels/{town.channels['general']}/messages/{only}?silent=1")
    town.come_back()
    assert town.texts() == set()


@pytest.mark.parametrize("what", ["READ_MESSAGE_HISTORY", "VIEW_CHANNEL"])
def test_a_channel_that_may_not_be_read_any_more_keeps_what_is_stored(sim, what):
    town = Town(sim)
    town.say("said")
    sim.post(f"/channels/{town.channels['general']}/overwrites", id=town.guild.id, type="role", deny=[what])
    town.come_back()
    assert town.texts() == {"said"}


def test_a_channel_that_was_deleted_meanwhile_is_forgotten(sim):
    town = Town(sim, ("general", "attic"))
    town.say("below")
    town.say("above", channel="attic")
    sim.call("DELETE", f"/channels/{town.channels['attic']}")
    town.come_back()
    assert town.texts() == {"below"}
    assert Channel.objects.get(discord_id=town.channels["attic"]).deleted_at is not None


def test_channels_and_threads_made_meanwhile(sim):
    town = Town(sim)
    town.say("heard")
    made = sim.post(f"/guilds/{town.guild.id}/channels", name="new", type="text")
    town.channels["new"] = made["id"]
    town.say("in the new channel", channel="new", heard=False)
    options = {"user_id": town.ada, "silent": True}
    for name, archived in (("active", False), ("archived", True)):
        thread = sim.post(
            f"/channels/{town.channels['general']}/threads", name=name, archived=archived, **options
        )
        town.channels[name] = thread["id"]
        sim.say(thread["id"], town.ada, f"in the {name} thread", silent=True, force=True)
    town.come_back()
    assert town.texts() == {"heard", "in the new channel", "in the active thread", "in the archived thread"}


def test_quiet_channels_cost_no_page(sim):
    town = Town(sim, ("general", "quiet", "quieter"))
    town.say("heard", who=town.zoe)
    town.say("heard", who=town.zoe, channel="quiet")
    town.come_back()
    assert page_requests(sim) == []
    town.come_back()
    assert page_requests(sim) == []


def test_the_first_start_ever_reads_nothing(sim):
    town = Town(sim)
    town.say("before the bot came", heard=False)
    town.come_back()
    assert town.texts() == set() and page_requests(sim) == []
    town.say("while it was away", heard=False)
    town.come_back()
    assert town.texts() == {"while it was away"}


def test_a_second_absence_before_the_first_was_caught_up(sim):
    town = Town(sim)
    town.say("heard")
    town.say("first gap", heard=False)
    assert backfill.begin_catch_up([town.guild.id])
    town.say("heard between")
    town.say("second gap", heard=False)
    town.come_back()
    assert town.texts() == {"heard", "first gap", "heard between", "second gap"}
    assert Scan.objects.count() == 1


def test_nothing_from_before_the_consent(sim):
    town = Town(sim)
    town.say("heard")
    town.say("before the consent", heard=False)
    Member.objects.update(consented_at=datetime(2100, 1, 1, tzinfo=UTC))
    town.come_back()
    assert town.texts() == {"heard"}


def test_private_conversations_are_caught_up(sim):
    town = Town(sim)
    place = sim.post("/dms", user_id=town.ada)["id"]
    guild = GuildInfo(id=int(place), kind="dm")
    id = sim.say(place, town.ada, "hello", silent=True)["id"]
    info = ChannelInfo(int(place), kind="dm")
    person = Person(int(town.ada), "ada")
    capture.record_message(IncomingMessage(int(id), guild, info, person, "hello", backfill.time_of(int(id))))
    backfill.flush_marks({guild.id: {int(place): int(id)}})
    sim.say(place, town.ada, "are you there", silent=True)
    town.come_back()
    assert town.texts() == {"hello", "are you there"}
    assert Guild.objects.get(kind="dm").message_count == 2
