"""Storing what is said while 20 replies stream, as the bot does it, compared with a transaction for each message; how soon a reply is
shown after the model's first piece; and what storing costs by itself.

Discord is a stand-in in this process that takes as long to answer as Discord does. Embedding is left out.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any, cast

import discord

from botrunner.bridge import Bridge
from botrunner.gathering import Gathering
from botrunner.replies import ReplyWriter
from memory import backends, capture, chat
from memory.benchmarks import storing
from memory.benchmarks.people import conversation, member
from memory.benchmarks.scratch import scratch_database
from memory.benchmarks.timing import load, percentiles
from memory.llm.base import ChatChunk, ChatRequest
from memory.llm.hashing import HashEmbedder
from memory.llm.tokens import count_tokens
from memory.types import ChannelInfo, IncomingMessage, TurnDelta, TurnRequest

ROWS = 5_000
REPLIES = 20
CHANNELS = 40
FIRST_CHANNEL = 1_200_000_000_000_010_000
ONE_BY_ONE_SHARE = 5
"""One message in so many is stored for the comparison."""
DISCORD_SECONDS = 0.08
PIECES, PIECE_SECONDS = 40, 0.05
REQUIRED = 500
"""Messages a second."""
SOON = 300
"""Milliseconds from the model's first piece to the request that shows it."""

Progress = Callable[[str], None]
Store = Callable[[IncomingMessage], Awaitable[int | None]]


class SlowModel:
    """Streams as a model does; ``first`` holds when each stream gave its first piece, by the question's last word."""

    name = "slow"
    context_window = 8192

    def __init__(self) -> None:
        self.first: dict[str, float] = {}
        self._lock = threading.Lock()

    def takes_tools(self) -> bool:
        return False

    def stream(self, request: ChatRequest) -> Iterator[ChatChunk]:
        time.sleep(PIECE_SECONDS)
        with self._lock:
            self.first[request.messages[-1].content.split()[-1]] = time.perf_counter()
        for number in range(PIECES):
            yield ChatChunk(text=f"word{number} ", host="here", model=self.name)
            time.sleep(PIECE_SECONDS)
        yield ChatChunk(done=True, done_reason="stop", host="here", model=self.name)

    def count_tokens(self, text: str) -> int:
        return count_tokens(text)

    def check(self) -> Mapping[str, Any]:
        return {"ok": True, "model": self.name, "hosts": [], "message": ""}


class _Message:
    """A message of the bot's on the stand-in for Discord."""

    def __init__(self, number: int, content: str) -> None:
        self.id, self.content, self.created_at = number, content, datetime.now(UTC)

    async def edit(self, *, content: str, **options: Any) -> None:
        await asyncio.sleep(DISCORD_SECONDS)
        self.content = content

    async def delete(self) -> None:
        await asyncio.sleep(DISCORD_SECONDS)


class _Channel:
    """``sent_at``: when the bot first asked to have something shown."""

    guild = None
    _numbers = itertools.count(1)

    def __init__(self) -> None:
        self.sent_at = 0.0

    async def send(self, content: str, **options: Any) -> _Message:
        self.sent_at = self.sent_at or time.perf_counter()
        await asyncio.sleep(DISCORD_SECONDS)
        return _Message(next(self._numbers), content)


class _Question:
    def __init__(self, number: int) -> None:
        self.id, self.channel = number, _Channel()

    def to_reference(self, **options: Any) -> None:
        return None


