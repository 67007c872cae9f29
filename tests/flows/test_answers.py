"""When and how the bot answers on Discord."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.flows.stack import Community, Stack
from tests.simulators.discord import DiscordSim
from tests.simulators.ollama import OllamaSim

pytestmark = [pytest.mark.flow, pytest.mark.slow]


@pytest.fixture
def configured(
    install: Callable[..., Stack], discord: DiscordSim, ollama: OllamaSim, tmp_path: Path
) -> Callable[..., Stack]:
    """An installation with a ``config.jsonc`` in Musebot's keys."""

    def make(
        *, discord_block: dict[str, Any] | None = None, ollama_block: dict[str, Any] | None = None, **bot: Any
    ) -> Stack:
        block = {
            "hosts": [ollama.url],
            "models": ["sim-chat"],
            "embeddingModel": "sim-embed",
            **(ollama_block or {}),
        }
        bots = [
            {
                "botId": "musebot",
                "chatApis": {"discord": {"token": discord.token, **(discord_block or {})}},
                "ollama": block,
                **bot,
            }
        ]
        path = tmp_path / "config.jsonc"
        path.write_text("// ours\n" + json.dumps({"bots": bots}))
        return install(DISCORD_API_BASE=discord.api_base, MUSEBOT_CONFIG=str(path))

    return make


def started(stack: Stack, discord: DiscordSim) -> None:
    stack.start_bot()
    discord.wait_ready(commands=True)


def finished(stack: Stack, count: int) -> None:
    stack.wait(
        lambda: stack.count("memory_reply", "state = 'done'") == count, what=f"{count} replies were finished"
    )


def test_channels_lists_private_conversations_and_threads(
    discord: DiscordSim, ollama: OllamaSim, configured: Callable[..., Stack]
) -> None:
    ollama.on({"endpoint": "chat"}, {"reply": "Yes."})
    town = Community(discord, ["ada", "ben"], ["general", "other", "barred"])
    stack = configured(
        discord_block={
            "channels": [town.channels["general"], town.channels["barred"]],
            "channelsDisallowed": [town.channels["barred"]],
            "privateMessageUsers": ["ada"],
        }
    )
    started(stack, discord)
    town.command("ada", "memory remember")
    thread = discord.post(
        f"/channels/{town.channels['general']}/threads", name="side", user_id=town.people["ada"]
    )["id"]
    private = {who: discord.post("/dms", user_id=town.people[who])["id"] for who in town.people}
    hello = f"<@{discord.bot_id}> hello"

    for place in ("other", "barred"):
        town.say("ada", hello, place)
    town.say("ben", "hello", private["ben"])
    town.say("ada", "nobody is called", "general")
    discord.post(
        f"/channels/{town.channels['general']}/messages",
        user_id=town.people["ada"],
        content=hello,
        webhook_id="5",
    )
    called = [
        town.say("ada", hello, "general"),
        town.say("ada", f"<@&{town.guild['bot_role_id']}> hello", "general"),
        town.say("ada", hello, thread),
        town.say("ada", "hello", private["ada"]),
    ]
    for question in called:
        town.reply_to(question)
    finished(stack, 4)
    first = town.messages_of_bot()[0]
    answer_to_a_reply = town.say("ada", "and now?", "general", reply_to=first["id"], ping=False)
    town.reply_to(answer_to_a_reply)
    finished(stack, 5)
    assert len(discord.sent(kind="message_create")) == 5
    assert stack.count("memory_message", "channel_id = ?", int(town.channels["barred"])) == 0
    assert stack.count("memory_message", "channel_id = ?", int(town.channels["other"])) == 1
    scope = stack.rows("SELECT kind FROM memory_guild WHERE discord_id = ?", int(private["ada"]))
    assert scope == [("dm",)]
    assert all("<@" not in text for (text,) in stack.rows("SELECT text FROM memory_message"))


