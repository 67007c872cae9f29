"""Two processes, each with a part of the bot's servers: everybody is served, and nobody twice."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.flows.stack import Community, Stack
from tests.simulators.discord import DiscordSim

pytestmark = pytest.mark.flow


def shard_of(guild_id: str) -> int:
    return (int(guild_id) >> 22) % 2


@pytest.fixture
def towns(discord: DiscordSim) -> list[Community]:
    """A server for each shard, and perhaps more of them."""
    made: list[Community] = []
    while {shard_of(town.guild["id"]) for town in made} != {0, 1}:
        made.append(Community(discord, [f"maren{len(made)}"], ["general"]))
    return made


def test_each_server_is_served_by_the_process_of_its_shard(
    stack: Stack, towns: list[Community], discord: DiscordSim
) -> None:
    shards = [shard_of(town.guild["id"]) for town in towns]
    first, second = towns[shards.index(0)], towns[shards.index(1)]
    for shard in (0, 1):
        stack.start(f"bot{shard}", "manage.py", "runbot", "--shard-ids", str(shard), "--shard-count", "2")
    for shard in (0, 1):
        stack.wait(
            lambda shard=shard: "connected to Discord" in stack.log(f"bot{shard}"),
            what=f"shard {shard} was ready",
        )
    for town in (first, second):
        [name] = town.people
        town.command(name, "memory remember")
        town.say(name, "The ferry sails at noon.")
    stack.wait(lambda: stack.count("memory_message") == 2, what="both servers' messages were stored")
    [name] = second.people
    private = discord.post("/dms", user_id=second.people[name])["id"]
    second.say(name, "And this is between us.", private)
    stack.wait(
        lambda: stack.count("memory_message", "text LIKE 'And this%'") == 1,
        what="the private message was stored",
    )

    def states() -> dict[str, dict[str, Any]]:
        rows = stack.rows("SELECT name, value FROM memory_installationstate WHERE name LIKE 'bot%'")
        return {name: value if isinstance(value, dict) else json.loads(value) for name, value in rows}

    served = {"bot": shards.count(0), "bot:1": shards.count(1)}
    stack.wait(
        lambda: {name: state["guilds"] for name, state in states().items()} == served,
        what="both told how many servers are theirs",
    )

    # What was said to one while it was away is its own to catch up with.
    assert stack.stop("bot1") == 0
    second.say(name, "Said while nobody listened.")
    first.say(next(iter(first.people)), "Heard at once.")
    stack.wait(lambda: stack.count("memory_message", "text = 'Heard at once.'"), what="the other one heard")
    assert not stack.count("memory_message", "text LIKE 'Said while%'")
    stack.start_worker()
    stack.start("bot1", "manage.py", "runbot", "--shard-ids", "1", "--shard-count", "2")
    stack.wait(lambda: stack.count("memory_message", "text LIKE 'Said while%'") == 1, what="it was caught up")
    assert not stack.count("memory_guild", "left_at IS NOT NULL")
