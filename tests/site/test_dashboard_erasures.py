"""The page of erasures: requests that came in, what is due, a preview with exact counts, the typed confirmation, the receipt."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from memory import capture, consent, erasure
from memory.models import AuditEntry, ErasureRequest, Member, Message
from memory.types import ChannelInfo
from tests.factories import incoming, person

pytestmark = pytest.mark.django_db(transaction=True)

PIER = ChannelInfo(1_300_000_000_000_000_003, "pier")


@pytest.fixture
def staff(client, django_user_model):
    client.force_login(django_user_model.objects.create_superuser("operator", password="a long password"))
    return client


@pytest.fixture
def ada():
    ada = person("ada")
    consent.give(person=ada, origin="discord")
    for text, channel in (("hello", None), ("on the pier", PIER)):
        capture.record_message(incoming(text, author=ada, **({"channel": channel} if channel else {})))
    return ada


def note(staff, someone, **values):
    given = {"member": someone, "origin": "mail", "received": timezone.localdate().isoformat(), **values}
    return staff.post("/erasures/new/", given)


def test_a_mail_that_came_in_goes_from_received_to_its_receipt(staff, ada):
    response = note(staff, "ada", received=(timezone.localdate() - timedelta(days=40)).isoformat())
    row = ErasureRequest.objects.get()
    assert response["Location"] == f"/erasures/{row.id}/" and (row.state, row.origin) == ("received", "mail")
    assert list(staff.get("/erasures/?overdue=on").context["opened"]) == [row]
    assert "overdue" in staff.get("/").content.decode()
    assert "Count what would go" in staff.get(f"/erasures/{row.id}/").content.decode()

    staff.post(f"/erasures/{row.id}/preview/")
    page = staff.get(f"/erasures/{row.id}/").content.decode()
    assert "Erase 2 memories" in page and consent.find(ada.id) is not None
    assert staff.post(f"/erasures/{row.id}/begin/", {"typed": "bob"}).status_code == 422
    assert Message.objects.count() == 2

    staff.post(f"/erasures/{row.id}/begin/", {"typed": "ada"})
    erasure.run(row.id)
    assert not Member.objects.exists()
    page = staff.get(f"/erasures/{row.id}/").content.decode()
    assert "nothing is left" in page and str(ada.id) not in page
    receipt = staff.get(f"/erasures/{row.id}/receipt.json")
    row.refresh_from_db()
    assert (
        json.loads(receipt.content) == erasure.receipt(row) and "attachment" in receipt["Content-Disposition"]
    )
    assert str(ada.id) not in receipt.content.decode()
    assert not staff.get("/erasures/?overdue=on").context["opened"]
    actions = list(AuditEntry.objects.order_by("number").values_list("action", flat=True))
    for action in ("erasure.received", "erasure.previewed", "erasure.begun", "erasure.receipt"):
        assert action in actions


def test_a_part_is_narrowed_by_what_was_filled_in(staff, ada):
    note(staff, str(ada.id), channel=str(PIER.id), until=timezone.localdate().isoformat())
    row = ErasureRequest.objects.get()
    assert row.partial and row.channel_id == PIER.id and row.until > timezone.now()
    staff.post(f"/erasures/{row.id}/preview/")
    assert "Erase 1 memory<" in staff.get(f"/erasures/{row.id}/").content.decode()
    staff.post(f"/erasures/{row.id}/begin/", {"typed": str(ada.id)})
    erasure.run(row.id)
    assert list(Message.objects.values_list("text", flat=True)) == ["hello"]
    assert "pier" in staff.get(f"/erasures/{row.id}/").content.decode() and consent.find(ada.id) is not None


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"member": "nobody"}, "Nobody of that name"),
        ({"received": "2999-01-01"}, "still to come"),
        ({"channel": "1"}, "no such channel"),
        ({"channel": "pier"}, "An id is a number"),
        ({"memory": "1"}, "no such memory"),
        ({"since": "2026-03-05", "until": "2026-03-01"}, "ends before it begins"),
        ({"due": "2000-01-01"}, "before the day on which it came in"),
    ],
)
def test_what_cannot_be_is_told(staff, ada, values, says):
    response = note(staff, values.pop("member", "ada"), **values)
    assert response.status_code == 422 and says in response.content.decode()
    assert not ErasureRequest.objects.exists()


def test_a_request_is_closed_without_an_erasure(staff, ada):
    note(staff, "ada")
    row = ErasureRequest.objects.get()
    staff.post(f"/erasures/{row.id}/close/")
    row.refresh_from_db()
    assert (row.state, row.user_id) == ("closed", None) and Message.objects.count() == 2
    page = staff.get(f"/erasures/{row.id}/").content.decode()
    assert "closed" in page and "receipt.json" not in page
    assert staff.get(f"/erasures/{row.id}/receipt.json").status_code == 404
    assert staff.post(f"/erasures/{row.id}/begin/", {"typed": "ada"}).status_code == 409


def test_somebody_who_has_not_opted_in_is_taken_by_id(staff):
    note(staff, "1400000000000000077")
    row = ErasureRequest.objects.get()
    assert row.user_id == 1400000000000000077
    assert "has not opted in" in staff.get(f"/erasures/{row.id}/").content.decode()


def test_progress_stops_asking_once_it_is_over(staff, ada):
    row = erasure.request(user_id=ada.id, origin="admin")
    assert "hx-trigger" in staff.get(f"/erasures/{row.id}/").content.decode()
    erasure.run(row.id)
    assert 'id="progress"' in (page := staff.get(f"/erasures/{row.id}/").content.decode())
    assert "every 1s" not in page


def test_the_api_erases_a_part(client, ada):
    from memory import access

    _, secret = access.make_key(name="robot", scopes=["erase"])

    def post(**body):
        return client.post(
            "/api/v1/erasures",
            json.dumps({"user_id": str(ada.id), **body}),
            content_type="application/json",
            headers={"Authorization": f"Bearer {secret}"},
        )

    answer = post(channel_id=str(PIER.id))
    assert answer.status_code in {201, 202} and answer.json()["part"]["channel_id"] == str(PIER.id)
    assert list(Message.objects.values_list("text", flat=True)) == ["hello"]
    assert post(**{"from": "2026-01-01"}).status_code == 422
    assert post(channel_id="1").status_code == 404
    memory = str(Message.objects.get().key)
    assert post(memory_id=memory, guild_id="5").status_code == 422
    assert post(memory_id=memory).json()["receipt"]["counts"]["memories"] == 1
    assert consent.find(ada.id) is not None


def rows_of(staff, query=""):
    """Beginnings of the ids that the list shows."""
    page = staff.get(f"/erasures/{query}").content.decode()
    return {str(row.id)[:8] for row in ErasureRequest.objects.all() if f"/erasures/{row.id}/" in page}


@pytest.fixture
def several(ada):
    """Requests by name: one that waits, one that is overdue, one that failed, one that is done, one that was closed."""
    bob = person("bob")
    consent.give(person=bob, origin="discord")
    now = timezone.now()
    late = erasure.receive(user_id=bob.id, origin="mail", due_at=now + timedelta(seconds=1))
    ErasureRequest.objects.filter(pk=late.pk).update(due_at=now - timedelta(days=1))
    waits = erasure.receive(user_id=ada.id, origin="mail")
    closed = erasure.close(erasure.receive(user_id=5 * 10**17, origin="mail").id)
    failed = ErasureRequest.objects.create(subject="f" * 32, epoch=1, origin="admin", state="failed")
    cay = person("cay")
    consent.give(person=cay, origin="discord")
    done = erasure.run(erasure.request(user_id=cay.id, origin="member").id)
    assert done.user_id is None and done.state == "done"
    rows = {"waits": waits, "late": late, "closed": closed, "failed": failed, "done": done}
    return {name: str(row.id)[:8] for name, row in rows.items()}, cay


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("", {"waits", "late", "closed", "failed", "done"}),
        ("?state=open", {"waits", "late", "failed"}),
        ("?state=received", {"waits", "late"}),
        ("?state=failed", {"failed"}),
        ("?state=done", {"done"}),
        ("?state=closed", {"closed"}),
        ("?overdue=on", {"late"}),
        ("?overdue=on&state=done", set()),
        ("?member=bob", {"late"}),
        ("?member=ADA&state=open", {"waits"}),
        ("?member=ada&overdue=on", set()),
        ("?member=500000000000000000", {"closed"}),
    ],
)
def test_the_list_is_narrowed_by_state_member_and_what_is_overdue(staff, several, query, shown):
    names, _ = several
    assert rows_of(staff, query) == {names[name] for name in shown}
    page = staff.get(f"/erasures/{query}").content.decode()
    assert ("Nothing matches" in page) == (not shown)


def test_a_receipt_is_found_by_the_id_of_who_is_not_known_any_more(staff, several):
    names, cay = several
    assert rows_of(staff, f"?member={cay.id}") == {names["done"]}
    response = staff.get("/erasures/?member=cay")
    assert "Nobody of that name has opted in" in response.content.decode() and not rows_of(
        staff, "?member=cay"
    )


def test_pages_of_a_narrowed_list_keep_their_filters(staff, monkeypatch):
    monkeypatch.setattr("musebot_site.dashboard.views.erasures.PAGE_SIZE", 2)
    for number in range(5):
        ErasureRequest.objects.create(subject="a" * 32, epoch=0, origin="mail", state="closed")
        ErasureRequest.objects.create(subject="b" * 32, epoch=number, origin="mail", state="done")
    seen, address = [], "/erasures/?state=closed"
    while address:
        found = staff.get(address).context
        seen += [row.state for row in found["found"].rows]
        cursor = found["found"].next_cursor
        if cursor:
            assert f"state=closed&amp;cursor={cursor}" in staff.get(address).content.decode()
        address = f"/erasures/?state=closed&cursor={cursor}" if cursor else ""
    assert seen == ["closed"] * 5


def test_a_part_of_the_page_is_the_whole_result(staff, several):
    names, _ = several
    part = staff.get("/erasures/?state=open", headers={"HX-Request": "true", "HX-Target": "results"})
    assert names["late"] in part.content.decode() and "<form" not in part.content.decode()


def test_what_needs_attention_leads_to_the_narrowed_list(staff, several):
    page = staff.get("/").content.decode()
    assert "/erasures/?overdue=on" in page and "/erasures/?state=failed" in page


def test_a_request_is_noted_from_the_members_page(staff, ada):
    page = staff.get(f"/members/{ada.id}/").content.decode()
    assert f'href="/erasures/new/?member={ada.id}"' in page
    assert f'value="{ada.id}"' in staff.get(f"/erasures/new/?member={ada.id}").content.decode()
