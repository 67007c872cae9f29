"""The overview: what needs attention with the list behind each number, and the pictures with their tables."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from memory import roles
from memory.models import (
    DailyCount,
    ErasureRequest,
    EvaluationRun,
    Fact,
    InstallationState,
    OutboxEntry,
    PersonaProposal,
    Role,
)
from musebot_site.dashboard import installation, pictures
from tests.factories import START, GuildFactory, MemberFactory

pytestmark = pytest.mark.django_db


def needs(client, address="/?check=1"):
    """(what, where) of each need, in order."""
    body = client.get(address).content.decode()
    if "attention-title" not in body:
        return []
    part = body[body.index('id="attention-title"') : body.index('class="figures')]
    return [
        (re.sub(r"<.*?>", "", what), where)
        for where, what in re.findall(r'<strong><a href="([^"]*)">(.*?)</a></strong>', part)
    ]


def request(**values):
    return ErasureRequest.objects.create(**{"subject": "x", "origin": "mail", "epoch": 0} | values)


def fact(reason, **values):
    now = timezone.now()
    text = f"{reason} {Fact.objects.count()}"
    return Fact.objects.create(
        member=values.pop("member", None) or MemberFactory(),
        namespace="ai.memory",
        text=text,
        normal=text,
        state="quarantined",
        reason=reason,
        said_at=now,
        **values,
    )


def test_the_worst_comes_first_and_each_number_leads_to_its_list(staff, monkeypatch):
    now = timezone.now()
    request(state="received", due_at=now - timedelta(days=1))
    request(state="received", due_at=now + timedelta(days=2))
    request(state="done", due_at=now - timedelta(days=5))
    fact("contradiction"), fact("health"), fact("health")
    PersonaProposal.objects.create(scope="global", member=MemberFactory(), value="Nicer", base_version=0)
    GuildFactory(snapshot_at=now - timedelta(days=3))
    OutboxEntry.objects.create(kind="embed", subject=1, due_at=now, state="failed")
    monkeypatch.setattr(installation, "disk", lambda: installation.Disk(10**9, 10**12, 5))
    found = needs(staff)
    named = dict(found)
    assert (
        named["1 erasure is overdue"] == "/erasures/?overdue=on"
        and named["1 erasure is due within a week"] == "/erasures/"
    )
    assert named["1 fact contradicts another"] == "/facts/?tab=contradictions"
    assert named["2 facts are in quarantine"] == "/facts/?tab=quarantined"
    assert named["1 change of the persona is proposed"] == "/core-memory/"
    assert named["1 server has an old snapshot of its readers"] == "/settings/health/"
    assert named["The disk is nearly full"] == "/settings/health/"
    assert named["Queue: 1 failed"] == "/jobs/"
    whats = [what for what, _ in found]
    assert whats.index("1 erasure is overdue") < whats.index("1 fact contradicts another")
    for _, where in found:
        assert staff.get(where).status_code == 200, where


def test_a_backlog_that_is_old_and_a_bot_that_is_away(staff, settings):
    entry = OutboxEntry.objects.create(kind="embed", subject=1, due_at=timezone.now())
    OutboxEntry.objects.filter(pk=entry.pk).update(created_at=timezone.now() - timedelta(hours=1))
    InstallationState.objects.create(name="worker", value={"pid": 1})
    assert [what for what, _ in needs(staff)] == ["Queue: 1 waiting"]


def test_nothing_is_said_where_nothing_is_wrong(staff):
    InstallationState.objects.create(name="worker", value={"pid": 1})
    assert needs(staff) == []


@pytest.mark.parametrize("role", [Role.MODERATOR, Role.PRIVACY, Role.VIEWER])
def test_people_are_told_what_they_can_do_something_about(role):
    here, other = GuildFactory(), GuildFactory()
    user = User.objects.create_user("somebody", password="a-long-enough-password")
    place = here.discord_id if role is Role.MODERATOR else None
    roles.grant(user_id=user.pk, role=role, guild=place, by="command")
    client = Client()
    client.force_login(user)
    request(state="received", due_at=timezone.now() - timedelta(days=1))
    OutboxEntry.objects.create(kind="embed", subject=1, due_at=timezone.now(), state="failed")
    fact("health", guild=here, audience="guild")
    fact("health", guild=other, audience="guild")
    expected = {
        Role.MODERATOR: {"1 fact is in quarantine"},
        Role.PRIVACY: {"1 erasure is overdue"},
        Role.VIEWER: set(),
    }
    assert {what for what, _ in needs(client, "/")} == expected[role]


# Pictures


def test_growth_goes_back_from_what_there_is_now():
    days = [((START + timedelta(days=n)).date(), count) for n, count in enumerate((0, 5, 0, 10))]
    chart = pictures.growth_chart(days, 100)
    assert [dot.value for dot in chart.lines[0].dots] == ["85", "90", "90", "100"]
    assert chart.summary == "100 memories, 15 more than 4 days ago." and chart.rows[0][1] == ("100",)
    assert (chart.top, chart.bottom) == ("100", "85")
    ys = [dot.y for dot in chart.lines[0].dots]
    assert ys[0] > ys[1] == ys[2] > ys[3] and max(ys) <= chart.height
    assert pictures.growth_chart([(START.date(), 0)], 5) is None


def test_quality_over_runs():
    runs = [
        ((START + timedelta(days=n)).date(), f"?run={n}", {"hit@1": share})
        for n, share in enumerate((0.5, 0.75))
    ]
    chart = pictures.quality_chart(runs, {"hit@1": "Found first"})
    assert chart.summary == "Found first 75% (+25 points)."
    assert [dot.href for dot in chart.lines[0].dots] == ["?run=0", "?run=1"]
    assert pictures.quality_chart(runs[:1], {"hit@1": "Found first"}) is None


def test_the_queue_by_kind():
    chart = pictures.queue_chart([("a", 0, 0), ("b", 1, 0), ("c", 150, 50)])
    assert [(one.name, one.waiting_width, one.failed_width) for one in chart.stacks] == [
        ("c", 75.0, 25.0),
        ("b", 1, 0),
    ]
    assert chart.summary == "151 waiting, 50 failed; most: c."
    assert pictures.queue_chart([("a", 0, 0)]) is None


def test_every_picture_has_words_and_a_table(staff):
    guild, member = GuildFactory(message_count=9), MemberFactory()
    today = timezone.now().date()
    for days in (1, 40):
        DailyCount.objects.create(guild=guild, member=member, day=today - timedelta(days=days), count=4)
    for share in (0.5, 0.8):
        EvaluationRun.objects.create(questions=3, measures={"hit@1": share, "hit@3": 1, "hit@5": 1})
    OutboxEntry.objects.create(kind="embed", subject=1, due_at=timezone.now())
    body = staff.get("/").content.decode()
    assert "4 messages; 4 in the 30 days before" in body
    assert "9 memories, 8 more than 90 days ago." in body
    assert "Found first 80% (+30 points)" in body and "1 waiting, 0 failed" in body
    assert body.count('role="img"') >= 3 and body.count("As a table") == 3
    labels = re.findall(r'<svg[^>]*role="img"[^>]*aria-label="([^"]+)"', body)
    assert len(labels) >= 3 and len(body) < 60_000
