"""Members: the list, one of them, and forgetting them."""

from __future__ import annotations

import json

import pytest

from memory import capture, consent, erasure
from memory.models import AuditEntry, ConsentEvent, ErasureRequest, Fact, Member, Message, Scan, ScanMember
from memory.pseudonyms import subject_hash
from tests.factories import START, GuildFactory, MemberFactory, incoming, person


def talkative(count: int = 3):
    ada = person("ada")
    consent.give(person=ada, origin="discord")
    for number in range(count):
        capture.record_message(incoming(f"the ferry sails at {number}", author=ada))
    return ada


@pytest.mark.django_db
def test_the_list_finds_by_name_and_id(staff):
    mabel, teo = MemberFactory(username="mabel"), MemberFactory(username="teo", origin="import")
    body = staff.get("/members/").content.decode()
    assert "@mabel" in body and "@teo" in body
    for query in ("q=mab", f"q={mabel.user_id}", "origin=discord"):
        body = staff.get(
            f"/members/?{query}", headers={"HX-Request": "true", "HX-Target": "results"}
        ).content.decode()
        assert "@mabel" in body and "@teo" not in body and "<html" not in body, query
    assert b"Nobody matches" in staff.get("/members/?q=zzz").content
    assert teo.user_id


@pytest.mark.django_db
def test_without_members_the_list_says_how_they_come(staff):
    assert b"/memory remember" in staff.get("/members/").content
    guild = GuildFactory(name="Harbour")
    assert b"on Harbour yet" in staff.get(f"/members/?guild={guild.discord_id}").content


@pytest.mark.django_db
def test_one_member_with_what_is_held(staff):
    ada = talkative()
    body = staff.get(f"/members/{ada.id}/").content.decode()
    assert "What is held" in body and "2026-12" in body and "given" in body
    assert f"member={ada.id}" in body


@pytest.mark.django_db(transaction=True)
def test_erasing_needs_the_name_typed_and_leaves_nothing(staff):
    ada, other = talkative(), person("ben")
    consent.give(person=other, origin="discord")
    kept = capture.record_message(incoming("kept", author=other))
    page = staff.get(f"/members/{ada.id}/erase/").content.decode()
    assert "Type ada to confirm" in page and "and 3 memories" in page
    for typed in ("", "ben", "ADA"):
        assert staff.post(f"/members/{ada.id}/erase/", {"typed": typed}).status_code == 422
    assert Member.objects.filter(user_id=ada.id, withdrawn_at=None).exists()
    response = staff.post(f"/members/{ada.id}/erase/", {"typed": str(ada.id)})
    row = ErasureRequest.objects.get()
    assert response["Location"] == f"/erasures/{row.id}/"
    erasure.run(row.id)
    assert list(Message.objects.values_list("key", flat=True)) == [kept]
    receipt = staff.get(f"/erasures/{row.id}/").content.decode()
    assert "nothing is left" in receipt and "every 1s" not in receipt
    assert str(ada.id) not in receipt
    assert str(row.id)[:8] in staff.get("/erasures/").content.decode()
    assert staff.get(f"/members/{ada.id}/").status_code == 404


@pytest.mark.django_db
def test_progress_polls_while_it_runs_and_says_when_no_worker_does(staff):
    ada = talkative()
    row = erasure.request(user_id=ada.id, origin="admin")
    part = staff.get(f"/erasures/{row.id}/", headers={"HX-Request": "true", "HX-Target": "progress"})
    body = part.content.decode()
    assert 'hx-trigger="every 1s"' in body and "<html" not in body and 'aria-live="polite"' in body
    assert "0 of 3" in body and "The worker is not running" in body
    assert b"being erased" in staff.get(f"/members/{ada.id}/").content


@pytest.mark.django_db(transaction=True)
def test_an_erasure_can_be_continued_from_its_page(staff):
    ada = talkative()
    row = erasure.request(user_id=ada.id, origin="admin")
    staff.post(f"/erasures/{row.id}/continue/")
    row.refresh_from_db()
    assert row.state == ErasureRequest.State.DONE
    assert not Message.objects.exists()


@pytest.mark.django_db
def test_the_list_tells_facts_and_the_history_of_each(staff):
    ada, ben = talkative(), MemberFactory(username="ben")
    member = Member.objects.get(user_id=ada.id)
    for number, state in enumerate(("active", "active", "quarantined")):
        Fact.objects.create(
            member=member,
            namespace="ai.memory",
            text=str(number),
            normal=str(number),
            source="auto",
            state=state,
            audience=Fact.Audience.ANYWHERE,
            said_at=START,
        )
    for state in ("done", "running"):
        scan = Scan.objects.create(kind="backfill", state=state, begins_at=START, due_at=START)
        ScanMember.objects.create(scan=scan, member=member, epoch=0)
    rows = staff.get("/members/").content.decode().split("<tr>")
    of_ada, of_ben = (next(row for row in rows if f"/members/{one}/" in row) for one in (ada.id, ben.user_id))
    assert ">reading<" in of_ada and f'member={ada.id}">2</a>' in of_ada
    assert ">not read<" in of_ben and f'member={ben.user_id}">0</a>' in of_ben
    assert "History before the opt-in" in staff.get(f"/members/{ada.id}/").content.decode()


@pytest.mark.django_db
def test_an_admin_takes_out_what_is_stored_of_a_member(staff):
    ada = talkative()
    assert staff.get(f"/members/{ada.id}/export/").status_code == 405
    response = staff.post(f"/members/{ada.id}/export/")
    assert f"musebot-{ada.id}-" in response.headers["Content-Disposition"]
    data = json.loads(b"".join(response.streaming_content))
    assert len(data["memories"]) == 3
    entry = AuditEntry.objects.get(action="member.exported")
    assert entry.object_id == subject_hash(ada.id)
    assert staff.post("/members/5/export/").status_code == 404


@pytest.mark.django_db
def test_a_member_is_paused_and_goes_on(staff):
    ada = talkative(1)
    pause = f"/members/{ada.id}/pause/"
    body = staff.post(pause, {"paused": "1"}, follow=True).content.decode()
    assert "Nothing new of them is stored" in body and "Go on storing" in body
    assert capture.record_message(incoming("while paused", author=ada)) is None
    staff.post(pause, {"paused": "1"})  # a second time it changes nothing
    body = staff.post(pause, {"paused": "0"}, follow=True).content.decode()
    assert "is stored again" in body
    assert capture.record_message(incoming("afterwards", author=ada))
    events = ConsentEvent.objects.filter(subject=subject_hash(ada.id)).order_by("id")
    assert list(events.values_list("action", "origin")) == [
        ("given", "discord"),
        ("paused", "admin"),
        ("resumed", "admin"),
    ]
    assert set(AuditEntry.objects.filter(action__startswith="member.").values_list("action", flat=True)) >= {
        "member.paused",
        "member.resumed",
    }
    assert staff.post("/members/5/pause/", {"paused": "1"}).status_code == 404


@pytest.mark.django_db(transaction=True)
def test_nobody_is_paused_while_they_are_erased(staff):
    ada = talkative(1)
    erasure.request(user_id=ada.id, origin="admin")
    assert staff.post(f"/members/{ada.id}/pause/", {"paused": "1"}).status_code == 404
    assert Member.objects.get(user_id=ada.id).paused_at is None
