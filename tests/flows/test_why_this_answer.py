"""The message command *Why this answer?* on Discord: who is told what, for every part of a reply."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.flows.stack import Community, Stack
from tests.simulators.discord import DiscordSim
from tests.simulators.ollama import OllamaSim

pytestmark = [pytest.mark.flow, pytest.mark.slow]

COMMAND = "Why this answer?"
PERMISSIONS = [
    "VIEW_CHANNEL",
    "SEND_MESSAGES",
    "READ_MESSAGE_HISTORY",
    "USE_APPLICATION_COMMANDS",
]


def why(town: Community, who: str, message_id: str, channel: str = "general") -> str:
    """What a person is shown after Apps → Why this answer? on a message."""
    done = town.discord.invoke(
        town.channels.get(channel, channel),
        town.people[who],
        COMMAND,
        type=3,
        target_id=message_id,
        timeout=60,
    )
    assert done["state"] == "acked" and done["messages"], done
    assert all(message["ephemeral"] for message in done["messages"]), done
    return "\n".join(message["content"] for message in done["messages"])


def test_who_is_told_why(discord: DiscordSim, ollama: OllamaSim, install: Callable[..., Stack]) -> None:
    stack = install(
        DISCORD_API_BASE=discord.api_base,
        DISCORD_TOKEN=discord.token,
        OLLAMA_HOSTS=ollama.url,
        MUSEBOT_CHAT_MODEL="ollama:sim-chat",
        MUSEBOT_EMBEDDING_MODEL="hash",
        MUSEBOT_PUBLIC_URL="https://bot.example",
    )
    long_answer = "\n\n".join(f"Paragraph {n}. " + "It sails at noon. " * 20 for n in range(9))
    ollama.on({"endpoint": "chat"}, {"reply": long_answer})
    town = Community(discord, ["ada", "ben", "mod", "eve"], ["general", "boats"])
    staff = discord.post(
        f"/guilds/{town.guild['id']}/roles", name="staff", permissions=["MANAGE_MESSAGES", *PERMISSIONS]
    )["id"]
    discord.call("PATCH", f"/guilds/{town.guild['id']}/members/{town.people['mod']}", {"roles": [staff]})
    stack.start_bot()
    discord.wait_ready(commands=True)
    for who in ("ada", "ben"):
        town.command(who, "memory remember")
    town.say("ben", "Bread needs flour and patience.", "boats")
    town.say("ben", "The ferry to the island sails at noon.", "boats")
    stack.wait(lambda: stack.count("memory_message") == 2, what="both were stored")

    stack.wait(
        lambda: stack.count("memory_channel", "audience_id IS NOT NULL") >= 2, what="who reads what is known"
    )

    question, first = town.ask("ada", "When does the ferry sail?")
    stack.wait(lambda: stack.count("memory_reply", "state = 'done'"), what="the reply was finished")
    parts = [one["id"] for one in town.messages_of_bot() if one["id"] >= first["message_id"]]
    assert len(parts) > 1, "a reply of several messages"
    (trace_id,) = stack.ask_django(
        "from memory.models import Reply\nanswer = [str(r.id) for r in Reply.objects.all()]"
    )

    for part in parts:
        told = why(town, "mod", part)
        assert "It leaned on" in told and "The ferry to the island sails at noon." in told, part
        assert f"(<https://bot.example/replies/{trace_id}/>)" in told
    assert "It leaned on" in why(town, "ada", parts[-1]) and "bot.example" not in why(town, "ada", parts[0])
    assert why(town, "eve", parts[0]).startswith("Only the person who asked")
    assert "not one of my answers" in why(town, "mod", question["id"])

    # Somebody who has not opted in asks: nothing of theirs is stored, and still they are told.
    other, answer = town.ask("eve", "When does the ferry sail, please?")
    stack.wait(
        lambda: stack.count("memory_reply", "state = 'done'") == 2, what="the second reply was finished"
    )
    assert "Why this answer?" in why(town, "eve", answer["message_id"])
    assert why(town, "ada", answer["message_id"]).startswith("Only the person who asked")
    assert stack.count("memory_auditentry", "action = 'reply.viewed'") >= len(parts) + 3
    assert stack.count("memory_auditentry", "action = 'reply.viewed' AND result = 'denied'") == 2
    assert not discord.requests()["unimplemented"]
    assert stack.stop("bot") == 0
