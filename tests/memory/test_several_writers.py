"""Several processes write at once. SQLite lets one at a time in; on PostgreSQL rows and topics are locked for the same."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import close_old_connections, connection, transaction

from memory import capture, consent, embedding, erasure, facts, outbox, removal
from memory.backends import vector_index
from memory.capture import writing
from memory.models import Channel, Fact, Guild, GuildMember, Member, Message, OutboxEntry
from memory.models.locks import hold, locked
from tests.factories import incoming, person
from tests.memory.memory_support import opted_in, say, work

pytestmark = pytest.mark.django_db(transaction=True)

postgres_only = pytest.mark.skipif(
    connection.vendor == "sqlite", reason="SQLite has one writer; nobody waits in a circle"
)


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    """Runs them in as many threads, each with a connection of its own; returns the results in order."""
    start = threading.Barrier(len(calls))

    def run(call: Callable[[], Any]) -> Any:
        try:
            start.wait(20)
            return call()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as pool:
        return [one.result(60) for one in [pool.submit(run, call) for call in calls]]


def test_keys_and_counts_are_right_however_many_store() -> None:
    people = [opted_in(f"p{number}") for number in range(4)]
    first = incoming("first", author=people[0])
    capture.record_message(first)

    def storing(author: Any) -> list[int | None]:
        return [
            capture.record_message(
                incoming(f"word{n}", author=author, guild=first.guild, channel=first.channel)
            )
            for n in range(8)
        ]

    keys = [key for found in at_once(*[lambda one=one: storing(one) for one in people]) for key in found]
    assert None not in keys and len(set(keys)) == 32
    assert (
        Guild.objects.get().message_count
        == Channel.objects.get().message_count
        == Message.objects.count()
        == 33
    )
    assert sorted(Member.objects.values_list("message_count", flat=True)) == [8, 8, 8, 9]
    assert sorted(GuildMember.objects.values_list("message_count", flat=True)) == [8, 8, 8, 9]


def test_the_same_message_from_two_processes_is_stored_once() -> None:
    ada = opted_in("ada")
    messages = [incoming(f"said {n}", author=ada) for n in range(6)]
    for one in messages:
        results = at_once(*[lambda one=one: capture.record_message(one) for _ in range(3)])
        assert len(set(results)) == 1
    assert Message.objects.count() == 6


def test_each_piece_of_work_goes_to_one_worker() -> None:
    with transaction.atomic():
        outbox.enqueue("embed", range(1, 61))
    claimed = at_once(*[lambda: [entry.subject for entry in outbox.claim("embed", 10)] for _ in range(4)])
    taken = [subject for some in claimed for subject in some]
    assert len(taken) == len(set(taken)) and len(taken) >= 10


def test_nothing_is_written_after_a_consent_has_ended() -> None:
    """An erasure that begins while messages are being stored: whoever comes second waits, and sees what the first one did."""
    for _ in range(5):
        ada = opted_in("ada")

        def storing(ada: Any = ada) -> None:
            for n in range(5):
                capture.record_message(incoming(f"quixotarium {n}", author=ada))

        request, *_ = at_once(
            lambda ada=ada: erasure.request(user_id=ada.id, origin="member"), storing, storing
        )
        erasure.run(request.id)
        assert not Message.objects.filter(member_id=ada.id).exists()
        assert erasure.verify(ada.id) == {}


def test_vectors_never_outlive_their_message() -> None:
    ada = opted_in("ada")
    say(ada, "already here")
    work()
    for _ in range(4):
        keys = [say(ada, f"the ferry sails {n}") for n in range(6)]

        def removing(keys: list[int] = keys) -> None:
            for key in keys:
                with transaction.atomic():
                    removal.remove([key])

        at_once(removing, lambda: work("embed"), lambda: work("embed"))
        work("embed")
        space = embedding.active_space()
        assert space is not None
        stored = set(Message.objects.values_list("key", flat=True))
        assert set(vector_index(space).keys()) <= stored
    assert Guild.objects.get().message_count == Message.objects.count()


def test_the_same_fact_from_two_processes_is_kept_once() -> None:
    ada = opted_in("ada")
    at_once(*[lambda: facts.remember(ada.id, ["Keeps bees."]) for _ in range(4)])
    assert Fact.objects.filter(member_id=ada.id).count() == 1


def test_opting_in_twice_at_once_is_once() -> None:
    ada = person("ada")
    results = at_once(*[lambda: consent.give(person=ada, origin="discord")[1] for _ in range(4)])
    assert sorted(results) == [False, False, False, True]


@postgres_only
def test_two_that_wait_for_each_other_are_untangled(monkeypatch: pytest.MonkeyPatch) -> None:
    ada, bob = opted_in("ada"), opted_in("bob")
    real, met = writing._Batch.run, threading.Barrier(2)
    tried: list[int] = []

    def tangled(self: Any, items: Any) -> Any:
        tried.append(1)
        if len(tried) <= 2:
            hold("knot", items[0].owner_id)
            met.wait(20)
            hold("knot", bob.id if items[0].owner_id == ada.id else ada.id)
        return real(self, items)

    monkeypatch.setattr(writing._Batch, "run", tangled)
    keys = at_once(
        *[lambda one=one: capture.record_message(incoming("hello", author=one)) for one in (ada, bob)]
    )
    assert None not in keys and len(tried) == 3


@postgres_only
def test_rows_are_locked_inside_transactions_only() -> None:
    opted_in("ada")
    assert Member.objects.count() == len(locked(Member.objects.all()))
    with transaction.atomic():
        assert "FOR NO KEY UPDATE" in str(locked(Member.objects.all()).query)
    close_old_connections()
    assert not OutboxEntry.objects.exists()
