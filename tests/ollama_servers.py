"""Ollama servers for tests: simulators in threads of this process, and a host that is not there."""

from __future__ import annotations

import socket
from contextlib import ExitStack

import pytest

from memory.llm.base import ChatMessage, ChatRequest
from memory.llm.ollama import OllamaChat
from memory.llm.ollama_embed import OllamaEmbedder
from memory.llm.ollama_pool import HostPool
from tests.simulators.ollama import run_sim

__all__ = ["Clock", "ask", "chat_of", "dead_url", "embedder_of", "free_port", "sims", "text_of"]


class Clock:
    """A clock that tests move."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def sims():
    """Starts simulators: ``sims()`` gives one more."""
    with ExitStack() as stack:

        def start(**settings):
            return stack.enter_context(run_sim(**settings))

        yield start


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def dead_url() -> str:
    """An address at which nothing listens."""
    return f"http://127.0.0.1:{free_port()}"


def pool_of(*urls: str, clock: Clock | None = None) -> HostPool:
    clock = clock or Clock()
    return HostPool(urls, clock=clock, sleep=clock.sleep)


def chat_of(
    *urls: str, model: str = "sim-chat", window: int = 4096, timeout: float = 10.0, clock: Clock | None = None
):
    return OllamaChat(pool_of(*urls, clock=clock), model, context_window=window, read_timeout=timeout)


def embedder_of(
    *urls: str, model: str = "sim-embed", timeout: float = 10.0, clock: Clock | None = None, **more
):
    return OllamaEmbedder(pool_of(*urls, clock=clock), model, read_timeout=timeout, **more)


def ask(text: str = "hello", **more) -> ChatRequest:
    return ChatRequest((ChatMessage("user", text),), **more)


def text_of(chat, request: ChatRequest | None = None) -> str:
    return "".join(chunk.text for chunk in chat.stream(request or ask()))
