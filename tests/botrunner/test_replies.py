"""A reply ends complete, is sent once however often the connection breaks, and stops when somebody deletes it."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import aiohttp
import discord
import pytest

from botrunner.client import make_client
from botrunner.pacing import Pace
from botrunner.replies import ReplyGone, ReplyWriter, nonce


def http_error(kind: type[discord.HTTPException], status: int, code: int) -> discord.HTTPException:
    return kind(SimpleNamespace(status=status, reason="no"), {"code": code, "message": "no"})  # type: ignore[arg-type]


class Message:
    def __init__(self, channel: Channel, id: int, content: str) -> None:
        self.channel, self.id, self.content = channel, id, content
        self.created_at = datetime(2026, 3, 1, tzinfo=UTC)
        self.author = SimpleNamespace(id=channel.me)
        self.reference: Any = None

    async def edit(self, *, content: str, allowed_mentions: Any) -> None:
        self.channel.trouble()
        if self.id not in self.channel.messages:
            raise http_error(discord.NotFound, 404, 10008)
        self.channel.edits += 1
        self.content = content

    async def delete(self) -> None:
        self.channel.messages.pop(self.id)


class Channel:
    """Sends, edits and deletes as Discord does: a nonce that it knows gives the message it already has."""

    guild = None
    me = 7

    def __init__(self) -> None:
        self.messages: dict[int, Message] = {}
        self.nonces: dict[str, Message] = {}
        self.options: list[dict[str, Any]] = []
        self.failures: list[Exception] = []
        self.lost_answers: list[Exception] = []
        self.edits = 0

    def trouble(self) -> None:
        if self.failures:
            raise self.failures.pop(0)

    async def send(self, content: str, *, nonce: str, **options: Any) -> Message:
        self.trouble()
        message = self.nonces.get(nonce)
        if message is None:
            message = self.nonces[nonce] = Message(self, 100 + len(self.nonces), content)
            self.messages[message.id] = message
            self.options.append(options)
        if self.lost_answers:
            raise self.lost_answers.pop(0)
        return message

    async def history(self, **_: Any) -> Any:
        for message in self.messages.values():
            yield message

    @property
    def texts(self) -> list[str]:
        return [message.content for message in self.messages.values()]


def writer(channel: Channel, question_id: int = 42) -> ReplyWriter:
    question: Any = SimpleNamespace(
        id=question_id,
        channel=channel,
        _state=SimpleNamespace(self_id=channel.me),
        to_reference=lambda fail_if_not_exists: ("reference", fail_if_not_exists),
    )
    pace = Pace()
    pace.interval = 0.0
    return ReplyWriter(question, pace=pace, retries=(0.0, 0.0, 0.0))


async def shown(channel: Channel, text: str) -> None:
    async with asyncio.timeout(5):
        while channel.texts != [text]:
            await asyncio.sleep(0)


def test_a_nonce_fits_and_differs_by_message_and_part() -> None:
    longest = 2**64 - 1
    assert len(nonce(longest, 999)) <= 25
    assert len({nonce(1, 11), nonce(11, 1), nonce(1, 1), nonce(111, 0)}) == 4


async def test_it_streams_and_ends_complete() -> None:
    channel = Channel()
    reply = writer(channel)
    reply.update("Hel")
    await shown(channel, "Hel")
    reply.update("Hello, wor")
    await shown(channel, "Hello, wor")
    reply.update("Hello, worl")
    parts = await reply.finish("Hello, world")
    assert channel.texts == ["Hello, world"]
    assert [part.content for part in parts] == ["Hello, world"]
    options = channel.options[0]
    assert options["reference"] == ("reference", False)
    assert options["allowed_mentions"].to_dict() == {"parse": []}


async def test_a_long_answer_becomes_several_messages_of_which_one_refers() -> None:
    channel = Channel()
    text = "\n".join(f"line {number} " + "x" * 50 for number in range(100))
    parts = await writer(channel).finish(text)
    assert len(parts) == 3
    assert "\n".join(channel.texts) == text
    assert ["reference" in options for options in channel.options] == [True, False, False]


async def test_an_answer_that_was_lost_on_the_way_back_is_not_sent_again() -> None:
    channel = Channel()
    channel.lost_answers = [aiohttp.ServerDisconnectedError(), aiohttp.ClientOSError()]
    await writer(channel).finish("once")
    assert channel.texts == ["once"]


async def test_failures_while_streaming_do_not_cost_the_end() -> None:
    channel = Channel()
    reply = writer(channel)
    reply.update("par")
    await shown(channel, "par")
    channel.failures = [aiohttp.ClientOSError(), http_error(discord.DiscordServerError, 503, 0)]
    reply.update("parti")
    await asyncio.sleep(0.01)
    await reply.finish("partial no more")
    assert channel.texts == ["partial no more"]


async def test_a_connection_that_stays_broken_is_reported() -> None:
    channel = Channel()
    channel.failures = [aiohttp.ClientOSError()] * 10
    with pytest.raises(aiohttp.ClientError):
        await writer(channel).finish("never")


async def test_a_deleted_reply_is_given_up() -> None:
    channel = Channel()
    reply = writer(channel)
    reply.update("first")
    await shown(channel, "first")
    channel.messages.clear()
    with pytest.raises(ReplyGone):
        await reply.finish("first and second")
    assert channel.texts == [] and reply.gone.is_set()


async def test_it_learns_of_a_deletion_from_the_gateway() -> None:
    channel = Channel()
    reply = writer(channel)
    reply.update("first")
    await shown(channel, "first")
    reply.deleted(frozenset({5}))
    assert not reply.gone.is_set()
    reply.deleted(reply.message_ids)
    assert reply.gone.is_set()
    with pytest.raises(ReplyGone):
        await reply.finish("more")


async def test_the_same_nonce_after_a_crash_gives_the_old_message_and_edits_it() -> None:
    channel = Channel()
    before = writer(channel)
    before.update("half an ans")
    await shown(channel, "half an ans")
    await before.stop()
    await writer(channel).finish("half an answer, and the rest")
    assert channel.texts == ["half an answer, and the rest"]


async def test_after_a_crash_it_takes_over_what_discord_forgot_the_nonce_of() -> None:
    channel = Channel()
    await writer(channel).finish("\n".join("y" * 60 for _ in range(100)))
    first, *rest = channel.messages.values()
    first.reference = SimpleNamespace(message_id=42)
    assert len(rest) == 3
    channel.nonces.clear()
    again = writer(channel)
    await again.adopt()
    await again.finish("short this time")
    assert channel.texts == ["short this time"]


async def test_it_does_not_take_over_somebody_elses_reply() -> None:
    channel = Channel()
    await writer(channel, 41).finish("to another question")
    next(iter(channel.messages.values())).reference = SimpleNamespace(message_id=41)
    again = writer(channel, 42)
    await again.adopt()
    assert again.parts == []


async def test_no_part_of_an_answer_opens_the_addresses_that_it_names() -> None:
    channel = Channel()
    await writer(channel).finish("See https://evil.example/?q=secret " + "word " * 600)
    assert len(channel.options) > 1 and all(one["suppress_embeds"] for one in channel.options)


async def test_whatever_the_client_sends_mentions_nobody() -> None:
    """Beside what each reply says itself: notices, answers to commands, and what is written later."""
    client = make_client(MagicMock())
    assert client.allowed_mentions is not None
    assert client.allowed_mentions.to_dict() == {"parse": []}
    assert client.allowed_mentions.replied_user is False
