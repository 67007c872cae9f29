"""What is changed or deleted on Discord changes and goes here, also for messages from before the bot was started."""

from __future__ import annotations

import pytest

from tests.flows.stack import Community, Stack
from tests.simulators.discord import DiscordSim
from tests.simulators.ollama import OllamaSim

pytestmark = [pytest.mark.flow, pytest.mark.slow]


def test_a_long_answer_is_forgotten_with_any_of_its_parts(
    discord: DiscordSim, ollama: OllamaSim, stack: Stack
) -> None:
    ollama.on({"endpoint": "chat"}, {"reply": "The lighthouse keeper has a long story to tell. " * 80})
    town = Community(discord, ["ada"], ["general"])
    stack.start_bot()
    discord.wait_ready(commands=True)
    town.command("ada", "memory remember")
    for deleted in (1, 0):
        before = len(town.messages_of_bot())
        town.say("ada", f"<@{discord.bot_id}> tell me a story")
        stack.wait(lambda: stack.count("memory_message", "is_bot"), what="the answer was stored")
        parts = town.messages_of_bot()[before:]
        assert len(parts) >= 2
        discord.call("DELETE", f"/channels/{town.channels['general']}/messages/{parts[deleted]['id']}")
        stack.wait(
            lambda: not stack.count("memory_message", "is_bot"), what="the answer went with one of its parts"
        )
    assert stack.count("memory_message") == 2  # the questions stay


def test_edits_and_deletions_reach_the_memory(discord: DiscordSim, ollama: OllamaSim, stack: Stack) -> None:
    town = Community(discord, ["ada", "ben"], ["general", "loft"])
    general = town.channels["general"]
    stack.start_bot()
    stack.start_worker()
    discord.wait_ready(commands=True)
    town.command("ada", "memory remember")
    thread = discord.post(f"/channels/{general}/threads", name="side", user_id=town.people["ada"])["id"]

    kept = town.say("ada", "The boat is blue.")
    preview = town.say("ada", "See example.org for it.")
    single, *bulk = [town.say("ada", f"Regretted sentence {number}.") for number in range(4)]
    town.say("ada", "Said in the attic.", "loft")
    town.say("ada", "Said in the thread.", thread)
    stranger = town.say("ben", "Ben says marmalade.")
    stack.wait(lambda: stack.count("memory_message") == 8, what="all was stored")
    stack.wait_embedded()
    # A new process has none of these messages in its cache.
    assert stack.stop("bot") == 0
    stack.start_bot()
    stack.wait(lambda: discord.get("/gateway")["sessions"][-1]["connected"], what="the bot was back")
    stack.wait(lambda: stack.log("bot").count("connected to Discord") == 2, what="the bot was ready")

    discord.call("PATCH", f"/channels/{general}/messages/{kept['id']}", {"content": "The boat is vermilion."})
    discord.call(
        "PATCH", f"/channels/{general}/messages/{stranger['id']}", {"content": "Ben says more marmalade."}
    )
    embed = {"embeds": [{"title": "Example", "type": "link"}], "no_stamp": True}
    discord.call("PATCH", f"/channels/{general}/messages/{preview['id']}", embed)
    stack.wait(
        lambda: stack.count("memory_message", "text = 'The boat is vermilion.'"), what="the edit arrived"
    )
    stack.wait_embedded()
    assert any("vermilion" in str(call["body"]) for call in ollama.calls("embed"))
    edited = "discord_id = ? AND edited_at IS NULL AND text = 'See example.org for it.'"
    assert stack.count("memory_message", edited, int(preview["id"])) == 1
    assert stack.files_with("marmalade") == []

    discord.call("DELETE", f"/channels/{general}/messages/{single['id']}")
    stack.wait(lambda: stack.count("memory_message") == 7, what="the deletion arrived")
    discord.post(f"/channels/{general}/bulk_delete", ids=[message["id"] for message in bulk])
    stack.wait(lambda: stack.count("memory_message") == 4, what="the bulk deletion arrived")
    assert not stack.count("memory_message", "text LIKE 'Regretted%'")
    discord.call("DELETE", f"/channels/{thread}")
    stack.wait(lambda: stack.count("memory_message") == 3, what="the deletion of the thread arrived")
    discord.call("DELETE", f"/channels/{town.channels['loft']}")
    stack.wait(lambda: stack.count("memory_message") == 2, what="the deletion of the channel arrived")

    discord.post(f"/guilds/{town.guild['id']}/bot", action="outage")
    discord.post(f"/guilds/{town.guild['id']}/bot", action="recover")
    town.say("ada", "After the outage.")
    # A server that is out of reach for a while is not forgotten.
    stack.wait(lambda: stack.count("memory_message") == 3, what="the outage was over")
    discord.post(f"/guilds/{town.guild['id']}/bot", action="remove")
    stack.wait(lambda: stack.count("memory_guild", "left_at IS NOT NULL"), what="leaving the server arrived")
    assert stack.count("memory_message") == 3  # kept for the time that is set
    stack.ask_django(
        "from memory import retention\nfrom memory.models import Guild\n"
        "Guild.objects.update(keep_after_leaving_days=0)\nanswer = retention.purge()"
    )
    assert stack.count("memory_message") == 0
    assert stack.stop("bot") == 0
    stack.stop("worker")
    stack.settle()
    assert not {"vermilion", "regretted", "attic", "outage"} & stack.words_in_files()
