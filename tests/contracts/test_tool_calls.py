"""Tool calls with every chat model: offered, called, answered, and left out where a model cannot."""

from __future__ import annotations

import pytest

from memory.llm.base import ChatMessage, ChatRequest, ToolCall
from memory.llm.openai_compat import OpenAIChat
from memory.llm.openai_http import OpenAIServer
from memory.llm.openai_tools import CallParts
from memory.llm.scripted import ScriptedChatModel, ScriptedReply
from tests.ollama_servers import chat_of
from tests.simulators.ollama import run_sim

TOOLS = (
    {
        "type": "function",
        "function": {
            "name": "note",
            "description": "Note something.",
            "parameters": {
                "type": "object",
                "properties": {"text": {"type": "string"}},
                "required": ["text"],
            },
        },
    },
)
CALL = {"tool_calls": [{"name": "note", "arguments": {"text": "tea ☕"}}]}


@pytest.fixture(scope="module")
def server():
    with run_sim() as sim:
        yield sim


@pytest.fixture(autouse=True)
def fresh(server):
    server.reset()


def make(kind, server, model="sim-chat"):
    if kind == "ollama":
        return chat_of(server.url, model=model)
    if kind == "openai":
        return OpenAIChat(
            OpenAIServer(server.url + "/v1", "key", read_timeout=10, sleep=lambda _: None),
            model,
            context_window=4096,
        )
    return ScriptedChatModel(
        lambda request: (
            "noted"
            if request.messages[-1].role == "tool"
            else ScriptedReply(tool_calls=(ToolCall("note", {"text": "tea ☕"}),))
        ),
        tools=True,
    )


def ask(*messages, tools=TOOLS):
    return ChatRequest((ChatMessage("user", "I like tea"), *messages), tools=tools, max_tokens=200)


def run(model, request):
    chunks = list(model.stream(request))
    assert chunks[-1].done
    return "".join(chunk.text for chunk in chunks), [call for chunk in chunks for call in chunk.tool_calls]


@pytest.mark.parametrize("kind", ["ollama", "openai", "scripted"])
def test_a_call_comes_with_its_arguments_and_the_result_goes_back(kind, server):
    if kind != "scripted":
        server.on({"has_tools": True, "last_role": "user"}, CALL)
        server.on({"last_role": "tool"}, {"reply": "noted"})
    model = make(kind, server)
    assert model.takes_tools()
    text, calls = run(model, ask())
    assert text == "" and [(call.name, dict(call.arguments)) for call in calls] == [
        ("note", {"text": "tea ☕"})
    ]
    asked = ChatMessage("assistant", "", tool_calls=tuple(calls))
    result = ChatMessage("tool", '{"ok": true}', name="note", tool_call_id=calls[0].id or "1")
    text, calls = run(model, ask(asked, result))
    assert (text, calls) == ("noted", [])


@pytest.mark.parametrize("kind", ["ollama", "openai"])
def test_several_calls_and_text_beside_them(kind, server):
    server.on(
        {"has_tools": True},
        {
            "reply": "One moment. ",
            "tool_calls": [{"name": "note", "arguments": {"text": "a"}}, {"name": "other", "arguments": {}}],
        },
    )
    text, calls = run(make(kind, server), ask())
    assert text.strip() == "One moment." and [call.name for call in calls] == ["note", "other"]


def test_a_model_of_ollama_that_cannot_is_not_sent_any(server):
    model = make("ollama", server, "sim-plain")
    assert not model.takes_tools()
    text, calls = run(model, ask())
    assert text.startswith("echo: ") and calls == []
    assert make("ollama", server).takes_tools()


def test_a_server_that_refuses_tools_is_asked_without_and_not_again(server):
    server.on({"has_tools": True}, {"status": 400, "error": "sim-chat does not support tools"})
    model = make("openai", server)
    assert run(model, ask())[0].startswith("echo: ")
    assert not model.takes_tools()
    assert run(model, ask())[0].startswith("echo: ")


def test_a_refusal_for_another_reason_is_told(server):
    server.on({}, {"status": 400, "error": "invalid format"})
    from memory.errors import ModelRejected

    model = make("openai", server)
    with pytest.raises(ModelRejected):
        run(model, ask())
    assert model.takes_tools()


def test_parts_of_calls_are_put_together():
    parts = CallParts()
    parts.feed([{"index": 0, "id": "c1", "function": {"name": "note", "arguments": '{"te'}}])
    parts.feed([{"index": 1, "id": "c2", "function": {"name": "note", "arguments": "{broken"}}])
    parts.feed([{"index": 0, "function": {"arguments": 'xt": "tea"}'}}, "junk"])
    parts.feed(None)
    first, second = parts.finish()
    assert (first.id, first.arguments, first.malformed) == ("c1", {"text": "tea"}, False)
    assert (second.id, second.arguments, second.malformed) == ("c2", {}, True)
    assert CallParts().finish() == ()


def test_a_scripted_model_without_tools_calls_none():
    model = ScriptedChatModel([ScriptedReply("hi", tool_calls=(ToolCall("note"),))], tools=False)
    assert not model.takes_tools()
    assert run(model, ask(tools=()))[1] == []
