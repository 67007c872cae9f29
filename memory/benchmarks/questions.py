"""Questions about memories of a large installation, with their vectors, and an embedder that hands these out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db.models import Min

from memory import backends
from memory.benchmarks.invented import Talk
from memory.index.base import Vector, key_range
from memory.llm.base import EmbedderIdentity, Vectors
from memory.llm.local import LocalEmbedder
from memory.models import Channel, EmbeddingSpace, Guild, Message


@dataclass(frozen=True, slots=True)
class Question:
    """Asked in a channel that everybody reads, about the message ``target``."""

    guild: Guild
    channel_id: int
    asker_id: int
    target: int
    text: str
    vector: Vector


class Given:
    """Hands out the vector of the question that is being measured: embedding it is no part of what is measured."""

    vector: Vector

    def identity(self) -> EmbedderIdentity:
        return LocalEmbedder().identity()

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self.vector for _ in texts])

    def embed_query(self, text: str) -> Vectors:
        return self.vector

    def check(self) -> Mapping[str, Any]:
        return {}


def space() -> EmbeddingSpace:
    return EmbeddingSpace.objects.get(state=EmbeddingSpace.State.ACTIVE)


def by_size(guilds: Sequence[Guild], count: int, talk: Talk) -> list[Guild]:
    """Guilds drawn as memories are spread over them."""
    sizes = np.array([guild.message_count for guild in guilds], float)
    return [guilds[int(n)] for n in talk.chance.choice(len(guilds), count, p=sizes / sizes.sum())]


def ask(guilds: Sequence[Guild], talk: Talk) -> list[Question]:
    """A question in each of these guilds."""
    index = backends.vector_index(space())
    found = []
    for guild in guilds:
        first = key_range(guild.ordinal)[0]
        target = first + 1 + int(talk.chance.integers(guild.message_count))
        rows = Message.objects.filter(key__range=(first, target), embedding=Message.Embedding.DONE)
        message = rows.order_by("-key")[0]
        vector = talk.near(index.vectors([message.key])[message.key])
        text = talk.ask(message.text)
        found.append(Question(guild, _open_channel(guild), message.member_id, message.key, text, vector))
    return found


def _open_channel(guild: Guild) -> int:
    """One that everybody reads: the first of a guild is."""
    channels = Channel.objects.filter(guild=guild, audience__isnull=False)
    return int(channels.aggregate(first=Min("discord_id"))["first"])
