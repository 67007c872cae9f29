"""The bot says what is wrong when it cannot run, comes back when it can, and ends when it is told to."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.flows.stack import Community, Stack
from tests.simulators.discord import DiscordSim
from tests.simulators.ollama import OllamaSim

pytestmark = [pytest.mark.flow, pytest.mark.slow]
CONNECTED = "name = 'bot' AND CAST(value AS text) LIKE '%\"connected\": {}%'"


def test_what_cannot_work_is_said_plainly(discord: DiscordSim, install: Callable[..., Stack]) -> None:
    stack = install(DISCORD_API_BASE=discord.api_base, DISCORD_TOKEN="MTIz.not.a-token")
    wrong = stack.manage("runbot", check=False)
    assert wrong.returncode == 1
    assert "does not accept the token" in wrong.stderr and "Traceback" not in wrong.stderr
    assert "MTIz" not in wrong.stderr

    stack.environment["DISCORD_TOKEN"] = discord.token
    discord.call("PATCH", "/bot", {"allowed": ["message_content"]})
    denied = stack.manage("runbot", check=False)
    assert denied.returncode == 1
    assert '"Server Members Intent"' in denied.stderr and "Message Content Intent" not in denied.stderr
    assert "Traceback" not in denied.stderr

    del stack.environment["DISCORD_TOKEN"]
    none = stack.manage("runbot", check=False)
    assert none.returncode == 1 and "DISCORD_TOKEN" in none.stderr


def test_it_comes_back_after_every_kind_of_interruption(discord: DiscordSim, stack: Stack) -> None:
    def heard(text: str) -> None:
        town.say("ada", text)
        stack.wait(lambda: stack.count("memory_message", "text = ?", text), what=f"{text!r} was stored")

    town = Community(discord, ["ada"], ["general"])
    discord.gateway("refuse", seconds=4)  # the very first connection fails
    stack.start_bot()
    discord.wait_ready(commands=True)
    town.command("ada", "memory remember")
    heard("after the first connection failed")

    discord.gateway("drop", mode="abort")
    heard("after the connection broke")  # said while it was down, delivered by resuming
    discord.gateway("invalidate", resumable=False)
    stack.wait(lambda: stack.log("bot").count("connected to Discord") == 2, what="a new session was begun")
    heard("after the session was invalid")
    discord.gateway("reconnect")
    heard("after Discord asked to reconnect")

    assert stack.count("memory_installationstate", CONNECTED.format("true")) == 1
    assert stack.processes["bot"].poll() is None
    assert stack.stop("bot", seconds=10) == 0
    assert stack.count("memory_installationstate", CONNECTED.format("false")) == 1
    assert len(discord.sent(kind="commands_sync")) == 1  # registered once, not at every connection
    assert "Traceback" not in stack.log("bot")


def test_it_ends_in_seconds_although_the_model_hangs(
    discord: DiscordSim, ollama: OllamaSim, stack: Stack
) -> None:
    ollama.on({"endpoint": "chat"}, {"hang": True})
    town = Community(discord, ["ada"], ["general"])
    stack.start_bot()
    discord.wait_ready(commands=True)
    town.say("ada", f"<@{discord.bot_id}> hello?")
    stack.wait(lambda: ollama.calls("chat"), what="the model was asked")
    assert stack.stop("bot", seconds=15) == 0
    assert stack.count("memory_reply", "state = 'pending'") == 1

    ollama.call("DELETE", "/rules")
    ollama.on({"endpoint": "chat"}, {"reply": "Here I am again."})
    stack.start_bot()
    stack.wait(
        lambda: stack.count("memory_reply", "state = 'done'") == 1, what="the answer was given after all"
    )
    assert [message["content"] for message in town.messages_of_bot()] == ["Here I am again."]


def test_one_process_may_serve_some_of_the_shards(discord: DiscordSim, stack: Stack) -> None:
    town = Community(discord, ["ada"], ["general"])
    mine = (int(town.guild["id"]) >> 22) % 4
    stack.start_bot("--shard-ids", str(mine), "--shard-count", "4")
    discord.wait_ready(commands=True)
    town.command("ada", "memory remember")
    town.say("ada", "Heard by this shard.")
    stack.wait(lambda: stack.count("memory_message") == 1, what="the message was stored")
    assert stack.stop("bot", seconds=10) == 0
    for arguments in (
        ("--shard-ids", "0,1"),
        ("--shard-ids", "0,9", "--shard-count", "4"),
        ("--shard-ids", "x", "--shard-count", "2"),
    ):
        refused = stack.manage("runbot", *arguments, check=False)
        assert refused.returncode == 1 and "shard" in refused.stderr and "Traceback" not in refused.stderr
