"""Core memory on Discord: the model notes something by a tool call, and ``/new`` begins a session afresh."""

from __future__ import annotations

import pytest

from tests.flows.stack import Community, Stack
from tests.flows.test_answers import finished, started
from tests.simulators.discord import DiscordSim
from tests.simulators.ollama import OllamaSim

pytestmark = [pytest.mark.flow, pytest.mark.slow]


def test_a_tool_call_writes_and_a_new_session_clears(
    discord: DiscordSim, ollama: OllamaSim, stack: Stack
) -> None:
    note = {"block": "working_context", "content": "planning the regatta"}
    like = {"block": "human", "content": "likes green tea"}
    ollama.on(
        {"endpoint": "chat", "last_role": "user", "contains": "regatta"},
        {
            "tool_calls": [
                {"name": "core_memory_append", "arguments": note},
                {"name": "core_memory_append", "arguments": like},
            ]
        },
    )
    ollama.on({"endpoint": "chat", "last_role": "tool"}, {"reply": "Noted."})
    ollama.on({"endpoint": "chat"}, {"reply": "Hm."})
    town = Community(discord, ["ada"], ["general"])
    role = discord.post(f"/guilds/{town.guild['id']}/roles", name="mods", permissions=["MANAGE_MESSAGES"])[
        "id"
    ]
    discord.call("PATCH", f"/guilds/{town.guild['id']}/members/{town.people['ada']}", {"roles": [role]})
    started(stack, discord)
    town.command("ada", "memory remember")
    town.ask("ada", "We plan the regatta, and I like green tea.")
    finished(stack, 1)
    values = dict(stack.rows("SELECT label, value FROM memory_memoryblock"))
    assert values == {"working_context": note["content"], "human": like["content"]}
    town.ask("ada", "Go on.")
    finished(stack, 2)
    system = ollama.calls("chat")[-1]["body"]["messages"][0]["content"]
    assert note["content"] in system and like["content"] not in system
    assert "new session" in town.command("ada", "new")
    assert stack.rows("SELECT value FROM memory_memoryblock WHERE label = 'working_context'") == [("",)]
    town.ask("ada", "And now?")
    finished(stack, 3)
    messages = ollama.calls("chat")[-1]["body"]["messages"]
    assert note["content"] not in messages[0]["content"] and "assistant" not in [m["role"] for m in messages]
    assert stack.rows("SELECT value FROM memory_memoryblock WHERE label = 'human'") == [(like["content"],)]
