"""Nothing of a person who has not opted in is stored, logged or left in a file."""

import logging

import pytest
from django.apps import apps

from memory import capture, consent
from memory.models import Channel, Guild, Member, Message, OutboxEntry
from tests.factories import incoming, person
from tests.memory.memory_support import erase, files_with, message, opted_in, say

pytestmark = pytest.mark.django_db


@pytest.mark.django_db(transaction=True)
def test_a_stranger_leaves_nothing_anywhere(caplog):
    stranger = person("zachariah")
    before = {model: model._base_manager.count() for model in apps.get_models()}
    with caplog.at_level(logging.DEBUG):
        key = capture.record_message(incoming("the vault opens with quixotarium", author=stranger))
    assert key is None
    assert {model: model._base_manager.count() for model in apps.get_models()} == before
    assert files_with(b"quixotarium", b"zachariah", str(stranger.id).encode()) == []
    assert "quixotarium" not in caplog.text and str(stranger.id) not in caplog.text


def test_not_even_the_place_is_stored_because_of_a_stranger():
    capture.record_message(incoming(author=person()))
    assert not Guild.objects.exists() and not Channel.objects.exists()


def test_a_member_is_stored():
    ada = opted_in("ada")
    key = say(ada, "  the harbour opens at six ")
    row = message(key)
    assert (row.text, row.author_id, row.member_id) == ("the harbour opens at six", ada.id, ada.id)
    assert row.embedding == "pending"
    entry = OutboxEntry.objects.get(kind="embed")
    assert (entry.subject, entry.user_id, entry.epoch) == (key, ada.id, 0)


def test_consent_that_ends_between_the_gates_stops_the_write(monkeypatch):
    ada = opted_in("ada")
    before = consent.find(ada.id)
    consent.withdraw(user_id=ada.id, origin="member")
    monkeypatch.setattr(consent, "find", lambda user_id: before)
    assert capture.record_message(incoming("hello", author=ada)) is None
    assert not Message.objects.exists()


def test_a_paused_member_is_not_stored():
    ada = opted_in("ada")
    Member.objects.update(paused_at="2026-03-01T00:00Z")
    assert capture.record_message(incoming("hello", author=ada)) is None


def test_nothing_is_stored_while_memory_is_off(settings):
    ada = opted_in("ada")
    memory_off = settings.MUSEBOT.memory.model_copy(update={"embedding_model": None})
    settings.MUSEBOT = settings.MUSEBOT.model_copy(update={"memory": memory_off})
    assert capture.record_message(incoming("hello", author=ada)) is None
    assert not Message.objects.exists()


def test_strangers_are_not_named_in_what_a_member_says():
    ada, bob, zoe = opted_in("ada"), opted_in("bob"), person("zoe")
    key = say(ada, f"<@{bob.id}> and <@!{zoe.id}> come", mentions_users=(bob, zoe))
    row = message(key)
    assert row.text == f"<@{bob.id}> and @somebody come"
    assert [user["username"] for user in row.content["mentions"]["users"]] == ["bob"]
    assert str(zoe.id) not in str(row.content)


def test_a_reply_belongs_to_the_member_who_asked():
    ada, bot = opted_in("ada"), person("musebot", is_bot=True)
    key = capture.record_reply(incoming("six o'clock", author=bot), owner_id=ada.id)
    row = message(key)
    assert (row.member_id, row.author_id, row.is_bot, row.source) == (ada.id, bot.id, True, "reply")


def test_a_reply_to_a_stranger_is_not_stored():
    opted_in("ada")
    bot = person("musebot", is_bot=True)
    assert capture.record_reply(incoming("six", author=bot), owner_id=person().id) is None
    assert not Message.objects.exists()


def test_an_empty_reply_is_not_stored():
    ada, bot = opted_in("ada"), person("musebot", is_bot=True)
    assert capture.record_reply(incoming("  ", author=bot), owner_id=ada.id) is None


@pytest.mark.django_db(transaction=True)
def test_opting_in_again_after_an_erasure_starts_clean():
    ada = opted_in("ada")
    say(ada, "old words")
    erase(ada)
    consent.give(person=ada, origin="discord")
    member = Member.objects.get(user_id=ada.id)
    assert (member.epoch, member.message_count, member.last_message_at) == (1, 0, None)
    key = say(ada, "new words")
    assert list(Message.objects.values_list("key", "text")) == [(key, "new words")]
