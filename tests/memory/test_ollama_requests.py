"""What goes to an Ollama host, and what does not."""

from __future__ import annotations

import json

import pytest

from memory.errors import ContextTooLong
from memory.llm.base import ChatMessage, ChatRequest
from memory.llm.ollama_errors import flatten, from_reply
from memory.llm.ollama_hosts import Host, normal_name
from tests.ollama_servers import ask, chat_of, embedder_of, text_of


def sent(sim) -> dict:
    return sim.calls("chat")[-1]["body"]


def test_the_window_and_the_limit_are_always_sent(sims):
    sim = sims()
    chat = chat_of(sim.url, window=6000)
    text_of(chat, ask(max_tokens=77))
    assert sent(sim)["options"] == {"num_ctx": 6000, "num_predict": 77}
    text_of(chat, ask(max_tokens=10**6, temperature=0.0))
    assert sent(sim)["options"] == {"num_ctx": 6000, "num_predict": 6000, "temperature": 0.0}


def test_the_model_is_not_loaded_anew_between_requests(sims):
    sim = sims(load_delay=0.05)
    chat = chat_of(sim.url)
    loads = [list(chat.stream(ask(max_tokens=n)))[-1].figures["load_ms"] for n in (10, 200)]
    assert loads[0] > 40 > loads[1]


def test_a_model_that_thinks_is_told_not_to(sims):
    sim = sims()
    sim.on({}, {"thinking": "hm", "reply": "42"})
    assert text_of(chat_of(sim.url, model="sim-think")) == "42"
    assert sent(sim)["think"] is False
    text_of(chat_of(sim.url, model="sim-chat"))
    assert "think" not in sent(sim)


def test_capabilities_are_asked_once_a_model(sims):
    sim = sims()
    chat = chat_of(sim.url)
    for _ in range(3):
        text_of(chat)
    assert len(sim.calls("show")) == 1


def test_an_old_server_without_capabilities_works(sims):
    sim = sims()
    sim.on({"endpoint": "show"}, {"raw_status": 404, "raw_body": "404 page not found"})
    assert text_of(chat_of(sim.url, model="sim-think")) == "echo: hello"
    assert "think" not in sent(sim)


def test_images_are_sent_as_bytes_and_never_read_from_a_path(sims, tmp_path):
    sim = sims()
    secret = tmp_path / "image.png"
    secret.write_bytes(b"secret")
    request = ChatRequest((ChatMessage("user", "look", images=(str(secret).encode(),)),))
    text_of(chat_of(sim.url, model="sim-vision"), request)
    assert "c2VjcmV0" not in json.dumps(sent(sim))


def test_no_key_and_no_proxy_of_the_environment_is_used(sims, monkeypatch):
    sim = sims()
    monkeypatch.setenv("OLLAMA_API_KEY", "very-secret")
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:1")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    assert text_of(chat_of(sim.url)) == "echo: hello"
    embedder_of(sim.url).embed_query("x")
    assert all("Authorization" not in call["headers"] for call in sim.requests)


def test_a_password_in_the_address_signs_in_and_is_not_shown(sims):
    sim = sims()
    chat = chat_of(sim.url.replace("http://", "http://ada:pw%21@"))
    chunks = list(chat.stream(ask()))
    assert sim.calls("chat")[-1]["headers"]["Authorization"] == "Basic YWRhOnB3IQ=="
    assert "pw" not in chunks[-1].host and "pw" not in json.dumps(chat.check())


def test_a_prompt_that_was_cut_silently_is_reported(sims):
    sim = sims()
    messages = tuple(ChatMessage("user", f"{n} " + "abcdefgh " * 40) for n in range(20))
    last = list(chat_of(sim.url, window=1024).stream(ChatRequest(messages)))[-1]
    assert last.figures["prompt_cut"] > 0 and 0 < last.prompt_tokens <= 1024
    assert "prompt_cut" not in list(chat_of(sim.url, window=4096).stream(ChatRequest(messages)))[-1].figures


def test_a_last_message_that_is_too_long_is_refused_by_some_models(sims):
    sim = sims()
    with pytest.raises(ContextTooLong):
        text_of(chat_of(sim.url, model="sim-native", window=1024), ask("abcdefgh " * 700))


def test_figures_come_with_the_last_chunk(sims):
    last = list(chat_of(sims().url).stream(ask()))[-1]
    assert last.figures.keys() == {"first_ms", "total_ms", "load_ms", "prompt_ms", "reply_ms"}
    assert 0 < last.figures["first_ms"] <= last.figures["total_ms"]


@pytest.mark.parametrize(
    ("name", "normal"),
    [
        ("llama3", "llama3:latest"),
        ("Llama3:8B", "llama3:8b"),
        ("registry.ollama.ai/library/x", "x:latest"),
        ("hf.co/Owner/Repo", "hf.co/owner/repo:latest"),
        ("host:5000/owner/x", "host:5000/owner/x:latest"),
    ],
)
def test_names_are_made_alike(name, normal):
    assert normal_name(name) == normal


def test_errors_within_errors_are_read():
    inner = json.dumps({"error": {"code": 400, "message": "too big", "type": "exceed_context_size_error"}})
    assert flatten(json.dumps({"error": inner})) == "exceed_context_size_error 400 too big"
    assert flatten({"error": {"message": "plain"}}) == "plain"
    assert flatten("words") == "words" and flatten(None) == "" and flatten(["x"]) == "['x']"


@pytest.mark.parametrize(
    ("status", "text", "code", "retryable"),
    [
        (404, "model 'x' not found", "model_missing", False),
        (404, "<html>404 not found</html>", "model_reply_invalid", True),
        (404, "404 page not found: the model", "model_missing", False),
        (403, "", "model_unavailable", True),
        (501, "This server does not support embeddings.", "model_rejected", False),
        (500, '{"error":{"message":"image input is not supported"}}', "model_rejected", False),
        (500, "model requires more system memory (5.6 GiB) than is available", "model_unavailable", True),
        (503, "server busy", "model_unavailable", True),
        (504, "", "model_timeout", True),
        (400, "the input length exceeds the context length", "context_too_long", False),
        (-1, "unexpected EOF", "model_reply_invalid", True),
    ],
)
def test_replies_become_our_errors(status, text, code, retryable):
    error = from_reply(status, text, host="http://h", model="x", server="Ollama")
    assert (error.code, error.retryable) == (code, retryable)


def test_the_default_port_of_a_bare_host():
    from musebot_site.config import _ollama_url

    assert _ollama_url("gpu") == "http://gpu:11434"
    assert _ollama_url("gpu:80/x/") == "http://gpu:80/x"
    assert _ollama_url("gpu/x") == "http://gpu:11434/x"
    assert _ollama_url("[::1]") == "http://[::1]:11434"
    assert _ollama_url("https://gpu/") == "https://gpu"
    assert Host("http://u:p@gpu:1/x/").label == "http://gpu:1/x"
