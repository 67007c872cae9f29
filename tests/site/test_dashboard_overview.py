"""The overview: set-up, health, figures, and the sample community."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from memory.models import DailyCount, Guild, InstallationState, Message, OutboxEntry
from tests.factories import GuildFactory, MemberFactory, MessageFactory

pytestmark = pytest.mark.django_db


def test_models_are_asked_by_a_part_of_the_page(staff):
    body = staff.get("/").content.decode()
    assert 'hx-trigger="load"' in body and "Being asked" in body
    part = staff.get("/", headers={"HX-Request": "true", "HX-Target": "status"}).content.decode()
    assert "<html" not in part and "hx-trigger" not in part and "Language model" in part
    assert "hx-trigger" not in staff.get("/").content.decode().split('id="status"')[1].split(">")[0]


def test_the_checklist_says_what_is_next(staff):
    body = staff.get("/?check=1").content.decode()
    assert "DISCORD_TOKEN" in body and "OLLAMA_HOSTS" in body and "Open the Playground" in body
    assert "3 of 9 done" in body


def test_a_worker_that_beats_is_alive_and_one_that_stopped_is_not(staff):
    InstallationState.objects.create(name="worker", value={"pid": 1})
    assert b"Worker: not running" not in staff.get("/?check=1").content
    InstallationState.objects.update(at=timezone.now() - timedelta(minutes=10))
    assert b"Worker: not running" in staff.get("/?check=1").content


def test_what_failed_stands_first(staff):
    MessageFactory(embedding=Message.Embedding.FAILED)
    OutboxEntry.objects.create(kind="embed", subject=1, state="failed", due_at=timezone.now())
    body = staff.get("/?check=1").content.decode()
    assert "1 memories could not be embedded" in body or "1 memory could not be embedded" in body
    assert "Queue: 1 failed" in body
    assert body.index("Needs attention") < body.index("Set-up") < body.index("Health")


def test_figures_link_to_their_lists(staff):
    guild = GuildFactory(message_count=1234)
    MessageFactory(channel__guild=guild)
    body = staff.get("/").content.decode()
    assert ">1,234</a>" in body and 'href="/memories/?embedding=pending">1</a>' in body


def test_activity_is_a_picture_with_words_and_a_table(staff):
    today = timezone.now().date()
    guild, member = GuildFactory(), MemberFactory()
    DailyCount.objects.create(guild=guild, member=member, day=today, count=7)
    DailyCount.objects.create(guild=guild, member=member, day=today - timedelta(days=40), count=100)
    body = staff.get("/").content.decode()
    assert "7 messages stored in 30 days" in body and "<rect" in body and "As a table" in body


@pytest.mark.django_db(transaction=True)
def test_the_sample_community_comes_and_goes(staff):
    staff.post("/sample/", {"action": "load"})
    assert Guild.objects.get().is_sample and Message.objects.count() > 100
    body = staff.get("/").content.decode()
    assert "Remove the sample community" in body
    staff.post("/sample/", {"action": "remove"})
    assert not Message.objects.exists() and not Guild.objects.exists()


def test_an_unknown_server_or_time_zone_does_no_harm(staff):
    staff.cookies["tz"] = "../../etc/passwd"
    assert staff.get("/?guild=999").status_code == 200
    assert staff.get("/?guild=abc").status_code == 200
