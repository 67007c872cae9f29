"""Embedding over Ollama hosts: one build of a model, prefixes, and hosts that come and go."""

from __future__ import annotations

import pytest

from memory.errors import ModelError, ModelTimeout, ModelUnavailable
from memory.llm.ollama_hosts import normal_name
from tests.ollama_servers import Clock, dead_url, embedder_of, free_port
from tests.simulators.ollama import Model, run_sim


class Build(Model):
    """A model whose build is not told by its name."""

    build = ""

    @property
    def digest(self) -> str:
        return self.build or super().digest


def rebuild(sim, digest: str, dims: int = 384) -> None:
    model = Build(
        "sim-embed", capabilities=["embedding"], family="bert", context_length=512, embedding_length=dims
    )
    model.build = digest
    sim.models[normal_name("sim-embed")] = model


def texts_of(sim) -> list[str]:
    return [text for call in sim.calls("embed") for text in call["body"]["input"]]


def test_prefixes_are_added_where_the_model_wants_them(sims):
    sim = sims()
    sim.add_model("nomic-embed-text", capabilities=["embedding"], embedding_length=16)
    embedder = embedder_of(sim.url, model="nomic-embed-text")
    embedder.identity()
    sim.requests.clear()
    embedder.embed_documents(["tea"])
    embedder.embed_query("tea")
    assert texts_of(sim) == ["search_document: tea", "search_query: tea"]


def test_texts_go_in_batches(sims):
    sim = sims()
    embedder = embedder_of(sim.url)
    embedder.identity()
    sim.requests.clear()
    embedder.embed_documents([f"text {n}" for n in range(70)])
    assert [len(call["body"]["input"]) for call in sim.calls("embed")] == [32, 32, 6]


def test_identity_names_model_build_and_dimension(sims):
    sim = sims()
    identity = embedder_of(sim.url, model="Sim-Embed:latest").identity()
    assert (identity.provider, identity.name, identity.dimension) == ("ollama", "sim-embed", 384)
    assert identity.digest == sim.models["sim-embed:latest"].digest


def test_the_next_host_is_asked_where_one_fails(sims):
    first, second = sims(), sims()
    embedder = embedder_of(first.url, second.url)
    embedder.identity()
    first.on({"endpoint": "embed"}, {"embeddings": {"count_delta": -1}})
    assert embedder.embed_documents(["a", "b"]).shape == (2, 384)
    first.on({"endpoint": "embed"}, {"drop_after": -1}, front=True)
    assert embedder.embed_documents(["a", "b"]).shape == (2, 384)


def test_builds_are_never_mixed(sims):
    first, second = sims(), sims()
    rebuild(first, "one")
    rebuild(second, "two")
    embedder = embedder_of(first.url, second.url)
    assert embedder.identity().digest == "one"
    first.on({"endpoint": "embed"}, {"status": 500, "error": "out of memory"})
    with pytest.raises(ModelUnavailable):
        embedder.embed_documents(["a"])
    assert second.calls("embed") == []
    report = embedder.check()
    assert "different builds" in report["message"]


def test_the_build_of_most_hosts_is_chosen_first(sims):
    hosts = [sims() for _ in range(3)]
    for sim, digest in zip(hosts, ("one", "two", "two"), strict=True):
        rebuild(sim, digest)
    assert embedder_of(*(sim.url for sim in hosts)).identity().digest == "two"


def test_the_build_of_the_stored_vectors_is_kept_to(sims):
    first, second = sims(), sims()
    rebuild(first, "one")
    rebuild(second, "two", dims=7)
    embedder = embedder_of(first.url, second.url, known=lambda: ("two", 7))
    assert (embedder.identity().digest, embedder.identity().dimension) == ("two", 7)
    embedder.embed_documents(["a"])
    assert first.calls("embed") == []


def test_what_another_process_moved_to_is_followed(sims):
    first, second = sims(), sims()
    rebuild(first, "one")
    rebuild(second, "two")
    stored = ["one"]
    embedder = embedder_of(first.url, second.url, known=lambda: (stored[0], 384))
    assert embedder.identity().digest == "one"
    stored[0] = "two"
    assert embedder.identity().digest == "two"


def test_the_build_is_kept_while_its_host_is_away(sims):
    other = sims()
    rebuild(other, "two")
    embedder = embedder_of(dead_url(), other.url, known=lambda: ("one", 384))
    assert embedder.identity().digest == "one"
    with pytest.raises(ModelUnavailable, match="another build"):
        embedder.embed_documents(["a"])
    assert other.calls("embed") == []


def test_a_model_that_was_pulled_anew_is_another_identity(sims):
    sim, clock = sims(), Clock()
    rebuild(sim, "one")
    embedder = embedder_of(sim.url, clock=clock)
    before = embedder.identity()
    rebuild(sim, "two", dims=9)
    clock.now += 60
    with pytest.raises(ModelUnavailable, match="build"):
        embedder.embed_documents(["a"])
    after = embedder.identity()
    assert (before.digest, after.digest, after.dimension) == ("one", "two", 9)
    assert embedder.embed_documents(["a"]).shape == (1, 9)


def test_identity_is_known_while_the_host_is_away_for_a_while():
    port, clock = free_port(), Clock()
    embedder = embedder_of(f"http://127.0.0.1:{port}", clock=clock)
    with pytest.raises(ModelUnavailable):
        embedder.identity()
    with run_sim(port=port):
        clock.now += 11
        identity = embedder.identity()
    clock.now += 60
    assert embedder.identity() == identity
    with pytest.raises(ModelUnavailable):
        embedder.embed_query("x")
    with run_sim(port=port):
        clock.now += 11
        assert embedder.embed_query("x").shape == (384,)


def test_a_question_waits_less_than_a_batch(sims):
    sim = sims()
    embedder = embedder_of(sim.url, timeout=10.0, query_timeout=0.2)
    embedder.identity()
    sim.on({"endpoint": "embed"}, {"first_delay": 0.5})
    with pytest.raises(ModelTimeout):
        embedder.embed_query("x")
    assert embedder.embed_documents(["x"]).shape == (1, 384)


def test_a_chat_model_does_not_embed(sims):
    with pytest.raises(ModelError, match="refused"):
        embedder_of(sims().url, model="sim-chat").identity()


def test_one_poisoned_text_is_refused_and_the_others_can_go_without_it(sims):
    sim = sims()
    embedder = embedder_of(sim.url)
    embedder.identity()
    sim.on({"endpoint": "embed", "any": "poison"}, {"embeddings": {"nan": True}})
    with pytest.raises(ModelError):
        embedder.embed_documents(["fine", "poison"])
    assert embedder.embed_documents(["fine"]).shape == (1, 384)
