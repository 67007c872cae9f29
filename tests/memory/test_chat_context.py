"""The rolling context of a channel: bounded, rebuilt from what is stored, and of nobody who has not opted in."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from memory import chat
from memory.chat import context
from memory.chat.context import asked_at, rolling_context
from memory.models import Channel, Message
from memory.types import Person, TurnRequest, Utterance
from tests.factories import ChannelFactory, MemberFactory, MessageFactory, snowflake
from tests.memory.chat_support import ask, configure

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _empty_ring() -> Iterator[None]:
    context._ring.clear()
    yield
    context._ring.clear()


@pytest.fixture
def channel() -> Channel:
    return ChannelFactory()


def say(channel: Channel, text: str, minutes_ago: float, **values: Any) -> Message:
    return MessageFactory(
        channel=channel, text=text, sent_at=timezone.now() - timedelta(minutes=minutes_ago), **values
    )


def reply(channel: Channel, text: str, minutes_ago: float, to: Message) -> Message:
    return say(
        channel,
        text,
        minutes_ago,
        member=to.member,
        author_id=1,
        author_name="Muse",
        is_bot=True,
        reply_to=to.discord_id,
    )


def texts(channel: Channel, **values: Any) -> list[str]:
    request = ask(channel=channel, **values)
    return [entry.text for entry in rolling_context(request, timezone.now()).utterances]


def test_it_is_rebuilt_from_stored_messages_oldest_first_with_the_bots_replies(channel: Channel) -> None:
    first = say(channel, "The boat is at the pier.", 5, author_name="Ada")
    reply(channel, "Good to know.", 4, first)
    say(channel, "And the key?", 3)
    said = rolling_context(ask(channel=channel), timezone.now())
    assert [(entry.role, entry.text) for entry in said.utterances] == [
        ("user", "The boat is at the pier."),
        ("assistant", "Good to know."),
        ("user", "And the key?"),
    ]
    assert said.utterances[0].name == "Ada"
    assert first.discord_id in said.discord_ids()


def test_other_channels_paused_messages_and_members_who_left_are_not_in_it(channel: Channel) -> None:
    say(ChannelFactory(guild=channel.guild), "elsewhere", 1)
    say(channel, "paused", 1, paused=True)
    say(channel, "withdrawn", 1, member=MemberFactory(withdrawn_at=timezone.now()))
    say(channel, "member paused", 1, member=MemberFactory(paused_at=timezone.now()))
    say(channel, "kept", 1)
    assert texts(channel) == ["kept"]


def test_the_message_being_answered_and_what_came_after_it_are_not_in_it(channel: Channel) -> None:
    before = say(channel, "before", 3)
    question = say(channel, "question", 2)
    after = say(channel, "after", 1)
    reply(channel, "answer to what came before", 1, before)
    reply(channel, "answer to what came after", 0.5, after)
    assert texts(channel, message_id=question.discord_id) == ["before", "answer to what came before"]


def test_a_long_silence_ends_the_conversation(channel: Channel) -> None:
    say(channel, "yesterday", 60 * 20)
    say(channel, "this morning", 60 * 5)
    say(channel, "now", 1)
    assert texts(channel) == ["this morning", "now"]
    Message.objects.filter(text="now").delete()
    Message.objects.filter(text="this morning").delete()
    assert texts(channel) == []


def test_it_is_bounded(channel: Channel) -> None:
    for n in range(60):
        say(channel, f"number {n}", 60 - n)
    assert texts(channel) == [f"number {n}" for n in range(20, 60)]


def test_the_parts_of_one_answer_are_one_turn(channel: Channel) -> None:
    question = say(channel, "tell me everything", 5)
    parts = [reply(channel, f"part {n}", 4 - n, question) for n in range(3)]
    said = rolling_context(ask(channel=channel), timezone.now())
    assert [entry.text for entry in said.utterances] == ["tell me everything", "part 0\npart 1\npart 2"]
    assert {part.discord_id for part in parts} <= said.discord_ids()


def test_captions_of_images_are_part_of_what_was_said(channel: Channel) -> None:
    say(channel, "look", 2, captions="a red boat")
    say(channel, "", 1)
    assert texts(channel) == ["look [image: a red boat]"]


def test_clearing_starts_afresh_and_keeps_what_is_remembered(channel: Channel) -> None:
    say(channel, "old", 5)
    chat.clear_context(channel.discord_id)
    say(channel, "new", -1)
    assert texts(channel) == ["new"]
    assert Message.objects.count() == 2


def test_a_history_of_the_callers_is_taken_as_it_is_but_bounded(channel: Channel) -> None:
    say(channel, "stored", 1)
    history = tuple(Utterance("user", "Ada", f"given {n}", n) for n in range(50)) + (
        Utterance("user", "Ada", " "),
    )
    said = rolling_context(ask(channel=channel, history=history), timezone.now())
    assert [entry.text for entry in said.utterances] == [f"given {n}" for n in range(10, 50)]
    assert said.discord_ids() == frozenset(range(10, 50))


def test_without_a_channel_there_is_none() -> None:
    assert rolling_context(ask(), timezone.now()).utterances == ()


def test_where_memory_is_off_turns_are_kept_in_the_process_only(channel: Channel, settings: Any) -> None:
    configure(settings, memory={"embedding_model": None})
    request = ask("Where is it?", channel=channel, asker=Person(5, "bo", "Bo"), message_id=7)
    context.keep_turn(request, "At the pier.", timezone.now())
    said = rolling_context(ask(channel=channel), timezone.now())
    assert [(entry.role, entry.name, entry.text) for entry in said.utterances] == [
        ("user", "Bo", "Where is it?"),
        ("assistant", "", "At the pier."),
    ]
    assert texts(ChannelFactory()) == []
    assert Message.objects.count() == 0
    later = timezone.now() + timedelta(hours=7)
    assert rolling_context(ask(channel=channel), later).utterances == ()
    chat.clear_context(channel.discord_id)
    assert texts(channel) == []


def test_the_process_keeps_a_bounded_number_of_turns_and_channels(channel: Channel, settings: Any) -> None:
    configure(settings, memory={"embedding_model": None})
    now = timezone.now()
    for n in range(60):
        context.keep_turn(ask(f"question {n}", channel=channel), f"answer {n}", now)
    assert len(texts(channel)) == context.MAX_UTTERANCES
    assert texts(channel)[-1] == "answer 59"
    for n in range(context.RING_CHANNELS):
        context._ring.add(n)
    assert texts(channel) == []


def test_operators_questions_are_not_part_of_a_channels_conversation(channel: Channel, settings: Any) -> None:
    configure(settings, memory={"embedding_model": None})
    context.keep_turn(ask(channel=channel, operator=True), "answer", timezone.now())
    assert texts(channel) == []


def test_where_memory_is_on_the_process_keeps_nothing(channel: Channel) -> None:
    context.keep_turn(ask(channel=channel), "answer", timezone.now())
    assert context._ring.read(channel.discord_id, None) == []


def test_the_time_of_a_question_is_that_of_its_id() -> None:
    request = TurnRequest("?", Person(1, "a"), message_id=snowflake())
    assert asked_at(request).year == 2025
    assert abs(asked_at(TurnRequest("?", Person(1, "a"), message_id=12)) - timezone.now()) < timedelta(
        minutes=1
    )
