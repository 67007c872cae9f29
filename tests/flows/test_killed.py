"""``kill -9`` of the bot or the worker at any moment: what was committed stays, and nothing is doubled."""

from __future__ import annotations

import pytest

from tests.flows.stack import Community, Stack
from tests.simulators.discord import DiscordSim
from tests.simulators.ollama import OllamaSim

pytestmark = [pytest.mark.flow, pytest.mark.slow]

LONG = "\n".join(
    f"Line {number} of an answer that does not fit into one message of two thousand characters."
    for number in range(40)
)


def test_the_bot_is_killed_while_it_answers(discord: DiscordSim, ollama: OllamaSim, stack: Stack) -> None:
    ollama.on({"endpoint": "chat"}, {"reply": LONG, "token_delay": 0.05, "chunk_chars": 40})
    town = Community(discord, ["ada"], ["general"])
    stack.start_bot()
    stack.start_worker()
    discord.wait_ready(commands=True)
    town.command("ada", "memory remember")
    question, _ = town.ask("ada", "Tell me everything.")
    stack.wait(lambda: len(town.messages_of_bot()) == 2, what="the second message was begun")
    stack.kill("bot")
    begun = town.messages_of_bot()
    assert stack.count("memory_reply", "state = 'pending'") == 1

    stack.start_bot()
    stack.wait(lambda: stack.count("memory_reply", "state = 'done'") == 1, what="the answer was completed")
    sent = town.messages_of_bot()
    assert "\n".join(message["content"] for message in sent) == LONG
    assert [message["id"] for message in sent[:2]] == [message["id"] for message in begun]
    assert stack.count("memory_reply") == 1
    assert stack.rows("SELECT is_bot, reply_to, discord_id FROM memory_message ORDER BY is_bot") == [
        (0, None, int(question["id"])),
        (1, int(question["id"]), int(sent[0]["id"])),
    ]
    stack.wait_embedded()


def test_the_answer_to_a_send_is_lost(discord: DiscordSim, ollama: OllamaSim, stack: Stack) -> None:
    """Discord took the message, but the connection broke before it said so."""
    ollama.on({"endpoint": "chat"}, {"reply": "Once and no more."})
    town = Community(discord, ["ada"], ["general"])
    stack.start_bot()
    discord.wait_ready(commands=True)
    discord.fault("POST /channels/*/messages", action="drop_after", count=2)
    town.say("ada", f"<@{discord.bot_id}> hello")
    stack.wait(lambda: stack.count("memory_reply", "state = 'done'") == 1, what="the reply was finished")
    assert [message["content"] for message in town.messages_of_bot()] == ["Once and no more."]


def test_the_worker_is_killed_while_it_embeds(discord: DiscordSim, ollama: OllamaSim, stack: Stack) -> None:
    ollama.on({"endpoint": "embed"}, {"pass": True, "first_delay": 0.3})
    town = Community(discord, ["ada"], ["general"])
    stack.start_bot()
    stack.start_worker()
    discord.wait_ready(commands=True)
    town.command("ada", "memory remember")
    for number in range(60):
        town.say("ada", f"Fact number {number} about the island.")
    stack.wait(
        lambda: stack.count("memory_outboxentry", "kind = 'embed' AND state = 'running'"),
        what="the worker was at it",
    )
    stack.kill("worker")
    stack.wait(lambda: stack.count("memory_message") == 60, what="everything was stored without a worker")

    # The dead worker's leases would run out in minutes; what they protect is the same as after that time.
    stack.manage("shell", "-c", "from memory.models import OutboxEntry as E; from django.utils import timezone\n"
                 "E.objects.filter(state='running').update(lease_until=timezone.now())")  # fmt: skip
    stack.start_worker()
    stack.wait_embedded()
    assert stack.count("memory_message", "embedding = 'done'") == 60
    vectors = stack.ask_django(
        "from memory.backends import vector_index\nfrom memory.models import EmbeddingSpace\n"
        "index = vector_index(EmbeddingSpace.objects.get(state='active'))\n"
        "answer = [index.count(), len(index.keys())]"
    )
    assert vectors == [60, 60]
