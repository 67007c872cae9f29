"""Small parts of the model layer: token counts, prefixes, thinking, the queue, image types, scripted models."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.errors import ContextTooLong, InvalidInput, ModelReplyInvalid, ModelTimeout, ModelUnavailable
from memory.llm.base import ChatMessage, ChatRequest
from memory.llm.batches import embed_in_batches, unit_vectors
from memory.llm.ollama_errors import HostBusy
from memory.llm.prefixes import prefixes_for
from memory.llm.queueing import Gate
from memory.llm.scripted import ScriptedChatModel, ScriptedEmbedder, ScriptedReply
from memory.llm.thinking import ThinkingFilter
from memory.llm.tokens import count_tokens
from memory.llm.vision import ImageDescriber
from tests.ollama_servers import ask, text_of
from tests.waiting import wait_until


class TestTokens:
    @given(st.text())
    def test_never_below_four_bytes_a_token_and_never_fails(self, text):
        assert count_tokens(text) >= len(text.encode("utf-8", "replace")) / 4

    @given(st.text(), st.text())
    def test_more_text_is_never_fewer_tokens(self, first, second):
        assert count_tokens(first + " " + second) >= max(count_tokens(first), count_tokens(second))

    @pytest.mark.parametrize(
        ("text", "least", "most"),
        [
            ("", 0, 0),
            ("Hello world", 2, 5),
            ("[2023-05-08 Ada] I moved to Rome.", 14, 26),
            ("日本語のメッセージ", 9, 12),
            ("Здравствуй, мир", 5, 10),
            ("🎉🎉", 2, 8),
        ],
    )
    def test_estimates_stay_near(self, text, least, most):
        assert least <= count_tokens(text) <= most


@pytest.mark.parametrize(
    ("model", "document", "query"),
    [
        ("nomic-embed-text:v1.5", "search_document: ", "search_query: "),
        ("nomic-embed-text-v2-moe", "search_document: ", "search_query: "),
        ("zylonai/multilingual-e5-large", "passage: ", "query: "),
        ("intfloat/multilingual-e5-large-instruct", "", "Instruct: "),
        ("bge-m3", "", ""),
        ("bge-large", "", "Represent this sentence"),
        ("mxbai-embed-large", "", "Represent this sentence"),
        ("snowflake-arctic-embed:335m", "", "Represent this sentence"),
        ("snowflake-arctic-embed2", "", "query: "),
        ("embeddinggemma:300m", "title: none | text: ", "task: search result | query: "),
        ("Qwen3-Embedding:0.6b", "", "Instruct: "),
        ("all-minilm", "", ""),
        ("text-embedding-3-small", "", ""),
        ("granite-embedding", "", ""),
    ],
)
def test_prefixes_by_model(model, document, query):
    found = prefixes_for(model)
    assert found.document == document
    assert found.query.startswith(query) and bool(found.query) == bool(query)


class TestThinking:
    @pytest.mark.parametrize(
        ("text", "shown"),
        [
            ("<think>hm</think>\n\nYes.", "Yes."),
            ("\n <think>\n</think> Yes.", "Yes."),
            ("Yes, <think> is a tag</think>.", "Yes, <think> is a tag</think>."),
            ("<thin", "<thin"),
            ("<b>bold</b>", "<b>bold</b>"),
            ("<think>cut off", ""),
            ("  spaced", "  spaced"),
            ("", ""),
        ],
    )
    @pytest.mark.parametrize("size", [1, 3, 100])
    def test_only_a_block_at_the_start_is_taken_out(self, text, shown, size):
        filtered = ThinkingFilter()
        pieces = [filtered.feed(text[i : i + size]) for i in range(0, len(text), size)]
        assert "".join(pieces) + filtered.finish() == shown


class TestBatches:
    def test_words_are_no_vectors(self):
        with pytest.raises(ModelReplyInvalid):
            unit_vectors([["x"], ["y"]], count=2, dimension=1)  # type: ignore[list-item]
        with pytest.raises(ModelReplyInvalid):
            unit_vectors([[1.0], [1.0, 2.0]], count=2, dimension=None)

    def test_a_short_text_that_is_still_too_long_is_given_up(self):
        sent = []

        def send(batch):
            sent.append([len(text) for text in batch])
            raise ContextTooLong

        with pytest.raises(ContextTooLong):
            embed_in_batches(["x" * 1000], send, dimension=3)
        assert sent == [[1000], [500], [250], [200]]


class TestGate:
    def test_first_come_first_served(self):
        gate, order = Gate(parallel=1, waiting=5), []
        gate.enter(1)

        def wait(number: int) -> None:
            gate.enter(10)
            order.append(number)
            gate.leave()

        threads = []
        for number in range(4):
            threads.append(threading.Thread(target=wait, args=(number,)))
            threads[-1].start()
            wait_until(lambda expected=number + 2: gate.load == expected)
        gate.leave()
        for thread in threads:
            thread.join(5)
        assert order == [0, 1, 2, 3] and gate.load == 0

    def test_a_full_queue_refuses_and_a_long_one_times_out(self):
        gate = Gate(parallel=1, waiting=0)
        gate.enter(1)
        with pytest.raises(HostBusy):
            gate.enter(1)
        slow = Gate(parallel=1, waiting=1)
        slow.enter(1)
        with pytest.raises(ModelTimeout):
            slow.enter(0.01)
        assert slow.load == 1
        slow.leave()
        slow.enter(0.01)


class TestScripted:
    def test_replies_in_turn_the_last_one_again_and_the_requests_are_kept(self):
        model = ScriptedChatModel(
            ["one", ModelUnavailable("away"), ScriptedReply("three", done_reason="length")]
        )
        assert text_of(model, ask("first")) == "one"
        with pytest.raises(ModelUnavailable):
            text_of(model)
        assert list(model.stream(ask()))[-1].done_reason == "length"
        assert text_of(model) == "three"
        assert [request.messages[0].content for request in model.requests] == [
            "first",
            "hello",
            "hello",
            "hello",
        ]

    def test_failures_to_order(self):
        model = ScriptedChatModel(["fine"])
        model.fail(ModelTimeout("slow"), after=2)
        got: list[str] = []
        with pytest.raises(ModelTimeout):
            got.extend(chunk.text for chunk in model.stream(ask()))
        assert len(got) == 2
        assert text_of(model) == "fine"

    def test_streams_that_were_closed_are_counted(self):
        model = ScriptedChatModel(["a long answer in pieces"])
        stream = model.stream(ask())
        next(stream)
        stream.close()
        assert model.closed == 1

    def test_an_embedder_with_given_vectors(self):
        embedder = ScriptedEmbedder({"tea": [3, 4]}, dimension=2)
        assert np.allclose(embedder.embed_query("tea"), [0.6, 0.8])
        embedder.fail(ModelUnavailable("away"))
        with pytest.raises(ModelUnavailable):
            embedder.embed_documents(["coffee"])
        assert embedder.embed_documents(["coffee"]).shape == (1, 2)
        assert embedder.queries == ["tea"] and embedder.documents == ["coffee", "coffee"]


class TestImages:
    PNG = b"\x89PNG\r\n\x1a\n123"

    def test_a_description_is_one_line(self):
        chat = ScriptedChatModel([" A cat\n on a mat. "])
        assert ImageDescriber(chat).describe(self.PNG, hint="my cat") == "A cat on a mat."
        message = chat.requests[0].messages[0]
        assert message.images == (self.PNG,) and "my cat" in message.content

    def test_other_formats_and_silence_are_errors(self):
        with pytest.raises(InvalidInput):
            ImageDescriber(ScriptedChatModel()).describe(b"GIF89a")
        with pytest.raises(ModelReplyInvalid):
            ImageDescriber(ScriptedChatModel([""])).describe(self.PNG)


def test_a_message_as_json_holds_no_image():
    message = ChatMessage("user", "look", images=(b"x", b"y"))
    assert ChatRequest((message,)).messages[0].to_json() == {"role": "user", "content": "look", "images": 2}
