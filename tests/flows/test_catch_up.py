"""The bot was away: what was said, edited and deleted meanwhile, and who has left, is found out when it is back."""

from __future__ import annotations

import pytest

from tests.flows.stack import Community, Stack
from tests.simulators.discord import DiscordSim
from tests.simulators.ollama import OllamaSim

pytestmark = [pytest.mark.flow, pytest.mark.slow]


def test_the_bot_was_killed_and_comes_back(discord: DiscordSim, ollama: OllamaSim, stack: Stack) -> None:
    town = Community(discord, ["ada", "ben", "cay"], ["general", "attic"])
    general = town.channels["general"]
    stack.start_worker()
    stack.start_bot()
    discord.wait_ready(commands=True)
    for name in town.people:
        town.command(name, "memory remember")
    stack.storage.write("UPDATE memory_scan SET state = 'cancelled' WHERE kind = 'backfill'")
    edited, deleted = town.say("ada", "The boat is blue."), town.say("ada", "Regretted.")
    town.say("ben", "Ben stays.")
    last = town.say("cay", "Cay leaves.")
    seen = "channel_id = ? AND seen_id >= ?"
    stack.wait(
        lambda: stack.count("memory_channelmark", seen, int(general), int(last["id"])), what="it was marked"
    )
    stack.kill("bot")

    discord.call(
        "PATCH", f"/channels/{general}/messages/{edited['id']}", {"content": "The boat is vermilion."}
    )
    discord.call("DELETE", f"/channels/{general}/messages/{deleted['id']}")
    for number in range(230):
        town.say("ben", f"Ben says {number}.", silent=True)
    town.say("ada", "Said in the attic.", "attic")
    discord.call("DELETE", f"/guilds/{town.guild['id']}/members/{town.people['cay']}")

    stack.start_bot()
    stack.wait(lambda: stack.count("memory_message") == 234, what="everything was caught up", seconds=60)
    texts = {text for (text,) in stack.rows("SELECT text FROM memory_message")}
    assert {"The boat is vermilion.", "Said in the attic.", "Ben says 229.", "Ben stays."} <= texts
    assert not texts & {"The boat is blue.", "Regretted."}
    left = "SELECT member_id FROM memory_guildmember WHERE left_at IS NOT NULL"
    stack.wait(lambda: stack.rows(left) == [(int(town.people["cay"]),)], what="cay was found to have left")

    # A session that cannot be resumed: what was said in between arrives by no event.
    discord.gateway("pause", ack=False, events=True)
    town.say("ada", "Said while nobody listened.")
    discord.gateway("invalidate", resumable=False)
    discord.gateway("unpause")
    stack.wait(
        lambda: "Said while nobody listened." in str(stack.rows("SELECT text FROM memory_message")),
        what="the gap was closed",
    )
    assert stack.count("memory_message") == 235


def test_the_result_comes_by_direct_message_when_nobody_waits_for_it_any_more(
    discord: DiscordSim, ollama: OllamaSim, stack: Stack
) -> None:
    town = Community(discord, ["ada"], ["general"])
    discord.preload(town.channels["general"], 120, [town.people["ada"]])
    stack.start_bot()
    discord.wait_ready(commands=True)
    town.command("ada", "memory remember")
    assert "begins within a minute" in town.command("ada", "memory status")
    # The interaction is gone with the process that held it.
    stack.kill("bot")
    stack.storage.write("UPDATE memory_scan SET begins_at = opened_at WHERE kind = 'backfill'")
    stack.storage.write("UPDATE memory_outboxentry SET due_at = created_at WHERE kind = 'history'")
    stack.start_worker()
    stack.wait(lambda: stack.count("memory_message") == 120, what="the history was read", seconds=60)
    stack.start_bot()
    sent = discord.wait_sent(kind="message_create", contains="history has been read", timeout=60)
    assert "120 of your messages" in sent[0]["content"]
    stack.wait(lambda: stack.count("memory_scanmember", "told_at IS NOT NULL") == 1, what="it was noted")
