"""The snapshot of readers is the same as asking discord.py for every member and channel."""

from __future__ import annotations

import random
import time
from typing import Any

import discord
import pytest

from botrunner.permissions import (
    ADMINISTRATOR,
    CONNECT,
    HISTORY,
    VIEW,
    ChannelRules,
    GuildRules,
    Overwrite,
    readers,
    rules_of,
)
from memory.types import ChannelInfo
from tests.botrunner import discord_objects as made
from tests.factories import snowflake

BITS = [VIEW, HISTORY, CONNECT, VIEW | HISTORY, VIEW | HISTORY | CONNECT]


def naive(guild: discord.Guild) -> dict[int, tuple[int, ...] | None]:
    found: dict[int, tuple[int, ...] | None] = {}
    for channel in guild.channels:
        if channel.type is discord.ChannelType.category:
            continue
        people: list[int] = []
        sure = True
        for member in guild.members:
            if member.bot:
                continue
            permissions = channel.permissions_for(member)
            sees = permissions.view_channel
            if isinstance(channel, discord.VoiceChannel):
                sees = sees and permissions.connect
            sure = sure and (not sees or permissions.read_message_history)
            if sees and permissions.read_message_history:
                people.append(member.id)
        found[channel.id] = tuple(sorted(people)) if sure else None
    return found


def random_guild(seed: int) -> discord.Guild:
    rng = random.Random(seed)
    owner = 500
    role_ids = list(range(101, 107))
    roles = [made.role_data(id, permissions=rng.choice([0, *BITS])) for id in role_ids]
    roles.append(made.role_data(150, permissions=ADMINISTRATOR))
    members = [
        made.member_data(
            500 + n, f"m{n}", rng.sample(role_ids, rng.randint(0, 3)) + ([150] if n == 7 else []), bot=n == 3
        )
        for n in range(25)
    ]
    id = snowflake()

    def overwrites() -> list[Any]:
        people = rng.sample(range(500, 525), 2)
        found = []
        for target in [*rng.sample([id, *role_ids], 3), *people]:
            allow, deny = rng.choice([0, *BITS]), rng.choice([0, *BITS])
            found.append(made.overwrite(target, member=target in people, allow=allow, deny=deny & ~allow))
        return found

    channels = [
        made.channel_data(
            900 + n,
            f"c{n}",
            rng.choice([made.TEXT, made.VOICE, made.FORUM, made.CATEGORY]),
            overwrites() if n % 3 else [],
        )
        for n in range(12)
    ]
    everyone = rng.choice([VIEW | HISTORY, VIEW | HISTORY | CONNECT, 0])
    return made.guild(id=id, everyone=everyone, roles=roles, members=members, channels=channels, owner=owner)


@pytest.mark.parametrize("seed", range(40))
def test_the_same_as_member_by_member(seed: int) -> None:
    guild = random_guild(seed)
    assert readers(rules_of(guild)) == naive(guild)


def test_bots_are_no_readers_and_the_owner_always_is() -> None:
    guild = made.guild(
        everyone=VIEW | HISTORY,
        members=[
            made.member_data(500, "owner"),
            made.member_data(501, "ada"),
            made.member_data(502, "robot", bot=True),
        ],
        channels=[made.channel_data(10), made.channel_data(11, overwrites=[])],
        owner=500,
    )
    assert readers(rules_of(guild))[10] == (500, 501)


def test_threads_have_their_parents_readers_and_private_ones_are_unknown() -> None:
    id = snowflake()
    guild = made.guild(
        id=id,
        everyone=VIEW | HISTORY,
        members=[made.member_data(501, "ada")],
        channels=[made.channel_data(10)],
        threads=[made.thread_data(20, 10, id), made.thread_data(21, 10, id, made.PRIVATE_THREAD)],
    )
    found = readers(rules_of(guild))
    assert found[20] == found[10] == (501,)
    assert found[21] is None


def test_a_channel_that_some_see_but_cannot_read_back_is_unknown() -> None:
    guild = made.guild(
        everyone=VIEW,
        roles=[made.role_data(101, permissions=HISTORY)],
        members=[made.member_data(501, "ada", [101]), made.member_data(502, "ben")],
        channels=[made.channel_data(10)],
    )
    assert readers(rules_of(guild))[10] is None


def test_a_big_server_takes_a_moment_not_a_minute() -> None:
    """20,000 members in 300 combinations of roles, 200 channels: far fewer steps than members times channels."""
    rng = random.Random(1)
    groups = {tuple(sorted(rng.sample(range(101, 130), 3))): [] for _ in range(300)}
    for member, key in zip(range(1_000, 21_000), rng.choices(list(groups), k=20_000), strict=True):
        groups[key].append(member)
    rules = GuildRules(
        guild_id=1,
        owner_id=1_000,
        role_permissions={1: VIEW | HISTORY, **dict.fromkeys(range(101, 130), 0)},
        members={key: tuple(ids) for key, ids in groups.items()},
        channels=tuple(
            ChannelRules(
                info=ChannelInfo(id=n),
                everyone=Overwrite(deny=VIEW if n % 2 else 0),
                roles={101: Overwrite(allow=VIEW)},
            )
            for n in range(200)
        ),
    )
    started = time.process_time()
    found = readers(rules)
    assert len(found[0] or ()) == 20_000 and 1_000 < len(found[1] or ()) < 20_000
    assert len({id(people) for people in found.values()}) == 2  # equal sets are one object
    assert time.process_time() - started < 30  # a computation member by member takes minutes
