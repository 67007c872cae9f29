"""Turns with tools: rounds, their cap, what streams, what is traced, and models that are not up to it."""

from __future__ import annotations

import json

import pytest

from memory import backends, blocks, capture, chat
from memory.chat.rounds import MAX_ROUNDS
from memory.errors import ModelRejected, ModelUnavailable
from memory.llm.base import ToolCall
from memory.llm.scripted import ScriptedChatModel, ScriptedReply
from memory.models import ArchivalEntry, BlockRevision, Reply, ReplyBlock, ReplyMemory
from tests.factories import ChannelFactory, MemberFactory, incoming
from tests.memory.blocks_support import ada, caller, calls, place, turn, use_core
from tests.memory.chat_support import split, use_recall
from tests.memory.memory_support import opted_in

pytestmark = pytest.mark.django_db(transaction=True)

APPEND = ("core_memory_append", {"block": "human", "content": "likes tea"})


def answer(model, request):
    with backends.override(chat_model=model):
        return chat.answer(request)


def test_the_answer_after_a_call_streams_and_the_pieces_are_the_text():
    member = ada()
    model = ScriptedChatModel(
        [calls(APPEND, text="Let me note that."), "Noted, Ada: tea it is."], chunk_characters=5
    )
    with backends.override(chat_model=model):
        pieces, result = split(chat.run_turn(turn(member, "I like tea")))
    assert "".join(pieces) == result.text == "Let me note that.\n\nNoted, Ada: tea it is."
    assert len(pieces) > 4
    assert blocks.get(blocks.human(member.user_id, private=True)).value == "likes tea"
    second = model.requests[1].messages
    assert [message.role for message in second[-3:]] == ["user", "assistant", "tool"]
    assert second[-2].tool_calls[0].name == "core_memory_append" and second[-1].name == "core_memory_append"
    assert json.loads(second[-1].content)["version"] == 1
    assert result.prompt[-1]["role"] == "tool"


def test_a_call_written_as_text_is_carried_out_and_not_shown():
    member = ada()
    body = json.dumps({"name": APPEND[0], "arguments": APPEND[1]})
    result = answer(ScriptedChatModel([f"```json\n{body}\n```", "Noted."], tools=True), turn(member))
    assert result.text == "Noted."
    assert blocks.get(blocks.human(member.user_id, private=True)).value == "likes tea"


def test_the_rounds_are_capped_and_then_it_has_to_answer():
    def endless(request):
        if not request.tools:
            return "Enough."
        return calls(("core_memory_append", {"block": "human", "content": f"n{len(request.messages)}"}))

    model = ScriptedChatModel(endless, tools=True)
    result = answer(model, turn(ada()))
    assert result.text == "Enough."
    assert len(model.requests) == MAX_ROUNDS + 1 and not model.requests[-1].tools


def test_the_same_change_in_one_turn_happens_once():
    model = ScriptedChatModel([calls(APPEND, APPEND), calls(APPEND), "Done."])
    member = ada()
    answer(model, turn(member))
    assert blocks.get(blocks.human(member.user_id, private=True)).value == "likes tea"


def test_a_repeated_id_gives_the_first_result():
    first = ToolCall("core_memory_append", {"block": "human", "content": "one"}, "call_7")
    again = ToolCall("core_memory_append", {"block": "human", "content": "two"}, "call_7")
    model = ScriptedChatModel(
        [ScriptedReply(tool_calls=(first,)), ScriptedReply(tool_calls=(again,)), "Done."]
    )
    answer(model, turn(ada()))
    assert [row.value for row in BlockRevision.objects.all()] == ["one"]
    results = [message.content for message in model.requests[-1].messages if message.role == "tool"]
    assert results[0] == results[1]


