"""What the tests of turns share: a scripted model, a recall that says what it is told to, and requests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from memory import models
from memory.llm.scripted import ScriptedChatModel
from memory.types import (
    ChannelInfo,
    GuildInfo,
    Person,
    Recall,
    RecalledMemory,
    RecallQuery,
    TurnDelta,
    TurnEvent,
    TurnRequest,
    TurnResult,
)
from tests.factories import snowflake


@dataclass
class RecallDouble:
    """Stands in for ``memory.retrieval.recall``; keeps what it was asked."""

    result: Recall = field(default_factory=Recall)
    error: Exception | None = None
    queries: list[RecallQuery] = field(default_factory=list)
    meanwhile: Callable[[], object] | None = None

    def __call__(self, query: RecallQuery) -> Recall:
        self.queries.append(query)
        if self.meanwhile:
            self.meanwhile()
        if self.error:
            raise self.error
        return self.result


def use_model(monkeypatch: Any, model: ScriptedChatModel | None) -> None:
    monkeypatch.setattr("memory.backends.chat_model", lambda: model, raising=False)


def use_recall(monkeypatch: Any, *memories: RecalledMemory, **values: Any) -> RecallDouble:
    double = RecallDouble(Recall(tuple(memories), **values))
    monkeypatch.setattr("memory.retrieval.recall", double, raising=False)
    return double


def configure(
    settings: Any, *, chat: dict[str, Any] | None = None, memory: dict[str, Any] | None = None
) -> None:
    """Changes settings of ``Config.chat`` and ``Config.memory`` for one test."""
    config = settings.MUSEBOT
    settings.MUSEBOT = config.model_copy(
        update={
            "chat": config.chat.model_copy(update=chat or {}),
            "memory": config.memory.model_copy(update=memory or {}),
        }
    )


def recalled(message: models.Message, score: float = 1.0, **values: Any) -> RecalledMemory:
    return RecalledMemory(
        key=message.key,
        discord_message_id=message.discord_id,
        channel_id=message.channel_id,
        channel_name=message.channel.name,
        author_id=message.author_id,
        author_name=message.author_name,
        text=message.text,
        sent_at=message.sent_at,
        score=score,
        scores={"cosine": score},
        **values,
    )


def ask(
    question: str = "Where is the boat?",
    *,
    channel: models.Channel | None = None,
    asker: models.Member | Person | None = None,
    **values: Any,
) -> TurnRequest:
    """A question in a channel, by a member or by somebody who has not opted in."""
    if isinstance(asker, models.Member):
        asker = Person(asker.user_id, asker.username, asker.display_name)
    if channel is not None:
        values.setdefault("guild", GuildInfo(channel.guild.discord_id, channel.guild.name))
        values.setdefault("channel", ChannelInfo(channel.discord_id, channel.name, topic=channel.topic))
    return TurnRequest(question, asker or Person(snowflake(), "stranger", "Stranger"), **values)


def split(events: Any) -> tuple[list[str], TurnResult]:
    """The pieces of a turn, and its one result at the end."""
    found: list[TurnEvent] = list(events)
    pieces = [event.text for event in found[:-1] if isinstance(event, TurnDelta)]
    assert len(pieces) == len(found) - 1
    assert isinstance(found[-1], TurnResult)
    return pieces, found[-1]
