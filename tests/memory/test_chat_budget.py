"""The prompt fits the model's window: what has to give way does so in a fixed order, and is counted."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.chat.budget import CUT, MESSAGE_OVERHEAD, Budget
from memory.chat.context import Context
from memory.chat.prompt import choose_context, compose, draft, memory_room
from memory.llm.scripted import ScriptedChatModel
from memory.types import Person, Recall, RecalledMemory, TurnRequest, Utterance
from tests.memory.chat_support import configure

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def budget(tokens: int) -> Budget:
    return Budget(lambda text: len(text.split()), tokens, 100)


def memories(count: int, words: int = 10) -> Recall:
    return Recall(
        tuple(
            RecalledMemory(n, n, 1, "c", 1, "Ada", "", NOW, 1.0, line=f"m{n} " + "word " * (words - 1))
            for n in range(count)
        )
    )


def said(count: int, words: int = 10) -> Context:
    entries = tuple(Utterance("user", "Ada", f"h{n} " + "word " * (words - 2), n) for n in range(count))
    return Context(entries, tuple(frozenset({n}) for n in range(count)))


def request(question: str = "where is it") -> TurnRequest:
    return TurnRequest(question, Person(1, "ada", "Ada"))


def total(prompt: Any) -> int:
    return sum(len(message.content.split()) + MESSAGE_OVERHEAD for message in prompt.messages)


def test_everything_that_fits_is_in_the_prompt_in_order() -> None:
    prompt = compose(draft(request(), NOW), said(3), memories(2), budget(2000))
    assert [message.role for message in prompt.messages] == ["system", "user", "user", "user", "user"]
    assert "m0" in prompt.messages[0].content and "m1" in prompt.messages[0].content
    assert prompt.messages[1].content.startswith("Ada: h0")
    assert prompt.messages[-1].content == "Ada: where is it"
    assert prompt.cut == {"memories": 0, "history": 0}


def test_the_oldest_context_gives_way_before_any_memory() -> None:
    everything = total(compose(draft(request(), NOW), said(10), memories(3), budget(5000)))
    prompt = compose(draft(request(), NOW), said(10), memories(3), budget(everything - 40))
    assert prompt.cut["memories"] == 0
    assert prompt.cut["history"] == 3
    assert "h3" in prompt.messages[1].content and "h9" in prompt.messages[-2].content
    assert total(prompt) <= everything - 40


def test_memories_give_way_before_the_system_prompt_and_count_as_left_out() -> None:
    alone = total(compose(draft(request(), NOW), Context(), Recall(), budget(5000)))
    prompt = compose(draft(request(), NOW), said(5), memories(8), budget(alone + 100))
    assert prompt.messages[0].content.startswith("You are a helpful assistant.")
    assert 0 < len(prompt.recall.memories) < 8
    assert prompt.cut["memories"] == len(prompt.recall.left_out) > 0
    assert {memory.why_excluded for memory in prompt.recall.left_out} == {"budget"}
    assert not any(memory.injected for memory in prompt.recall.left_out)
    assert total(prompt) <= alone + 100


def test_one_long_memory_does_not_keep_shorter_ones_out() -> None:
    alone = total(compose(draft(request(), NOW), Context(), Recall(), budget(5000)))
    long, short = memories(1, words=500).memories[0], memories(2).memories[1]
    prompt = compose(draft(request(), NOW), Context(), Recall((long, short)), budget(alone + 120))
    assert [memory.key for memory in prompt.recall.memories] == [short.key]


def test_a_question_is_cut_in_the_middle_only_if_it_is_too_long_by_itself() -> None:
    question = "first " + "word " * 900 + "last"
    prompt = compose(draft(request(question), NOW), said(3), memories(3), budget(400))
    sent = prompt.messages[-1].content
    assert sent.startswith("Ada: first") and sent.endswith("last") and CUT in sent
    assert prompt.cut["question"] == 1
    assert prompt.messages[0].content.startswith("You are a helpful assistant.")
    assert total(prompt) <= 400
    whole = compose(draft(request(question), NOW), said(3), memories(3), budget(1200))
    assert CUT not in whole.messages[-1].content and "question" not in whole.cut


def test_room_for_memories_is_kept_when_the_context_is_chosen() -> None:
    parts = draft(request(), NOW)
    alone = total(compose(parts, Context(), Recall(), budget(5000)))
    with_memory = choose_context(parts, said(40), budget(alone + 600), room=400)
    without = choose_context(parts, said(40), budget(alone + 600), room=0)
    assert len(with_memory.utterances) < len(without.utterances)
    assert with_memory.utterances[-1].text.startswith("h39")
    assert with_memory.discord_ids() == {int(entry.text.split()[0][1:]) for entry in with_memory.utterances}


def test_one_endless_message_does_not_push_out_the_rest_of_the_context() -> None:
    context = Context((*said(1).utterances, Utterance("assistant", "", "word " * 5000)), (frozenset(),) * 2)
    prompt = compose(draft(request(), NOW), context, Recall(), budget(800))
    assert len(prompt.messages) == 4
    assert CUT in prompt.messages[2].content


@given(st.text(max_size=300), st.integers(4, 60))
@settings(max_examples=100, deadline=None)
def test_a_cut_text_fits_and_keeps_both_ends(text: str, limit: int) -> None:
    by_characters = Budget(len, 100, 10)
    short = by_characters.cut_middle(text, limit + len(CUT))
    assert len(short) <= limit + len(CUT)
    if short != text:
        assert short.startswith(text[:1]) and short.endswith(text[-1:])


@pytest.mark.parametrize("window", [1024, 2048, 8192, 131072])
def test_prompt_answer_and_margin_share_the_window(window: int) -> None:
    model = ScriptedChatModel(context_window=window)
    made = Budget.of(model, max_reply_tokens=1024)
    assert made.tokens + made.reply_tokens < window
    assert made.reply_tokens == min(1024, window // 2)


def test_full_records_may_take_half_of_what_is_left(settings: Any) -> None:
    parts = draft(request(), NOW)
    assert memory_room(parts, budget(2000)) == settings.MUSEBOT.memory.token_budget
    configure(settings, memory={"inject_format": "json"})
    alone = total(compose(parts, Context(), Recall(), budget(5000)))
    assert memory_room(parts, budget(alone + 4000)) == 2000
    assert memory_room(parts, budget(alone)) == 0
