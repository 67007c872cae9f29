"""A data set of conversations with questions, read and stored for a measurement."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from django.db import transaction
from django.utils import timezone

from memory import backends
from memory.embedding import embedded_text
from memory.errors import InvalidInput
from memory.index.base import GUILD_SHIFT, VectorRow
from memory.llm.base import Vectors
from memory.models import Channel, EmbeddingSpace, Guild, GuildMember, Member, Message

BATCH = 256
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Stored:
    """One conversation of the data set as it stands in the database."""

    guild: Guild
    ids: Mapping[int, str]
    """Id in the data set by key."""
    users: Mapping[str, int]
    questions: Sequence[Mapping[str, Any]]


def read(path: str) -> list[dict[str, Any]]:
    """The conversations of a file. Raises ``InvalidInput`` that says what is wrong with it."""
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise InvalidInput(f"{path} is not JSON: {error}") from error
    conversations = data.get("conversations") if isinstance(data, dict) else None
    if not isinstance(conversations, list) or not conversations:
        raise InvalidInput(f'{path} needs "conversations", a list of {{name, memories, questions}}.')
    for conversation in conversations:
        _check(conversation, path)
    return conversations


def _check(conversation: Any, path: str) -> None:
    if not isinstance(conversation, dict):
        raise InvalidInput(
            f"{path}: each conversation has to be an object with name, memories and questions."
        )
    name = conversation.get("name", "?")
    for part, needed in (
        ("memories", {"id", "user", "text", "timestamp"}),
        ("questions", {"text", "relevant"}),
    ):
        for number, entry in enumerate(conversation.get(part) or (), 1):
            missing = needed - set(entry) if isinstance(entry, dict) else needed
            if missing:
                raise InvalidInput(
                    f"{path}: number {number} of {part} in {name!r} lacks {', '.join(sorted(missing))}."
                )


def store(conversations: Sequence[dict[str, Any]], progress: Progress) -> list[Stored]:
    """Every conversation as a server of its own, with words and vectors."""
    embedder = backends.embedder()
    identity = embedder.identity()
    space = EmbeddingSpace.objects.create(
        provider=identity.provider,
        name=identity.name,
        digest=identity.digest,
        dimension=identity.dimension,
        state=EmbeddingSpace.State.ACTIVE,
    )
    index = backends.vector_index(space)
    index.create()
    stored = []
    for number, conversation in enumerate(conversations, 1):
        progress(f"storing {number} of {len(conversations)}: {len(conversation['memories'])} memories")
        with transaction.atomic():
            one, messages = _store_rows(number, conversation)
            backends.text_index().add([message.key for message in messages])
        vectors = embed([embedded_text(message) for message in messages])
        for start in range(0, len(messages), BATCH):
            batch = zip(messages[start : start + BATCH], vectors[start : start + BATCH], strict=True)
            index.add([VectorRow(message.key, message.channel_id, vector) for message, vector in batch])
        stored.append(one)
    return stored


_VERBS = {"does": "do", "has": "have", "is": "am", "were": "was"}


def first_person(question: Mapping[str, Any], users: Collection[str]) -> dict[str, Any] | None:
    """The question as the person would ask it whom it names (its ``asker``, or else the first): "When did I move?"

    None where it names nobody.
    """
    text = str(question["text"])
    wanted = [str(question["asker"])] if question.get("asker") else list(users)
    places = [(found.start(), name) for name in wanted if name and (found := _name(name).search(text))]
    if not places:
        return None
    name = min(places)[1]
    text = re.sub(rf"{_name(name).pattern}['’]s?(?!\w)", "my", text)
    text = re.sub(rf"\b(does|has|is|were) {_name(name).pattern}", _asks_me, text, flags=re.IGNORECASE)
    text = re.sub(rf"\b(to|for|with|of|about|by|from|at|on) {_name(name).pattern}", r"\1 me", text)
    text = _name(name).sub("I", text)
    return {**question, "text": text[:1].upper() + text[1:], "asker": name}


def _name(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")


def _asks_me(found: re.Match[str]) -> str:
    verb = _VERBS[found[1].lower()]
    return f"{verb.capitalize() if found[1][0].isupper() else verb} I"


def embed(texts: Sequence[str]) -> Vectors:
    """Vectors of documents with the configured embedder, in batches."""
    embedder = backends.embedder()
    parts = [
        embedder.embed_documents(list(texts[start : start + BATCH])) for start in range(0, len(texts), BATCH)
    ]
    return np.concatenate(parts) if parts else np.zeros((0, embedder.identity().dimension), np.float32)


def _store_rows(number: int, conversation: dict[str, Any]) -> tuple[Stored, list[Message]]:
    guild = Guild.objects.create(discord_id=number, name=str(conversation.get("name", number))[:200])
    channels: dict[str, Channel] = {}
    users: dict[str, int] = {}
    messages = []
    answered = {str(memory["reply_to"]) for memory in conversation["memories"] if memory.get("reply_to")}
    for sequence, memory in enumerate(conversation["memories"], 1):
        name = str(memory["user"])
        if name not in users:
            users[name] = number * 1_000_000 + len(users) + 1
            _create_member(guild, users[name], name)
        place = str(memory.get("channel", ""))
        if place not in channels:
            channel_id = number * 1_000 + len(channels) + 1
            channels[place] = Channel.objects.create(discord_id=channel_id, guild=guild, name=place)
        sent_at = datetime.fromisoformat(str(memory["timestamp"]))
        messages.append(
            Message(
                key=(guild.ordinal << GUILD_SHIFT) + sequence,
                guild=guild,
                channel=channels[place],
                member_id=users[name],
                author_id=users[name],
                author_name=name,
                text=str(memory["text"] or ""),
                captions=str(memory.get("image") or ""),
                discord_id=_message_id(number, memory["id"]) if str(memory["id"]) in answered else None,
                reply_to=_message_id(number, memory.get("reply_to")),
                sent_at=sent_at if sent_at.tzinfo else sent_at.replace(tzinfo=UTC),
                embedding=Message.Embedding.DONE,
                source="import",
            )
        )
        answered.discard(str(memory["id"]))  # an id that comes twice is that of its first message
    Message.objects.bulk_create(messages, batch_size=500)
    ids = {
        message.key: str(memory["id"])
        for message, memory in zip(messages, conversation["memories"], strict=True)
    }
    return Stored(guild, ids, users, conversation.get("questions") or []), messages


def _message_id(number: int, name: object) -> int | None:
    """An id of Discord's size for a message of a data set."""
    if name in (None, ""):
        return None
    digest = hashlib.blake2b(f"{number} {name}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) >> 1


def _create_member(guild: Guild, user_id: int, name: str) -> None:
    member = Member.objects.create(
        user_id=user_id,
        username=name[:100],
        display_name=name[:200],
        consented_at=timezone.now(),
        notice_version="none",
        origin="import",
    )
    GuildMember.objects.create(guild=guild, member=member, username=name[:100], display_name=name[:200])