def test_by_chance_and_all_at_once_where_configured(
    discord: DiscordSim, ollama: OllamaSim, configured: Callable[..., Stack]
) -> None:
    ollama.on({"endpoint": "chat"}, {"reply": "Whole and at once.", "token_delay": 0.02, "chunk_chars": 2})
    town = Community(discord, ["ada"], ["general"])
    stack = configured(
        ollama_block={"streamsResponse": False, "embeddingModel": None},
        requiresMention=False,
        responseRate=100,
    )
    started(stack, discord)
    question = town.say("ada", "I am talking to myself.")
    town.reply_to(question)
    stack.wait(
        lambda: town.messages_of_bot()[-1]["content"] == "Whole and at once.", what="the reply was sent"
    )
    assert discord.sent(kind="message_edit") == []
    assert discord.sent(kind="typing")
    assert "switched off" in town.command("ada", "memory remember")
    assert stack.count("memory_message") == 0


def test_order_within_a_channel_and_no_waiting_between_channels(
    discord: DiscordSim, ollama: OllamaSim, stack: Stack
) -> None:
    ollama.settings(num_parallel=4)
    ollama.on({"endpoint": "chat", "contains": "slow"}, {"reply": "slow answer", "first_delay": 1.5})
    ollama.on({"endpoint": "chat"}, {"reply": "quick answer"})
    town = Community(discord, ["ada"], ["general", "other"])
    started(stack, discord)
    called = f"<@{discord.bot_id}> "
    questions = [
        town.say("ada", called + "slow one"),
        town.say("ada", called + "second"),
        town.say("ada", called + "third"),
    ]
    town.ask("ada", "elsewhere", "other")
    finished(stack, 4)
    sent = discord.sent(kind="message_create")
    assert sent[0]["channel_id"] == town.channels["other"]
    assert [record["reply_to_id"] for record in sent[1:]] == [question["id"] for question in questions]


def test_a_long_answer_is_streamed_at_a_pace_and_ends_complete(
    discord: DiscordSim, ollama: OllamaSim, stack: Stack
) -> None:
    code = "\n".join(f"    value_{number} = {number}  # a line of code" for number in range(120))
    answer = f"Here, @everyone <@1>:\n\n```python\n{code}\n```\nDone."
    ollama.on({"endpoint": "chat"}, {"reply": answer, "token_delay": 0.01, "chunk_chars": 20})
    town = Community(discord, ["ada"], ["general"])
    started(stack, discord)
    town.ask("ada", "Show me code.")
    finished(stack, 1)
    parts = town.messages_of_bot()
    assert len(parts) == 3
    assert all(len(part["content"]) <= 2000 and part["content"].count("```") % 2 == 0 for part in parts)
    assert parts[1]["content"].startswith("```python\n") and parts[-1]["content"].endswith("Done.")
    everything = "\n".join(part["content"] for part in parts)
    assert all(f"    value_{number} = {number}  #" in everything for number in range(120))
    assert not any(part["mentions"] or part["mention_everyone"] for part in parts)
    edits = discord.sent(kind="message_edit")
    assert 1 <= len(edits) <= 12
    assert discord.requests()["status_429"] == 0


def test_a_reply_that_is_deleted_while_it_is_written_stops(
    discord: DiscordSim, ollama: OllamaSim, stack: Stack
) -> None:
    ollama.on({"endpoint": "chat"}, {"reply": "word " * 400, "token_delay": 0.05, "chunk_chars": 5})
    town = Community(discord, ["ada"], ["general"])
    started(stack, discord)
    town.command("ada", "memory remember")
    question, reply = town.ask("ada", "Talk.")
    discord.call("DELETE", f"/channels/{town.channels['general']}/messages/{reply['message_id']}")
    finished(stack, 1)
    stack.wait(lambda: ollama.calls("chat")[0].get("client_gone"), what="the model was stopped")
    assert town.messages_of_bot() == []
    assert stack.count("memory_message", "is_bot") == 0
    # The question disappearing does no harm to an answer.
    ollama.call("DELETE", "/rules")
    ollama.on({"endpoint": "chat"}, {"reply": "All the same.", "first_delay": 0.5})
    question = town.say("ada", f"<@{discord.bot_id}> gone soon")
    stack.wait(lambda: len(ollama.calls("chat")) == 2, what="the model was asked")
    discord.call("DELETE", f"/channels/{town.channels['general']}/messages/{question['id']}")
    finished(stack, 2)
    assert [message["content"] for message in town.messages_of_bot()] == ["All the same."]
    assert stack.count("memory_message", "discord_id = ?", int(question["id"])) == 0


