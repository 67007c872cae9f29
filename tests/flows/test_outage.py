"""Ollama is down for a whole conversation: nothing is lost, and it is made up for once it is back."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.flows.stack import Community, Stack
from tests.simulators.discord import DiscordSim
from tests.simulators.ollama import OllamaSim

pytestmark = [pytest.mark.flow, pytest.mark.slow]

ERROR = "An error occurred while processing your request. Please try again later."


def test_nothing_is_lost_while_the_models_are_away(
    discord: DiscordSim, ollama: OllamaSim, install: Callable[..., Stack]
) -> None:
    stack = install(
        DISCORD_API_BASE=discord.api_base,
        DISCORD_TOKEN=discord.token,
        OLLAMA_HOSTS=ollama.url,
        MUSEBOT_CHAT_MODEL="ollama:sim-chat",
        MUSEBOT_EMBEDDING_MODEL="ollama:sim-embed",
    )
    down = {"status": 503, "error": "server busy, please try again.  maximum pending requests exceeded"}
    for endpoint in ("chat", "embed", "embeddings", "show", "tags", "ps", "version"):
        ollama.on({"endpoint": endpoint}, down)
    town = Community(discord, ["ada", "ben"], ["general"])
    stack.start_bot()
    stack.start_worker()
    discord.wait_ready(commands=True)
    for who in ("ada", "ben"):
        town.command(who, "memory remember")

    for number in range(20):
        town.say("ada" if number % 2 else "ben", f"Sentence {number} about the lighthouse and its keeper.")
    _, reply = town.ask("ada", "Who keeps the lighthouse?", timeout=60)
    assert reply["content"] == ERROR
    stack.wait(
        lambda: stack.count("memory_reply", "state = 'failed'") == 1, what="the failed reply was noted"
    )
    stack.wait(
        lambda: stack.count("memory_message") == 21, what="everything was stored"
    )  # 20, and the question
    assert stack.count("memory_message", "embedding = 'pending'") == 21
    stack.wait(
        lambda: stack.count("memory_outboxentry", "kind = 'embed' AND error_code != ''"),
        what="the reason was noted",
    )
    assert stack.count("memory_outboxentry", "kind = 'embed'") == 21
    status = town.command("ada", "memory status")
    assert "Waiting to be made searchable: 11" in status
    assert "erased" in town.command("ben", "memory forget")  # works without any model

    ollama.call("DELETE", "/rules")
    ollama.on({"endpoint": "chat"}, {"reply": "The keeper."})
    stack.wait_embedded(seconds=90)
    assert stack.count("memory_message", "embedding = 'done'") == 11
    town.ask("ada", "Who keeps the lighthouse now?")
    stack.wait(lambda: town.messages_of_bot()[-1]["content"] == "The keeper.", what="the bot answered")
    prompt = ollama.calls("chat")[-1]["body"]["messages"]
    assert any("Sentence" in message["content"] for message in prompt)
    assert not any(ERROR in message["content"] for message in prompt)
