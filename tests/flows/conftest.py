"""Fixtures of the flows: each test has simulators and a folder of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.flows.stack import Stack, running_discord, running_ollama
from tests.simulators.discord import DiscordSim
from tests.simulators.ollama import OllamaSim


@pytest.fixture
def discord() -> Iterator[DiscordSim]:
    yield from running_discord()


@pytest.fixture
def ollama() -> Iterator[OllamaSim]:
    yield from running_ollama()


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """An installation that was never used."""
    stack = Stack(tmp_path_factory.mktemp("template") / "home")
    yield stack
    stack.close()


@pytest.fixture
def install(tmp_path: Path, template: Stack) -> Iterator[Callable[..., Stack]]:
    """Makes an installation; everything it started is ended after the test."""
    made: list[Stack] = []

    def make(**environment: str) -> Stack:
        made.append(Stack(tmp_path / f"home{len(made)}", template=template, **environment))
        return made[-1]

    yield make
    for stack in made:
        stack.close()


@pytest.fixture
def stack(install: Callable[..., Stack], discord: DiscordSim, ollama: OllamaSim) -> Stack:
    """An installation that talks to both simulators; the tests start its processes."""
    return install(
        DISCORD_API_BASE=discord.api_base,
        DISCORD_TOKEN=discord.token,
        OLLAMA_HOSTS=ollama.url,
        MUSEBOT_CHAT_MODEL="ollama:sim-chat",
        MUSEBOT_EMBEDDING_MODEL="ollama:sim-embed",
    )
