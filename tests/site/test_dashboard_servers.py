"""Servers: their settings, what a shorter time would purge, the switches of channels, and servers that were left."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from memory import blocks, capture, retention
from memory.models import Channel, Guild, GuildMember, Message
from memory.types import ChannelInfo, GuildInfo
from tests.factories import ChannelFactory, GuildFactory, incoming
from tests.memory.memory_support import opted_in

pytestmark = pytest.mark.django_db

HARBOUR = GuildInfo(1_300_000_000_000_000_001, "Harbour")
POLICIES = {
    "as_of": "0",
    "enabled": "on",
    "remember": "on",
    "reply": "on",
    "mention": "",
    "recall": "readers",
    "recall_policy": "audience",
}
DAYS = {"keep_after_leaving_days": "30", "max_age_days": ""}


@pytest.fixture
def harbour():
    """A server with five messages, a day apart, the latest an hour old."""
    ada = opted_in("ada")
    now = timezone.now()
    for days in range(5):
        capture.record_message(
            incoming(f"{days} days ago", author=ada, sent_at=now - timedelta(days=days, hours=1))
        )
    return Guild.objects.get()


def path(guild):
    return f"/servers/{guild.discord_id}/"


def test_none_yet(staff):
    assert b"No server yet" in staff.get("/servers/").content


def test_the_list(staff, harbour):
    GuildFactory(
        name="Rocks", left_at=timezone.now() - timedelta(days=3), message_count=7, keep_after_leaving_days=10
    )
    GuildFactory(name="Whispers", kind="dm")
    body = " ".join(staff.get("/servers/").content.decode().split())
    assert "Harbour" in body and "remembers" in body and "no limit" in body
    assert "What everybody in the channel may read".lower() in body.lower()
    left = body[body.index("Servers that the bot has left") :]
    due = timezone.localtime(timezone.now() + timedelta(days=7))
    assert "Rocks" in left and f"{due.day} {due:%B %Y}" in left
    assert "Whispers" not in body and "1 private conversation," in body


def keep(guild):
    return f"{path(guild)}retention/"


def test_policies_are_saved(staff, harbour):
    changed = {
        "remember": "off",
        "reply": "off",
        "mention": "no",
        "recall": "channel",
        "recall_policy": "member",
    }
    response = staff.post(path(harbour), POLICIES | changed, follow=True)
    assert b"are saved" in response.content
    harbour.refresh_from_db()
    assert (harbour.enabled, harbour.capture_enabled, harbour.reply_enabled) == (True, False, False)
    assert (harbour.mention_needed, harbour.recalls, harbour.recall_policy) == (False, "channel", "member")
    assert capture.record_message(incoming("no more", author=opted_in("bob"))) is None


def test_how_long_is_saved(staff, harbour):
    response = staff.post(keep(harbour), {"keep_after_leaving_days": "7", "max_age_days": "365"}, follow=True)
    assert b"is saved" in response.content
    harbour.refresh_from_db()
    assert (harbour.keep_after_leaving_days, harbour.max_age_days) == (7, 365)


def test_a_server_that_is_switched_off(staff, harbour):
    values = {name: value for name, value in POLICIES.items() if name != "enabled"}
    body = staff.post(path(harbour), values, follow=True).content.decode()
    harbour.refresh_from_db()
    assert not harbour.enabled and harbour.capture_enabled
    assert "Nothing new is stored from Harbour" in body and "Erase 5 memories" in body
    assert "the server is switched off" in body
    assert "switched off" in staff.get("/servers/").content.decode()


@pytest.mark.parametrize(
    "changed", [{"recall_policy": "everything"}, {"recall": ""}, {"remember": "perhaps"}, {"as_of": ""}]
)
def test_policies_that_cannot_be(staff, harbour, changed):
    response = staff.post(path(harbour), POLICIES | changed)
    assert response.status_code == 422
    before = (harbour.recall_policy, harbour.recalls, harbour.policy_count)
    harbour.refresh_from_db()
    assert (harbour.recall_policy, harbour.recalls, harbour.policy_count) == before


@pytest.mark.parametrize(
    "changed", [{"keep_after_leaving_days": "-1"}, {"max_age_days": "0"}, {"max_age_days": "x"}]
)
def test_days_that_cannot_be(staff, harbour, changed):
    response = staff.post(keep(harbour), DAYS | changed)
    assert response.status_code == 422 and b'class="error"' in response.content
    harbour.refresh_from_db()
    assert harbour.max_age_days is None


def test_a_shorter_time_is_asked_about_with_the_exact_number(staff, harbour):
    asked = staff.post(keep(harbour), DAYS | {"max_age_days": "2"})
    assert asked.status_code == 200 and b"Purge 3 memories of Harbour?" in asked.content
    harbour.refresh_from_db()
    assert harbour.max_age_days is None
    wrong = staff.post(keep(harbour), DAYS | {"max_age_days": "2", "typed": "4"})
    assert wrong.status_code == 422
    assert staff.post(keep(harbour), DAYS | {"max_age_days": "2", "typed": "3"}).status_code == 302
    retention.purge()
    assert Message.objects.count() == 2


def test_a_longer_time_is_not_asked_about(staff, harbour):
    Guild.objects.update(max_age_days=2)
    assert staff.post(keep(harbour), DAYS | {"max_age_days": "10"}).status_code == 302


def test_what_left_members_and_left_servers_would_lose_is_counted(harbour):
    counted = {"keep_after_leaving_days": 3, "max_age_days": None}
    GuildMember.objects.update(left_at=timezone.now() - timedelta(days=5))
    assert retention.would_purge(harbour.discord_id, **counted) == 5
    GuildMember.objects.update(left_at=None)
    assert retention.would_purge(harbour.discord_id, **counted) == 0
    Guild.objects.update(left_at=timezone.now() - timedelta(days=5))
    assert retention.would_purge(harbour.discord_id, **counted) == 5
    assert retention.would_purge(1, **counted) == 0


def test_several_channels_at_once(staff, harbour):
    general = Channel.objects.get()
    pilots = ChannelFactory(guild=harbour, name="pilots")
    ChannelFactory(guild=harbour, name="tides", parent=pilots, kind="public_thread", message_count=4)
    gone = ChannelFactory(guild=harbour, name="gone", deleted_at=timezone.now())
    other = ChannelFactory(name="elsewhere")
    body = " ".join(staff.get(path(harbour)).content.decode().split())
    assert "1 thread with 4 memories" in body and "deleted" in body and "elsewhere" not in body
    assert "from the server" in body
    chosen = {"as_of": "0", "key": [pilots.discord_id, other.discord_id, gone.discord_id, "x"]}
    body = staff.post(
        f"{path(harbour)}channels/",
        chosen | {"remember": "off", "reply": "leave", "mention": "no", "recall": "leave"},
        follow=True,
    ).content.decode()
    assert "1 channel was changed" in body and "set here" in body
    for row in (general, pilots, other, gone):
        row.refresh_from_db()
    assert (pilots.capture_enabled, pilots.reply_enabled, pilots.mention_needed) == (False, None, False)
    for row in (general, other, gone):
        assert row.capture_enabled is None and row.mention_needed is None
    assert "Erase 4 memories" in body and "tides" in body
    said = incoming(
        "in a thread", author=opted_in("bob"), channel=ChannelInfo(99, parent=ChannelInfo(pilots.discord_id))
    )
    assert capture.record_message(said) is None


def test_what_is_not_chosen_is_left_as_it_is(staff, harbour):
    """The bar offers to change nothing until something is chosen, and says so where nothing was."""
    general = Channel.objects.get()
    Channel.objects.update(capture_enabled=False, recalls="nothing")
    body = staff.get(path(harbour)).content.decode()
    assert body.count('<option value="leave" selected>') == 4
    sent = {"as_of": "0", "key": [general.discord_id], "recall": "leave"} | LEAVE
    assert b"what to change of them" in staff.post(f"{path(harbour)}channels/", sent, follow=True).content
    general.refresh_from_db()
    assert (general.capture_enabled, general.recalls) == (False, "nothing")


def test_all_channels_of_the_server(staff, harbour):
    rows = [Channel.objects.get(), *ChannelFactory.create_batch(3, guild=harbour)]
    staff.post(f"{path(harbour)}channels/", {"as_of": "0", "which": "all", "recall": "nothing"} | LEAVE)
    assert {Channel.objects.get(pk=row.pk).recalls for row in rows} == {"nothing"}
    staff.post(f"{path(harbour)}channels/", {"as_of": "1", "which": "all", "recall": ""} | LEAVE)
    assert {Channel.objects.get(pk=row.pk).recalls for row in rows} == {""}


LEAVE = {"remember": "leave", "reply": "leave", "mention": "leave"}


def test_two_admins_do_not_overwrite_one_another(staff, harbour):
    general = Channel.objects.get()
    pilots = ChannelFactory(guild=harbour, name="pilots")
    here = f"{path(harbour)}channels/{general.discord_id}/"
    mine = {"as_of": "0", "remember": "", "mention": "", "recall": ""}
    assert staff.post(here, mine | {"reply": "off"}).status_code == 302
    late = staff.post(here, mine | {"reply": "on"})
    assert late.status_code == 409 and b"Somebody changed #general since" in late.content
    general.refresh_from_db()
    assert general.reply_enabled is False
    # The page that says so is made anew, so that it can be saved.
    assert b'name="as_of" value="1"' in late.content
    both = {"as_of": "0", "key": [general.discord_id, pilots.discord_id], "remember": "off"}
    bulk = staff.post(f"{path(harbour)}channels/", LEAVE | both | {"recall": "leave"})
    assert bulk.status_code == 409 and b"Nothing was saved" in bulk.content
    pilots.refresh_from_db()
    assert pilots.capture_enabled is None
    # What nobody else touched is no conflict.
    alone = both | {"key": [pilots.discord_id], "recall": "leave"}
    assert staff.post(f"{path(harbour)}channels/", LEAVE | alone).status_code == 302
    assert staff.post(path(harbour), POLICIES | {"reply": "off"}).status_code == 302
    assert staff.post(path(harbour), POLICIES | {"reply": "on", "recall": "nothing"}).status_code == 409


def test_one_channel(staff, harbour):
    general = Channel.objects.get()
    here = f"{path(harbour)}channels/{general.discord_id}/"
    body = " ".join(staff.get(here).content.decode().split())
    assert "Inherits: on" in body and "Inherits: everything its readers can read" in body
    assert "from the configuration" in body and "Give the channel a persona" in body
    values = {"as_of": "0", "remember": "off", "reply": "", "mention": "yes", "recall": "channel"}
    body = staff.post(here, values, follow=True).content.decode()
    assert "Nothing new is stored from there" in body and "Erase 5 memories" in body
    general.refresh_from_db()
    assert (general.capture_enabled, general.reply_enabled, general.recalls) == (False, None, "channel")
    erase = {"filters": f"guild={harbour.discord_id}&channel={general.discord_id}", "scope": "matching"}
    asked = staff.post("/memories/erase/", erase).content.decode()
    assert "Erase all 5 memories that match?" in asked and "#general" in asked


def test_the_persona_of_a_channel_is_a_block_with_a_history(staff, harbour):
    general = Channel.objects.get()
    address = f"/core-memory/persona/?channel={general.discord_id}"
    assert b"#general" in staff.get(address).content
    saved = staff.post(address, {"value": "You are a pilot.", "version": "0", "reason": ""}, follow=True)
    assert saved.redirect_chain[0][0] == address and b"Saved as version 1" in saved.content
    assert blocks.persona_for(harbour.discord_id, [general.discord_id]).value == "You are a pilot."
    assert blocks.persona_for(harbour.discord_id, [5]).value == ""
    assert staff.post(address, {"value": "Late", "version": "0", "reason": ""}).status_code == 409
    body = staff.get(f"{path(harbour)}channels/{general.discord_id}/").content.decode()
    assert "You are a pilot." in body and "Its own, in place of the server" in body
    assert "own persona" in staff.get(path(harbour)).content.decode()
    assert staff.get("/core-memory/persona/?channel=5").status_code == 404


def test_channels_are_searched_by_name(staff, harbour):
    ChannelFactory(guild=harbour, name="pilots")
    body = staff.get(path(harbour) + "?q=%23pil").content.decode()
    assert "pilots" in body and "general" not in body
    assert b"Nothing matches" in staff.get(path(harbour) + "?q=zzz").content


def test_long_lists_have_pages_and_stay_small(staff, harbour):
    ChannelFactory.create_batch(90, guild=harbour)
    first = staff.get(path(harbour)).content
    assert len(first) < 60_000 and b"page=2" in first and b"all 91 of the server" in first
    last = staff.get(path(harbour) + "?page=3").content.decode()
    assert last.count('name="key"') == 11 and "page=2" in last and "page=4" not in last
    GuildFactory.create_batch(50)
    first = staff.get("/servers/").content
    assert len(first) < 60_000 and b"page=2" in first and b"Name or id" in first
    assert staff.get("/servers/?page=2").content.count(b'class="main"') == 11
    assert staff.get("/servers/?q=harb").content.count(b'class="main"') == 1
    assert b"No server fits" in staff.get("/servers/?q=zzz").content
    assert staff.get("/servers/?page=x").status_code == 200


def test_what_the_configuration_closes_is_shown_and_not_editable(staff, harbour, settings):
    general = Channel.objects.get()
    discord = settings.MUSEBOT.discord.model_copy(
        update={"channels_disallowed": frozenset({general.discord_id}), "requires_mention": False}
    )
    settings.MUSEBOT = settings.MUSEBOT.model_copy(update={"discord": discord})
    assert "from the configuration (channelsDisallowed)" in staff.get(path(harbour)).content.decode()
    here = f"{path(harbour)}channels/{general.discord_id}/"
    body = staff.get(here).content.decode()
    assert 'name="remember"' not in body and 'name="reply"' not in body and "Inherits: not needed" in body
    values = {"as_of": "0", "remember": "on", "reply": "on", "mention": "", "recall": ""}
    staff.post(here, values)
    general.refresh_from_db()
    assert general.capture_enabled is None and general.reply_enabled is None


def test_a_left_server_says_when_it_is_purged(staff, harbour):
    Guild.objects.update(left_at=timezone.now())
    body = staff.get(path(harbour)).content.decode()
    assert "The bot has left this server" in body and "are purged on" in body


def test_what_is_not_there(staff):
    assert staff.get("/servers/5/").status_code == 404
    for address in ("/servers/5/channels/", "/servers/5/retention/", "/servers/5/channels/6/"):
        assert staff.post(address).status_code == 404
