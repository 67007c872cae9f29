"""Rows and values for tests. Every factory gives something valid; name only what the test is about."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

import factory
from factory.django import DjangoModelFactory

from memory import models
from memory.index.base import GUILD_SHIFT
from memory.types import ChannelInfo, GuildInfo, IncomingMessage, Person

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
_snowflakes = itertools.count(1_400_000_000_000_000_000, 4_194_304)


def snowflake() -> int:
    """A new id, as Discord makes them."""
    return next(_snowflakes)


class GuildFactory(DjangoModelFactory):
    class Meta:
        model = models.Guild

    discord_id = factory.LazyFunction(snowflake)
    name = factory.Sequence(lambda n: f"Server {n}")


class ChannelFactory(DjangoModelFactory):
    class Meta:
        model = models.Channel

    discord_id = factory.LazyFunction(snowflake)
    guild = factory.SubFactory(GuildFactory)
    name = factory.Sequence(lambda n: f"channel-{n}")


class MemberFactory(DjangoModelFactory):
    class Meta:
        model = models.Member

    user_id = factory.LazyFunction(snowflake)
    username = factory.Sequence(lambda n: f"member{n}")
    display_name = factory.Sequence(lambda n: f"Member {n}")
    consented_at = START
    notice_version = "2026-12"


class MessageFactory(DjangoModelFactory):
    """A row alone: neither vectors nor words are indexed. Use ``memory.capture`` where they matter."""

    class Meta:
        model = models.Message

    channel = factory.SubFactory(ChannelFactory)
    guild = factory.SelfAttribute("channel.guild")
    member = factory.SubFactory(MemberFactory)
    key = factory.LazyAttributeSequence(lambda o, n: (o.guild.ordinal << GUILD_SHIFT) + 1_000_000 + n)
    author_id = factory.SelfAttribute("member.user_id")
    author_name = factory.SelfAttribute("member.display_name")
    discord_id = factory.LazyFunction(snowflake)
    text = factory.Sequence(lambda n: f"message number {n}")
    sent_at = factory.Sequence(lambda n: START + timedelta(minutes=n))


def person(name: str = "ada", **values: Any) -> Person:
    return Person(**{"id": snowflake(), "username": name, "display_name": name.title(), **values})


def incoming(
    text: str = "hello",
    *,
    author: Person | None = None,
    guild: GuildInfo | None = None,
    channel: ChannelInfo | None = None,
    **values: Any,
) -> IncomingMessage:
    """A message as it comes from Discord."""
    return IncomingMessage(
        id=values.pop("id", None) or snowflake(),
        guild=guild or GuildInfo(id=1_300_000_000_000_000_001, name="Harbour"),
        channel=channel or ChannelInfo(id=1_300_000_000_000_000_002, name="general"),
        author=author or person(),
        text=text,
        sent_at=values.pop("sent_at", START),
        **values,
    )
