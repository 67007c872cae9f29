"""What holds for every embedder: built in, served by Ollama or by an OpenAI-compatible server, and the double for tests."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from memory.errors import ModelMissing, ModelReplyInvalid, ModelUnavailable
from memory.llm.hashing import HashEmbedder
from memory.llm.local import LocalEmbedder
from memory.llm.openai_compat import OpenAIEmbedder
from memory.llm.openai_http import OpenAIServer
from memory.llm.scripted import ScriptedEmbedder
from tests.ollama_servers import dead_url, embedder_of
from tests.simulators.ollama import run_sim

KINDS = ["hash", "local", "ollama", "openai", "scripted"]
SERVED = ["ollama", "openai"]


@pytest.fixture(scope="module")
def server():
    with run_sim() as sim:
        yield sim


def make(kind: str, url: str, model: str = "sim-embed"):
    if kind == "hash":
        return HashEmbedder()
    if kind == "local":
        return LocalEmbedder()
    if kind == "scripted":
        return ScriptedEmbedder()
    if kind == "ollama":
        return embedder_of(url, model=model)
    return OpenAIEmbedder(OpenAIServer(url + "/v1", read_timeout=10.0, sleep=lambda _: None), model)


class TestEveryEmbedder:
    @pytest.fixture(params=KINDS)
    def embedder(self, request, server):
        server.reset()
        return make(request.param, server.url)

    def test_identity_is_stable_and_complete(self, embedder):
        identity = embedder.identity()
        assert identity == embedder.identity()
        assert identity.provider and identity.digest and identity.dimension > 0

    def test_documents_are_rows_of_unit_length(self, embedder):
        vectors = embedder.embed_documents(["the cat sleeps", "taxes are due in May"])
        assert vectors.shape == (2, embedder.identity().dimension)
        assert vectors.dtype == np.float32
        assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)

    def test_a_query_is_one_vector_of_unit_length(self, embedder):
        vector = embedder.embed_query("where is the cat?")
        assert vector.shape == (embedder.identity().dimension,)
        assert vector.dtype == np.float32
        assert abs(np.linalg.norm(vector) - 1) < 1e-5

    def test_order_is_kept_over_several_batches(self, embedder):
        texts = [f"message number {n} of {n * 7919}" for n in range(70)]
        together = embedder.embed_documents(texts)
        for n in (0, 31, 32, 69):
            assert np.allclose(together[n], embedder.embed_documents([texts[n]])[0], atol=1e-4)

    def test_no_texts_give_no_rows(self, embedder):
        assert embedder.embed_documents([]).shape == (0, embedder.identity().dimension)

    @pytest.mark.parametrize(
        "text",
        [
            "",
            " ",
            "\n",
            "!?",
            "\0",
            "日本語のメッセージ",
            "Привет",
            "👩‍👩‍👧 🎉",
            "e\u0301",
            "broken \ud83d half",
            "word " * 30_000,
        ],
        ids=[
            "empty",
            "space",
            "newline",
            "signs",
            "nul",
            "kana",
            "cyrillic",
            "emoji",
            "combining",
            "surrogate",
            "long",
        ],
    )
    def test_any_text_has_a_vector(self, embedder, text):
        vectors = embedder.embed_documents(["before", text, "after"])
        assert np.isfinite(vectors).all()
        assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
        assert np.allclose(vectors[2], embedder.embed_documents(["after"])[0], atol=1e-4)

    def test_the_same_text_has_the_same_vector(self, embedder):
        first, second, other = embedder.embed_documents(["Ada likes tea", "Ada likes tea", "trains to Rome"])
        assert np.allclose(first, second, atol=1e-6)
        assert float(first @ other) < float(first @ second) - 0.05

    def test_threads_get_what_they_asked_for(self, embedder):
        texts = [f"thread {n}" for n in range(12)]
        expected = embedder.embed_documents(texts)
        with ThreadPoolExecutor(6) as threads:
            found = list(threads.map(embedder.embed_query, texts))
            again = list(threads.map(lambda text: embedder.embed_documents([text])[0], texts))
        assert len(found) == 12
        assert np.allclose(np.stack(again), expected, atol=1e-4)

    def test_check_tells_that_it_works(self, embedder):
        report = embedder.check()
        assert report["ok"] is True and report["model"] and isinstance(report["hosts"], list)


@pytest.mark.parametrize("kind", SERVED)
class TestServedEmbedders:
    @pytest.fixture(autouse=True)
    def fresh(self, server):
        server.reset()

    def test_a_server_that_is_away(self, kind):
        embedder = make(kind, dead_url())
        with pytest.raises(ModelUnavailable):
            embedder.identity()
        with pytest.raises(ModelUnavailable):
            embedder.embed_query("x")
        assert embedder.check()["ok"] is False and embedder.check()["message"]

    def test_a_model_that_is_missing(self, kind, server):
        with pytest.raises(ModelMissing):
            make(kind, server.url, "nothing-such").embed_documents(["x"])

    @pytest.mark.parametrize(
        "wrong",
        [{"count_delta": -1}, {"count_delta": 1}, {"dims": 7}, {"zero": True}, {"values": [[], []]}],
        ids=["one short", "one more", "dimension", "zeros", "nothing"],
    )
    def test_wrong_answers_are_refused(self, kind, server, wrong):
        embedder = make(kind, server.url)
        embedder.identity()
        server.on({"endpoint": "embed"}, {"embeddings": wrong})
        with pytest.raises(ModelReplyInvalid):
            embedder.embed_documents(["a", "b"])
        server.rules.clear()
        assert embedder.embed_documents(["a", "b"]).shape[0] == 2

    def test_what_is_not_a_number_is_refused(self, kind, server):
        embedder = make(kind, server.url)
        rows = [[float("nan")] * embedder.identity().dimension, [1.0] * embedder.identity().dimension]
        server.on({"endpoint": "embed"}, {"embeddings": {"values": rows}})
        with pytest.raises(ModelReplyInvalid):
            embedder.embed_documents(["a", "b"])

    @pytest.mark.parametrize("raw", ["<!DOCTYPE html><h1>502</h1>", "[]", '{"model":"x"', "", '{"ok":true}'])
    def test_garbage_with_status_200(self, kind, server, raw):
        embedder = make(kind, server.url)
        embedder.identity()
        server.on({"endpoint": "embed"}, {"raw_status": 200, "raw_body": raw})
        with pytest.raises(ModelReplyInvalid):
            embedder.embed_documents(["a"])

    def test_a_text_that_is_too_long_for_the_server_is_sent_shorter(self, kind, server):
        embedder = make(kind, server.url)
        embedder.identity()
        refusal = {"status": 400, "error": "the input length exceeds the context length"}
        server.on({"endpoint": "embed", "contains": "x{1500,}"}, refusal)
        server.requests.clear()
        vectors = embedder.embed_documents(["short", "x" * 6000, "also short"])
        assert vectors.shape[0] == 3
        accepted = [
            text for call in server.requests if call["status"] == 200 for text in call["body"]["input"]
        ]
        assert [len(text) for text in accepted] == [5, 750, 10]