def run(*, rows: int = ROWS, progress: Progress = lambda message: None) -> dict[str, Any]:
    """Messages a second and milliseconds, with what is required of both."""
    progress(f"storing {rows:,} messages, without replies")
    alone = storing.run(rows=rows)
    model = SlowModel()
    with scratch_database(), backends.override(chat_model=model, embedder=HashEmbedder()):
        messages = _messages(rows + rows // ONE_BY_ONE_SHARE)
        progress(f"storing {rows:,} messages while {REPLIES} replies stream")
        result = asyncio.run(_both(messages, rows, model))
    return {
        "rows": rows,
        "required_messages_per_second": REQUIRED,
        "required_first_edit_ms": SOON,
        **result,
        "without_replies": alone,
        "load_after": load(),
    }


def _messages(count: int) -> list[IncomingMessage]:
    people = [member(number) for number in range(20)]
    found = []
    for number, message in enumerate(conversation(people, count, seed=5)):
        channel = ChannelInfo(FIRST_CHANNEL + number % CHANNELS, f"channel-{number % CHANNELS}")
        found.append(
            IncomingMessage(message.id, message.guild, channel, message.author, message.text, message.sent_at)
        )
    return found


async def _both(messages: Sequence[IncomingMessage], rows: int, model: SlowModel) -> dict[str, Any]:
    bridge = Bridge(reply_threads=REPLIES)
    over = asyncio.Event()
    first: list[float] = []
    streams = [
        asyncio.create_task(_replies(bridge, model, messages[number], number, over, first))
        for number in range(REPLIES)
    ]
    gathering = Gathering(bridge)
    together = await _store_all(messages[:rows], gathering.store)

    async def alone(message: IncomingMessage) -> int | None:
        return await bridge.capture(capture.record_message, message)

    singly = await _store_all(messages[rows:], alone)
    over.set()
    await asyncio.gather(*streams)
    await bridge.close()
    return {
        "messages_per_second": round(together),
        "one_transaction_each_per_second": round(singly),
        "ratio": round(together / singly, 1),
        "replies": len(first),
        "first_edit_ms": percentiles(first) | {"most": round(max(first), 1)},
    }


async def _store_all(messages: Sequence[IncomingMessage], store: Store) -> float:
    """Messages a second; those of a channel one after the other, as their order has to stay."""
    by_channel: dict[int, list[IncomingMessage]] = {}
    for message in messages:
        by_channel.setdefault(message.channel.id, []).append(message)

    async def one_channel(some: list[IncomingMessage]) -> None:
        for message in some:
            assert await store(message) is not None

    began = time.perf_counter()
    await asyncio.gather(*map(one_channel, by_channel.values()))
    return len(messages) / (time.perf_counter() - began)


async def _replies(
    bridge: Bridge,
    model: SlowModel,
    said: IncomingMessage,
    number: int,
    over: asyncio.Event,
    first: list[float],
) -> None:
    """Replies one after the other in one channel until everything is stored; at least one."""
    for turn in itertools.count():
        word = f"q{number}x{turn}"
        question = _Question(10**15 + number * 10**6 + turn)
        request = TurnRequest(
            f"What was said about the harbour? {word}", said.author, said.guild, said.channel
        )
        writer, text = ReplyWriter(cast(discord.Message, question)), ""
        async with aclosing(bridge.stream(chat.run_turn, request)) as events:
            async for event in events:
                if isinstance(event, TurnDelta):
                    text += event.text
                    writer.update(text)
        await writer.finish(text)
        first.append((question.channel.sent_at - model.first[word]) * 1000)
        if over.is_set():
            return


def lines(result: Mapping[str, Any]) -> Iterator[str]:
    yield f"{result['rows']:,} messages in {CHANNELS} channels while {REPLIES} replies stream"
    yield f"  stored a second                      {result['messages_per_second']:>8,}  (at least {REQUIRED})"
    yield f"  in a transaction each                {result['one_transaction_each_per_second']:>8,}"
    one = result["first_edit_ms"]
    yield (
        f"  first piece shown after, ms          {one['p50']:>8.0f} p50 {one['p95']:>6.0f} p95 "
        f"{one['most']:>6.0f} at most  (within {SOON})"
    )
    two = result["without_replies"]
    yield f"without replies: {two['bulk_messages_per_second']:,} a second in bulk"
    for name in ("stranger_ms", "one_ms", "one_with_embedding_in_line_ms"):
        yield f"  {name.removesuffix('_ms').replace('_', ' '):36} {two[name]['p50']:>8.2f} ms p50"