def test_what_a_private_channel_holds_stays_among_its_readers(
    discord: DiscordSim, ollama: OllamaSim, stack: Stack
) -> None:
    ollama.on({"endpoint": "chat"}, {"reply": "Hm."})
    town = Community(discord, ["ada", "ben"], ["general", "cellar"])
    discord.post(
        f"/channels/{town.channels['cellar']}/overwrites",
        id=town.guild["id"],
        type="role",
        deny=["VIEW_CHANNEL"],
    )
    for who in (town.people["ada"], discord.bot_id):
        discord.post(
            f"/channels/{town.channels['cellar']}/overwrites",
            id=who,
            type="member",
            allow=["VIEW_CHANNEL", "SEND_MESSAGES", "READ_MESSAGE_HISTORY"],
        )
    stack.start_worker()
    started(stack, discord)
    town.command("ada", "memory remember")
    town.say("ada", "The treasure lies under the old elm.", "cellar")
    stack.wait(lambda: stack.count("memory_message") == 1, what="the secret was stored")
    stack.wait_embedded()
    stack.wait(lambda: stack.count("memory_guild", "snapshot_at IS NOT NULL"), what="the readers were noted")

    def prompt(channel: str, replies: int) -> str:
        town.ask("ada", "Where does the treasure lie?", channel)
        finished(stack, replies)
        return json.dumps(ollama.calls("chat")[-1]["body"]["messages"])

    assert "old elm" not in prompt("general", 1)
    assert "old elm" in prompt("cellar", 2)
    before = stack.rows("SELECT snapshot_at FROM memory_guild")
    discord.post(
        f"/channels/{town.channels['cellar']}/overwrites",
        id=town.guild["id"],
        type="role",
        allow=["VIEW_CHANNEL"],
    )
    stack.wait(
        lambda: stack.rows("SELECT snapshot_at FROM memory_guild") != before, what="the change was noted"
    )
    assert "old elm" in prompt("general", 3)


def test_reset_clears_the_context_for_those_who_moderate(
    discord: DiscordSim, ollama: OllamaSim, stack: Stack
) -> None:
    ollama.on({"endpoint": "chat"}, {"reply": "Hm."})
    town = Community(discord, ["ada", "ben"], ["general"])
    role = discord.post(f"/guilds/{town.guild['id']}/roles", name="mods", permissions=["MANAGE_MESSAGES"])[
        "id"
    ]
    discord.call("PATCH", f"/guilds/{town.guild['id']}/members/{town.people['ada']}", {"roles": [role]})
    started(stack, discord)
    with pytest.raises(RuntimeError, match="default_member_permissions"):
        town.command("ben", "reset")
    town.command("ada", "memory remember")
    town.ask("ada", "Remember the walrus.")
    finished(stack, 1)
    town.ask("ada", "Go on.")
    finished(stack, 2)
    conversation = ollama.calls("chat")[-1]["body"]["messages"][1:-1]
    assert any("walrus" in message["content"] for message in conversation)
    assert "Done" in town.command("ada", "reset")
    town.ask("ada", "And now?")
    finished(stack, 3)
    roles = [message["role"] for message in ollama.calls("chat")[-1]["body"]["messages"]]
    assert "assistant" not in roles
    assert stack.count("memory_message") == 6
