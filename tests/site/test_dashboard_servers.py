"""Servers: their settings, what a shorter time would purge, the switches of channels, and servers that were left."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from memory import capture, retention
from memory.models import Channel, Guild, GuildMember, Message
from memory.types import ChannelInfo, GuildInfo
from tests.factories import ChannelFactory, GuildFactory, incoming
from tests.memory.memory_support import opted_in

pytestmark = pytest.mark.django_db

HARBOUR = GuildInfo(1_300_000_000_000_000_001, "Harbour")
SETTINGS = {
    "capture_enabled": "on",
    "recall_policy": "audience",
    "keep_after_leaving_days": "30",
    "max_age_days": "",
}


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


def test_settings_are_saved(staff, harbour):
    response = staff.post(
        path(harbour),
        {"recall_policy": "member", "keep_after_leaving_days": "7", "max_age_days": "365"},
        follow=True,
    )
    assert b"are saved" in response.content
    harbour.refresh_from_db()
    assert (harbour.capture_enabled, harbour.recall_policy) == (False, "member")
    assert (harbour.keep_after_leaving_days, harbour.max_age_days) == (7, 365)
    assert capture.record_message(incoming("no more", author=opted_in("bob"))) is None


@pytest.mark.parametrize(
    "changed",
    [
        {"recall_policy": "everything"},
        {"keep_after_leaving_days": "-1"},
        {"max_age_days": "0"},
        {"max_age_days": "x"},
    ],
)
def test_settings_that_cannot_be(staff, harbour, changed):
    response = staff.post(path(harbour), SETTINGS | changed)
    assert response.status_code == 422 and b'class="error"' in response.content
    before = (harbour.recall_policy, harbour.max_age_days)
    harbour.refresh_from_db()
    assert (harbour.recall_policy, harbour.max_age_days) == before


def test_a_shorter_time_is_asked_about_with_the_exact_number(staff, harbour):
    asked = staff.post(path(harbour), SETTINGS | {"max_age_days": "2"})
    assert asked.status_code == 200 and b"Purge 3 memories of Harbour?" in asked.content
    harbour.refresh_from_db()
    assert harbour.max_age_days is None
    wrong = staff.post(path(harbour), SETTINGS | {"max_age_days": "2", "typed": "4"})
    assert wrong.status_code == 422
    assert staff.post(path(harbour), SETTINGS | {"max_age_days": "2", "typed": "3"}).status_code == 302
    retention.purge()
    assert Message.objects.count() == 2


def test_a_longer_time_is_not_asked_about(staff, harbour):
    Guild.objects.update(max_age_days=2)
    assert staff.post(path(harbour), SETTINGS | {"max_age_days": "10"}).status_code == 302


def test_what_left_members_and_left_servers_would_lose_is_counted(harbour):
    counted = {"keep_after_leaving_days": 3, "max_age_days": None}
    GuildMember.objects.update(left_at=timezone.now() - timedelta(days=5))
    assert retention.would_purge(harbour.discord_id, **counted) == 5
    GuildMember.objects.update(left_at=None)
    assert retention.would_purge(harbour.discord_id, **counted) == 0
    Guild.objects.update(left_at=timezone.now() - timedelta(days=5))
    assert retention.would_purge(harbour.discord_id, **counted) == 5
    assert retention.would_purge(1, **counted) == 0


def test_switches_of_channels(staff, harbour, settings):
    general = Channel.objects.get()
    pilots = ChannelFactory(guild=harbour, name="pilots")
    ChannelFactory(guild=harbour, name="tides", parent=pilots, kind="public_thread", message_count=4)
    ChannelFactory(guild=harbour, name="gone", deleted_at=timezone.now())
    other = ChannelFactory(name="elsewhere")
    body = " ".join(staff.get(path(harbour)).content.decode().split())
    assert "1 thread with 4 memories" in body and "deleted" in body and "elsewhere" not in body
    response = staff.post(
        f"{path(harbour)}channels/",
        {
            "channel": [general.discord_id, pilots.discord_id, other.discord_id, "x"],
            "remember": [general.discord_id],
            "reply": [pilots.discord_id],
        },
        follow=True,
    )
    assert b"2 channels were changed" in response.content
    for row in (general, pilots, other):
        row.refresh_from_db()
    assert (general.capture_enabled, general.reply_enabled) == (True, False)
    assert (pilots.capture_enabled, pilots.reply_enabled) == (False, True)
    assert other.capture_enabled and other.reply_enabled
    said = incoming(
        "in a thread", author=opted_in("bob"), channel=ChannelInfo(99, parent=ChannelInfo(pilots.discord_id))
    )
    assert capture.record_message(said) is None


def test_channels_that_the_configuration_closes_have_no_switch(staff, harbour, settings):
    discord = settings.MUSEBOT.discord.model_copy(
        update={"channels_disallowed": frozenset({Channel.objects.get().discord_id})}
    )
    settings.MUSEBOT = settings.MUSEBOT.model_copy(update={"discord": discord})
    body = staff.get(path(harbour)).content.decode()
    assert "closed by channelsDisallowed" in body and 'name="remember"' not in body


def test_a_left_server_says_when_it_is_purged(staff, harbour):
    Guild.objects.update(left_at=timezone.now())
    body = staff.get(path(harbour)).content.decode()
    assert "The bot has left this server" in body and "are purged on" in body


def test_what_is_not_there(staff):
    assert staff.get("/servers/5/").status_code == 404
    assert staff.post("/servers/5/channels/").status_code == 404
