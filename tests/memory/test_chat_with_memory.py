"""Turns against the real parts: what was captured is recalled, and what must not be is nowhere in the prompt."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from memory import backends, capture, chat, consent
from memory.llm.scripted import ScriptedChatModel
from memory.models import Message, Reply
from memory.types import ChannelInfo, GuildInfo, IncomingMessage, Person, TurnRequest
from tests.factories import incoming, person

pytestmark = pytest.mark.django_db
GUILD = GuildInfo(1_300_000_000_000_000_001, "Harbour")
CHANNEL = ChannelInfo(1_300_000_000_000_000_002, "general")
ADA, BO, STRANGER = person("ada"), person("bo"), person("stranger")


@pytest.fixture
def model() -> Iterator[ScriptedChatModel]:
    scripted = ScriptedChatModel(["At the pier."])
    with backends.override(chat_model=scripted):
        yield scripted


@pytest.fixture(autouse=True)
def _members() -> None:
    for member in (ADA, BO):
        consent.give(person=member, origin="test")


def say(text: str, author: Person, *, days_ago: float = 0, **values: Any) -> IncomingMessage:
    message = incoming(
        text,
        author=author,
        guild=GUILD,
        channel=CHANNEL,
        sent_at=timezone.now() - timedelta(days=days_ago),
        **values,
    )
    capture.record_message(message)
    return message


def question(text: str, asker: Person, **values: Any) -> TurnRequest:
    return TurnRequest(text, asker, GUILD, CHANNEL, **values)


def test_what_was_said_weeks_ago_is_in_the_prompt_and_in_the_trace(model: ScriptedChatModel) -> None:
    say("The red boat lies at the north pier.", BO, days_ago=30)
    asked = say("Where does the red boat lie?", ADA)
    request = question(asked.text, ADA, message_id=asked.id)
    trace_id = chat.begin(request)
    *_, result = chat.run_turn(request, trace_id=trace_id)
    system = model.requests[0].messages[0].content
    assert "The red boat lies at the north pier." in system
    assert asked.text not in system and model.requests[0].messages[-1].content == f"Ada: {asked.text}"
    assert [message.content for message in model.requests[0].messages].count(f"Ada: {asked.text}") == 1
    assert trace_id is not None
    shown = [entry for entry in chat.trace(trace_id)["memories"] if entry["injected"]]
    assert [entry["text"] for entry in shown] == ["The red boat lies at the north pier."]
    assert shown[0]["line"] in system
    assert Message.objects.get(text__startswith="The red boat").times_used == 1


def test_what_is_in_the_rolling_context_takes_no_place_among_the_memories(model: ScriptedChatModel) -> None:
    said = say("The red boat lies at the north pier.", BO)
    capture.record_reply(
        replace(
            said,
            id=said.id + 1,
            author=Person(1, "muse", is_bot=True),
            text="The red boat, noted.",
            reply_to=said.id,
        ),
        owner_id=BO.id,
    )
    asked = say("Where does the red boat lie?", ADA)
    result = chat.answer(question(asked.text, ADA, message_id=asked.id))
    assert result.recall.memories == ()
    assert [message["role"] for message in result.prompt] == ["system", "user", "assistant", "user"]


def test_a_stranger_is_answered_and_leaves_nothing_behind(model: ScriptedChatModel) -> None:
    say("The red boat lies at the north pier.", BO, days_ago=30)
    asked = say("Where does the red boat lie, asks marzipan?", STRANGER)
    result = chat.answer(question(asked.text, STRANGER, message_id=asked.id))
    assert "north pier" in result.prompt[0]["content"]
    assert "marzipan" in result.prompt[-1]["content"]
    assert "no_vectors" in result.recall.degraded
    assert Reply.objects.get().asker_id is None
    later = chat.answer(question("And the anchor?", ADA))
    assert "marzipan" not in str(later.prompt)


def test_without_a_model_the_memory_is_quoted() -> None:
    say("The red boat lies at the north pier.", BO, days_ago=30)
    with backends.override(chat_model=None):
        result = chat.answer(question("Where does the red boat lie?", ADA))
    assert result.kind == "extractive"
    assert "Bo: The red boat lies at the north pier." in result.text


def test_full_records_come_in_the_original_shape(model: ScriptedChatModel, settings: Any) -> None:
    config = settings.MUSEBOT
    memory = config.memory.model_copy(update={"inject_format": "json"})
    settings.MUSEBOT = config.model_copy(update={"memory": memory})
    for n in range(4):
        say(f"The red boat number {n} lies at the north pier.", BO, days_ago=30 + n)
    result = chat.answer(question("Where does the red boat lie?", ADA))
    assert result.prompt[0]["content"].count('"displayName":"Bo"') == 4
