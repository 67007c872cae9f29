"""The bot connects, registers its commands, and answers from what it was told."""

from __future__ import annotations

import pytest

from tests.flows.stack import Community, Stack
from tests.simulators.discord import DiscordSim
from tests.simulators.ollama import OllamaSim

pytestmark = [pytest.mark.flow, pytest.mark.slow]


def test_opt_in_talk_ask_and_forget(discord: DiscordSim, ollama: OllamaSim, stack: Stack) -> None:
    ollama.on({"endpoint": "chat"}, {"reply": "The ferry sails at noon."})
    town = Community(discord, ["ada", "ben"], ["general"])
    stack.start_bot()
    stack.start_worker()
    discord.wait_ready(commands=True)

    assert "not opted in" in town.command("ada", "memory status")
    said = town.command("ada", "memory remember")
    assert "From now on" in said and "/memory forget" in said
    assert "already opted in" in town.command("ada", "memory remember")

    town.say("ada", "The ferry to the island leaves at noon.")
    town.say("ben", "I never opted in, xylophone.")
    stack.wait(lambda: stack.count("memory_message") == 1, what="ada's message was stored")
    stack.wait_embedded()
    question, reply = town.ask("ada", "When does the ferry leave?")
    stack.wait(lambda: stack.count("memory_reply", "state = 'done'") == 1, what="the reply was finished")
    assert [m["content"] for m in town.messages_of_bot()] == ["The ferry sails at noon."]
    assert reply["reply_to_id"] == question["id"]
    prompt = ollama.calls("chat")[-1]["body"]["messages"]
    assert any("leaves at noon" in message["content"] for message in prompt[:-1])
    assert "Memories: 3" in town.command("ada", "memory status")
    assert not stack.files_with("xylophone")

    exported = discord.invoke(town.channels["general"], town.people["ada"], "memory export", timeout=60)
    [shown] = exported["messages"]
    assert shown["ephemeral"] and "musebot.json" in str(shown["attachments"])
    assert "erased" in town.command("ada", "memory forget")
    assert stack.count("memory_message") == 0
    assert stack.manage("verify_erasure", town.people["ada"], check=False).returncode == 0
    assert stack.stop("bot") == 0
