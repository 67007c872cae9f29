"""Facts with real processes: found by the worker after the reply, used in private only, listed and forgotten by command."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.flows.stack import Community, Stack
from tests.simulators.discord import DiscordSim
from tests.simulators.ollama import OllamaSim

pytestmark = [pytest.mark.flow, pytest.mark.slow]


def test_found_listed_and_forgotten(
    discord: DiscordSim, ollama: OllamaSim, install: Callable[..., Stack], tmp_path: Path
) -> None:
    config = tmp_path / "config.jsonc"
    config.write_text(
        json.dumps(
            {
                "bots": [
                    {
                        "botId": "musebot",
                        "memory": {"autoExtract": True, "ttl": "90d"},
                        "ollama": {"embeddingModel": "sim-embed"},
                    }
                ]
            }
        )
    )
    stack = install(
        MUSEBOT_CONFIG=str(config),
        DISCORD_API_BASE=discord.api_base,
        DISCORD_TOKEN=discord.token,
        OLLAMA_HOSTS=ollama.url,
        MUSEBOT_CHAT_MODEL="ollama:sim-chat",
    )
    noted = {"facts": ["Lives in Lima", "Lives in Paris", "Card is 4111 1111 1111 1111"]}
    ollama.on({"endpoint": "chat", "has_format": True}, {"reply": json.dumps(noted)})
    ollama.on({"endpoint": "chat"}, {"reply": "How nice!"})
    town = Community(discord, ["ada", "ben"], ["general"])
    stack.start_bot()
    stack.start_worker()
    discord.wait_ready(commands=True)
    assert "not opted in" in town.command("ada", "memory facts")
    town.command("ada", "memory remember")
    assert "no facts" in town.command("ada", "memory facts")

    town.ask("ada", "I just moved to Lima!")
    town.ask("ben", "I just moved to Lima!")
    stack.wait(lambda: stack.count("memory_fact"), what="a fact was found")
    stack.wait(
        lambda: not stack.count("memory_outboxentry", "kind = 'extract'"), what="the extraction was done"
    )
    shown = town.command("ada", "memory facts")
    assert "Lives in Lima" in shown and "Paris" not in shown and "4111" not in shown and "<t:" in shown
    assert "not opted in" in town.command("ben", "memory facts")
    assert stack.count("memory_fact") == 1

    town.ask("ada", "Where do I live?")
    asked = [call for call in ollama.calls("chat") if not call["body"].get("format")][-1]
    assert "Lives in Lima" not in json.dumps(asked["body"]["messages"]), "others read a reply in a server"

    assert "Forgotten" in town.command("ada", "memory fact forget", options={"fact": "lives in lima"})
    assert stack.count("memory_fact") == 0 and stack.count("memory_factversion") == 0
    assert stack.stop("bot") == 0
