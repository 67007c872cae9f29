"""A server with memories that are indexed, without the rest of the product."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from memory import backends
from memory.index.base import VectorRow
from memory.models import Channel, EmbeddingSpace, Guild, GuildMember, Member, Message
from memory.types import RecallQuery
from tests.factories import ChannelFactory, GuildFactory, MemberFactory, MessageFactory

NOW = datetime(2026, 7, 1, 12, 0, tzinfo=UTC)


class Town:
    """One server. ``say`` stores a message with its words and, if there is a space, its vector."""

    def __init__(self, *, vectors: bool = True) -> None:
        self.guild: Guild = GuildFactory(recall_policy=Guild.RecallPolicy.GUILD)
        self.channel: Channel = ChannelFactory(guild=self.guild, name="general")
        self.people: dict[str, Member] = {}
        self.vectors = vectors

    def member(self, name: str, **values: Any) -> Member:
        if name not in self.people:
            values = {"username": name.lower().replace(" ", "_"), "display_name": name} | values
            self.people[name] = MemberFactory(**values)
            GuildMember.objects.create(
                guild=self.guild, member=self.people[name], username=values["username"], display_name=name
            )
        return self.people[name]

    def say(
        self, name: str, text: str, *, on: str = "", channel: Channel | None = None, **values: Any
    ) -> Message:
        if on:
            values["sent_at"] = datetime.fromisoformat(on).replace(tzinfo=UTC)
        message = MessageFactory(
            channel=channel or self.channel, member=self.member(name), text=text, embedding="done", **values
        )
        backends.text_index().add([message.key])
        if self.vectors:
            embed(message)
        return message

    def ask(self, text: str, **values: Any) -> RecallQuery:
        return RecallQuery(**{"text": text, "guild_id": self.guild.discord_id, "now": NOW} | values)


def space() -> EmbeddingSpace:
    identity = backends.embedder().identity()
    found, new = EmbeddingSpace.objects.get_or_create(
        provider=identity.provider,
        name=identity.name,
        digest=identity.digest,
        dimension=identity.dimension,
        defaults={"state": EmbeddingSpace.State.ACTIVE},
    )
    if new:
        backends.vector_index(found).create()
    return found


def embed(message: Message) -> None:
    [vector] = backends.embedder().embed_documents([f"{message.author_name}: {message.text}"])
    backends.vector_index(space()).add([VectorRow(message.key, message.channel_id, vector)])
