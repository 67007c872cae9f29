"""A request to forget: received, looked at, begun or closed; overdue once its day is over."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from memory import consent, erasure, selectors
from memory.conf import get_config
from memory.erasure import Part
from memory.errors import Conflict, InvalidInput, NotFound
from memory.models import ErasureRequest, Member, Message, OutboxEntry
from tests.factories import person
from tests.memory.memory_support import opted_in, say, work

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("receipts")]


def received(someone, **values):
    return erasure.receive(user_id=someone.id, origin="mail", **values)


def test_a_request_waits_until_it_is_begun():
    ada = opted_in("ada")
    say(ada, "hello")
    row = received(ada)
    assert (row.state, row.due_at - row.received_at) == ("received", timedelta(days=30))
    assert consent.find(ada.id) is not None and not OutboxEntry.objects.filter(kind="erase").exists()
    assert erasure.run(row.id).state == "received" and Message.objects.exists()


def test_looking_counts_exactly_what_goes():
    ada = opted_in("ada")
    say(ada, "hello"), say(ada, "again")
    work()
    row = erasure.look(received(ada).id)
    assert row.state == "previewed" and row.previewed_at is not None
    assert (row.preview["memories"], row.preview["vectors"], row.preview["words"]) == (2, 2, 2)
    begun = erasure.begin(row.id)
    assert (begun.state, begun.total, begun.epoch) == ("running", 2, 1) and consent.find(ada.id) is None
    done = erasure.run(row.id)
    assert (done.state, done.counts["memories"]) == ("done", row.preview["memories"])
    receipt = erasure.receipt(done)
    assert (
        receipt["origin"] == "mail" and str(ada.id) not in str(receipt) and receipt["digest"] == done.digest
    )


def test_the_time_to_answer_is_a_setting(settings):
    settings.MUSEBOT = get_config().model_copy(update={"erasure_days": 7})
    row = received(opted_in("ada"))
    assert row.due_at - row.received_at == timedelta(days=7)


def test_what_came_in_earlier_is_due_earlier_and_overdue_ones_come_first():
    now = timezone.now()
    ada, bob, eve = opted_in("ada"), opted_in("bob"), opted_in("eve")
    late = received(ada, received_at=now - timedelta(days=40))
    later = received(bob, received_at=now - timedelta(days=10))
    done = erasure.run(erasure.request(user_id=eve.id, origin="member").id)
    assert [row.id for row in selectors.erasures()] == [late.id, later.id, done.id]
    figures = selectors.figures()
    assert (figures.erasures_waiting, figures.erasures_overdue) == (2, 1)
    assert selectors.is_overdue(late) and not selectors.is_overdue(later) and not selectors.is_overdue(done)
    erasure.run(erasure.begin(late.id).id)
    late.refresh_from_db()
    assert not selectors.is_overdue(late) and selectors.figures().erasures_overdue == 0


@pytest.mark.parametrize(
    "values",
    [
        {"received_at": timezone.now() + timedelta(days=1)},
        {"due_at": timezone.now() - timedelta(days=1)},
    ],
)
def test_impossible_days_are_refused(values):
    with pytest.raises(InvalidInput):
        received(opted_in("ada"), **values)


def test_the_same_request_twice_is_one():
    ada = opted_in("ada")
    say(ada, "hello")
    assert received(ada) == received(ada)
    assert received(ada, part=Part(until=timezone.now())) != received(ada)
    assert ErasureRequest.objects.count() == 2


def test_a_member_who_does_not_wait_begins_what_waits_for_them():
    ada = opted_in("ada")
    row = received(ada, received_at=timezone.now() - timedelta(days=3))
    done = erasure.run(erasure.request(user_id=ada.id, origin="member").id)
    assert done.id == row.id and done.state == "done" and not Member.objects.exists()


def test_a_closed_request_erases_nothing_and_forgets_who_it_was():
    ada = opted_in("ada")
    row = erasure.close(received(ada).id)
    assert (row.state, row.user_id) == ("closed", None) and consent.find(ada.id) is not None
    for refused in (erasure.begin, erasure.look, erasure.close):
        with pytest.raises(Conflict):
            refused(row.id)
    assert erasure.run(row.id).state == "closed"


def test_what_is_under_way_is_begun_once_and_cannot_be_closed():
    ada = opted_in("ada")
    row = erasure.begin(received(ada).id)
    assert erasure.begin(row.id).epoch == 1
    with pytest.raises(Conflict):
        erasure.close(row.id)
    with pytest.raises(NotFound):
        erasure.begin("00000000-0000-0000-0000-000000000000")


def test_somebody_who_never_opted_in_may_ask_by_mail():
    zoe = person("zoe")
    row = erasure.look(received(zoe).id)
    assert not any(row.preview.values())
    assert erasure.run(erasure.begin(row.id).id).state == "done"
    assert erasure.verify(zoe.id) == {}
