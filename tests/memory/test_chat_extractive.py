"""Without a language model the bot quotes what it remembers, and says that this is all it does."""

from __future__ import annotations

from typing import Any

import pytest

from memory import chat
from memory.chat.extractive import MAX_LINES, NOTHING
from memory.models import ReplyMemory
from tests.factories import ChannelFactory, MemberFactory, MessageFactory
from tests.memory.chat_support import ask, configure, recalled, split, use_model, use_recall

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    use_model(monkeypatch, None)


def test_it_quotes_at_most_five_memories_with_date_and_author(monkeypatch: pytest.MonkeyPatch) -> None:
    channel = ChannelFactory()
    rows = [MessageFactory(channel=channel, author_name="Bo", text=f"fact {n}\n> more") for n in range(7)]
    use_recall(monkeypatch, *(recalled(row, 1 - n / 10) for n, row in enumerate(rows)))
    pieces, result = split(chat.run_turn(ask(channel=channel, asker=MemberFactory())))
    assert result.kind == "extractive" and pieces == [result.text]
    first, *quotes = result.text.split("\n")
    assert "No language model is connected" in first
    assert len(quotes) == MAX_LINES
    assert quotes[0] == f"> {rows[0].sent_at:%Y-%m-%d}, Bo: fact 0 > more"
    assert [memory.key for memory in result.recall.memories] == [row.key for row in rows[:5]]
    used = ReplyMemory.objects.order_by("rank").values_list("message_id", "injected", "why_excluded")
    assert list(used) == [(row.key, n < 5, "" if n < 5 else "top_k") for n, row in enumerate(rows)]


def test_a_long_memory_is_shortened(monkeypatch: pytest.MonkeyPatch) -> None:
    channel = ChannelFactory()
    use_recall(monkeypatch, recalled(MessageFactory(channel=channel, text="word " * 500)))
    result = chat.answer(ask(channel=channel, asker=MemberFactory()))
    assert len(result.text) < 600 and result.text.endswith("…")


def test_it_says_when_it_remembers_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    use_recall(monkeypatch)
    result = chat.answer(ask(channel=ChannelFactory(), asker=MemberFactory()))
    assert result.text == NOTHING and "I remember nothing about that." in result.text


def test_it_says_when_memory_is_off_as_well(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    configure(settings, memory={"embedding_model": None})
    result = chat.answer(ask(channel=ChannelFactory()))
    assert result.kind == "extractive" and "MUSEBOT_CHAT_MODEL" in result.text
