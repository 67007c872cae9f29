"""Answers that leaned on answers that leaned on erased words: all of the chain goes, however long or broad, and nothing beside it."""

from __future__ import annotations

import pytest
from django.db import transaction

from memory import capture
from memory.erasure.steps import erase_keys
from memory.models import Message, Reply, ReplyContext, ReplyMemory
from tests.factories import incoming, person
from tests.memory.memory_support import erase, opted_in, say

pytestmark = pytest.mark.django_db(transaction=True)


def answered(asker, leaning_on, *, stored=True):
    key = None
    if stored:
        key = capture.record_reply(
            incoming("an answer", author=person("bot", is_bot=True)), owner_id=asker.id
        )
    reply = Reply.objects.create(asker_id=asker.id, answer_id=key, state="done")
    ReplyContext.objects.bulk_create(ReplyContext(reply=reply, message_id=one) for one in leaning_on)
    return key


def erased_in(key, size):
    transactions = 0
    while Message.objects.filter(key=key).exists():
        with transaction.atomic():
            assert erase_keys([key], size)
        transactions += 1
    return transactions


@pytest.mark.parametrize("size", [2, 7, 200])
def test_a_long_chain_goes_to_its_end(size):
    ada, bob = opted_in("ada"), opted_in("bob")
    first = say(ada, "the key is under the mat")
    key = first
    for _ in range(60):
        key = answered(bob, [key])
    kept = answered(bob, [say(bob, "something else")])
    erased_in(first, size)
    assert set(Message.objects.filter(is_bot=True).values_list("key", flat=True)) == {kept}
    assert Reply.objects.count() == 1


@pytest.mark.parametrize("size", [2, 7, 200])
def test_many_that_leaned_on_one_go_with_what_leaned_on_them(size):
    ada, bob = opted_in("ada"), opted_in("bob")
    first = say(ada, "the key is under the mat")
    for number in range(15):
        key = answered(bob, [first], stored=number % 3 > 0)
        if key is not None:
            answered(bob, [key, first])
            answered(bob, [key], stored=False)
    erased_in(first, size)
    assert not Message.objects.filter(is_bot=True).exists() and not Reply.objects.exists()


def test_a_chain_that_fits_goes_in_one_transaction():
    ada, bob = opted_in("ada"), opted_in("bob")
    first = say(ada, "the key is under the mat")
    key = first
    for _ in range(20):
        key = answered(bob, [key])
    assert erased_in(first, 200) == 1


def test_what_stood_in_the_conversation_counts_as_recalled():
    ada, bob = opted_in("ada"), opted_in("bob")
    secret = say(ada, "the key is under the mat")
    answered(bob, [secret])
    considered = Reply.objects.create(asker_id=bob.id, state="done")
    ReplyMemory.objects.create(reply=considered, message_id=secret, rank=1, score=1.0, injected=False)
    erase(ada)
    assert list(Reply.objects.values_list("id", flat=True)) == [considered.id]
    assert not Message.objects.exists()
