"""What holds for every chat model: served by Ollama or by an OpenAI-compatible server, and the double for tests."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from memory.errors import (
    ContextTooLong,
    InvalidInput,
    ModelMissing,
    ModelRejected,
    ModelReplyInvalid,
    ModelTimeout,
    ModelUnavailable,
)
from memory.llm.base import ChatMessage, ChatRequest
from memory.llm.openai_compat import OpenAIChat
from memory.llm.openai_http import OpenAIServer
from memory.llm.scripted import ScriptedChatModel
from tests.ollama_servers import ask, chat_of, dead_url, text_of
from tests.simulators.ollama import run_sim
from tests.waiting import wait_until

KINDS = ["ollama", "openai", "scripted"]
SERVED = ["ollama", "openai"]


@pytest.fixture(scope="module")
def server():
    with run_sim() as sim:
        yield sim


def make(kind: str, url: str, model: str = "sim-chat", *, window: int = 4096, timeout: float = 10.0):
    if kind == "scripted":
        return ScriptedChatModel(
            lambda request: f"echo: {request.messages[-1].content}", context_window=window
        )
    if kind == "ollama":
        return chat_of(url, model=model, window=window, timeout=timeout)
    server = OpenAIServer(url + "/v1", "key", read_timeout=timeout, sleep=lambda _: None)
    return OpenAIChat(server, model, context_window=window)


class TestEveryChatModel:
    @pytest.fixture(params=KINDS)
    def chat(self, request, server):
        server.reset()
        return make(request.param, server.url)

    def test_pieces_join_to_the_answer_and_one_done_chunk_is_last(self, chat):
        chunks = list(chat.stream(ask("Guten Tag, 世界 🎉")))
        assert "".join(chunk.text for chunk in chunks) == "echo: Guten Tag, 世界 🎉"
        assert [chunk.done for chunk in chunks] == [False] * (len(chunks) - 1) + [True]
        assert len(chunks) > 2
        assert chunks[-1].done_reason == "stop" and chunks[-1].model and chunks[-1].host
        assert chunks[-1].prompt_tokens > 0 and chunks[-1].reply_tokens > 0

    def test_a_conversation_is_passed_on(self, chat):
        messages = (
            ChatMessage("system", "Be brief."),
            ChatMessage("user", "one"),
            ChatMessage("assistant", "two"),
            ChatMessage("user", "three"),
        )
        assert text_of(chat, ChatRequest(messages, max_tokens=500, temperature=0.2)) == "echo: three"

    def test_no_messages_are_refused(self, chat):
        with pytest.raises(InvalidInput):
            list(chat.stream(ChatRequest(())))

    def test_a_half_character_does_not_break_the_request(self, chat):
        assert text_of(chat, ask("half \ud83d")).startswith("echo: half ")

    def test_closing_the_stream_is_no_error_and_the_next_one_works(self, chat):
        stream = chat.stream(ask("a long enough text to be sent in pieces"))
        next(stream)
        stream.close()
        assert text_of(chat, ask("again")) == "echo: again"

    def test_threads_get_their_own_answers(self, chat):
        with ThreadPoolExecutor(6) as threads:
            answers = list(threads.map(lambda n: text_of(chat, ask(f"thread {n}")), range(12)))
        assert answers == [f"echo: thread {n}" for n in range(12)]

    def test_tokens_are_counted_on_the_high_side(self, chat):
        assert chat.count_tokens("") == 0
        assert chat.count_tokens("The quick brown fox jumps over the lazy dog.") >= 10
        assert chat.count_tokens("你好世界") >= 4

    def test_check_tells_that_it_works(self, chat):
        report = chat.check()
        assert report["ok"] is True and report["message"] == "" and isinstance(report["hosts"], list)


@pytest.mark.parametrize("kind", SERVED)
class TestServedChatModels:
    @pytest.fixture(autouse=True)
    def fresh(self, server):
        server.reset()

    def test_closing_the_stream_stops_the_model(self, kind, server):
        server.on({}, {"reply": "a" * 4000, "token_delay": 0.02})
        stream = make(kind, server.url).stream(ask())
        next(stream)
        stream.close()
        wait_until(lambda: server.active == 0)
        assert len(server.requests[-1].get("reply") or "") < 4000

    def test_an_answer_that_was_cut_says_so(self, kind, server):
        server.on({}, {"reply": "word " * 100})
        chunks = list(make(kind, server.url).stream(ask(max_tokens=5)))
        assert chunks[-1].done_reason == "length"

    def test_thinking_is_not_part_of_the_answer(self, kind, server):
        server.on(
            {},
            {
                "chunks": [
                    "<th",
                    "ink>the user ",
                    "wants 42</thi",
                    "nk>\n\n",
                    "It is ",
                    "42, <think> about it.",
                ]
            },
        )
        assert text_of(make(kind, server.url)) == "It is 42, <think> about it."

    def test_a_schema_is_passed_on(self, kind, server):
        schema = {"type": "object", "properties": {"facts": {"type": "array", "items": {"type": "string"}}}}
        assert text_of(make(kind, server.url), ask(response_schema=schema)) == '{"facts": []}'

    def test_images_are_passed_on(self, kind, server):
        image = b"\x89PNG\r\n\x1a\n" + b"0" * 30
        request = ChatRequest((ChatMessage("user", "look", images=(image,)),))
        assert text_of(make(kind, server.url, "sim-vision"), request) == "echo: look [1 image(s)]"

    def test_a_server_that_is_away(self, kind):
        chat = make(kind, dead_url())
        with pytest.raises(ModelUnavailable):
            list(chat.stream(ask()))
        assert chat.check()["ok"] is False and chat.check()["message"]

    def test_a_model_that_is_missing(self, kind, server):
        with pytest.raises(ModelMissing):
            list(make(kind, server.url, "nothing-such").stream(ask()))

    def test_a_model_that_cannot_chat(self, kind, server):
        with pytest.raises(ModelRejected):
            list(make(kind, server.url, "sim-embed").stream(ask()))

    def test_a_prompt_that_cannot_fit_is_not_sent(self, kind, server):
        with pytest.raises(ContextTooLong):
            list(make(kind, server.url, window=1024).stream(ask("many words " * 2000)))
        assert not [call for call in server.requests if "chat" in call["endpoint"]]

    @pytest.mark.parametrize(
        "text",
        [
            '{"error":{"code":400,"message":"request (1031 tokens) exceeds the available context size (256 tokens), try '
            'increasing it","type":"exceed_context_size_error","n_prompt_tokens":1031,"n_ctx":256}}',
            "the prompt is longer than the context length currently available to the model; shorten the prompt",
        ],
    )
    def test_the_server_finds_the_prompt_too_long(self, kind, server, text):
        server.on({"endpoint": "chat"}, {"status": 400, "error": text})
        with pytest.raises(ContextTooLong):
            list(make(kind, server.url).stream(ask()))

    def test_a_hanging_server_times_out(self, kind, server):
        server.on({}, {"first_delay": 30})
        with pytest.raises(ModelTimeout):
            list(make(kind, server.url, timeout=0.3).stream(ask()))

    def test_a_connection_that_breaks_off_in_the_middle(self, kind, server):
        server.on({}, {"reply": "one two three four", "drop_after": 2, "token_delay": 0.02})
        got: list[str] = []
        with pytest.raises(ModelUnavailable):
            got.extend(chunk.text for chunk in make(kind, server.url).stream(ask()))
        assert "".join(got) == "one two "

    @pytest.mark.parametrize(
        "raw", ["<html><body>502 Bad Gateway</body></html>", "[1]\n", '{"message":\n', ""]
    )
    def test_garbage_with_status_200(self, kind, server, raw):
        server.on({"endpoint": "chat"}, {"raw_status": 200, "raw_body": raw, "raw_type": "text/html"})
        with pytest.raises(ModelReplyInvalid):
            list(make(kind, server.url).stream(ask()))

    def test_a_busy_server_is_asked_again(self, kind, server):
        server.on(
            {"endpoint": "chat"},
            {"status": 503, "error": "server busy, please try again.  maximum pending requests exceeded"},
            times=2,
        )
        assert text_of(make(kind, server.url)) == "echo: hello"

    def test_a_server_that_stays_busy(self, kind, server):
        server.on({"endpoint": "chat"}, {"status": 503, "error": "server busy"})
        with pytest.raises(ModelUnavailable):
            list(make(kind, server.url).stream(ask()))

    def test_errors_do_not_repeat_what_was_said(self, kind, server):
        server.on(
            {"endpoint": "chat"},
            {"status": 500, "error": "error parsing tool call: raw='my secret is tea', err=unexpected"},
        )
        with pytest.raises(ModelUnavailable) as caught:
            list(make(kind, server.url).stream(ask()))
        assert "secret" not in caught.value.message
        assert caught.value.__suppress_context__ or caught.value.__context__ is None