def test_a_turn_that_is_done_again_after_a_crash_changes_nothing_twice():
    member, request = ada(), turn(ada())
    request = turn(member)
    trace_id = chat.begin(request)
    for _ in range(2):
        with backends.override(chat_model=caller(APPEND, ("archival_memory_insert", {"content": "a thing"}))):
            list(chat.run_turn(request, trace_id=trace_id))
    assert BlockRevision.objects.count() == 1 and ArchivalEntry.objects.count() == 1


def test_a_model_that_refuses_tools_answers_without():
    def picky(request):
        return ModelRejected("does not support tools") if request.tools else "Hello."

    model = ScriptedChatModel(picky, tools=True)
    assert answer(model, turn(ada())).text == "Hello."
    assert [bool(request.tools) for request in model.requests] == [True, False]


def test_a_failure_in_the_second_round_keeps_what_was_written():
    member = ada()
    model = ScriptedChatModel([calls(APPEND), ModelUnavailable("away")])
    result = answer(model, turn(member))
    assert result.kind == "error" and result.error == "model_unavailable"
    assert blocks.get(blocks.human(member.user_id, private=True)).value == "likes tea"


@pytest.mark.parametrize("name", ["flat", "letta"])
def test_the_tools_are_those_of_the_provider(settings, name):
    use_core(settings, provider=name)
    model = ScriptedChatModel(tools=True)
    answer(model, turn(ada()))
    assert {tool["function"]["name"] for tool in model.requests[0].tools} == set(blocks.provider().tools)


def test_who_gets_no_tools():
    channel = ChannelFactory()
    stranger = MemberFactory.build(user_id=99)
    asked = [
        (ScriptedChatModel(tools=False), turn(ada())),
        (ScriptedChatModel(tools=True), turn(stranger, where=channel)),
        (ScriptedChatModel(tools=True), turn(ada(), where=channel, operator=True)),
        (ScriptedChatModel(tools=True, context_window=1024), turn(ada())),
    ]
    for model, request in asked:
        answer(model, request)
        assert model.requests[0].tools == ()
        assert "version 0" not in model.requests[0].messages[0].content


def test_in_a_window_that_is_not_large_the_essential_tools_are_offered():
    model = ScriptedChatModel(tools=True, context_window=4096)
    answer(model, turn(ada()))
    assert len(model.requests[0].tools) == 3


def test_what_a_search_found_is_in_the_trace_of_the_answer(monkeypatch):
    use_recall(monkeypatch)
    author = opted_in("ben")
    key = capture.record_message(incoming("The ferry sails at noon", author=author))
    member = ada()
    message = incoming()
    from memory.types import Person, TurnRequest

    request = TurnRequest(
        "When?", Person(member.user_id, "ada"), message.guild, message.channel, message_id=message.id
    )
    result = answer(caller(("recall_memory_search", {"query": "ferry"})), request)
    assert [memory.key for memory in result.recall.memories] == [key]
    assert ReplyMemory.objects.get(reply_id=result.trace_id).injected
    from tests.memory.memory_support import erase

    erase(author)
    assert not Reply.objects.filter(id=result.trace_id).exists()


def test_blocks_that_were_in_the_prompt_are_in_the_trace():
    member, channel = ada(), ChannelFactory()
    where = place(member, private=False, channel=channel)
    blocks.append(where.working_context(), "The regatta", actor=where.actor("model"))
    result = answer(ScriptedChatModel(), turn(MemberFactory(), where=channel))
    use = ReplyBlock.objects.get(reply_id=result.trace_id)
    assert use.block.label == "working_context" and use.version == 1


def test_long_results_are_shortened_to_what_fits():
    member = ada()
    where = place(member)
    from memory.blocks import archive

    for number in range(20):
        archive.insert(where, f"entry {number} " + "word " * 300)
    model = caller(("archival_memory_search", {"query": "entry", "limit": 20}))
    model.context_window = 4096
    answer(model, turn(member))
    last = model.requests[-1].messages
    assert sum(model.count_tokens(message.content) for message in last) < 4096
    assert json.loads(last[-1].content)["shortened"] is True
