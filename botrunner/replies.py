"""One reply of the bot on Discord: shown while it is written, complete in the end, never twice."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

import aiohttp
import discord

from botrunner.pacing import Pace
from botrunner.splitting import split

logger = logging.getLogger(__name__)
T = TypeVar("T")

NO_MENTIONS = discord.AllowedMentions.none()
LOST = (aiohttp.ClientError, OSError, asyncio.TimeoutError, discord.DiscordServerError)
"""The request may or may not have been carried out. The nonce makes it safe to repeat."""
RETRIES = (0.5, 1.0, 2.0, 5.0, 10.0)
"""Seconds to wait before each repetition."""


class ReplyGone(Exception):
    """Somebody deleted the reply, or the bot may not write there any more."""


@dataclass(slots=True)
class Part:
    """One message of the reply, as it stands on Discord."""

    message: discord.PartialMessage | discord.Message
    content: str
    created_at: datetime


def nonce(trigger_id: int, part: int) -> str:
    """What makes Discord return the message it already has instead of sending a second one; at most 25 characters."""
    return f"{trigger_id}-{part}"


class ReplyWriter:
    """Writes the answer to one message.

    ``update`` takes the text so far and returns at once; a task shows it at a pace that Discord allows. ``finish`` shows the
    complete text, whatever happened before. ``gone`` is set once there is nothing left to write to.
    """

    def __init__(
        self, question: discord.Message, *, pace: Pace | None = None, retries: tuple[float, ...] = RETRIES
    ) -> None:
        self.question = question
        self.channel: Any = question.channel
        self.parts: list[Part] = []
        self.gone = asyncio.Event()
        self._pace = pace or Pace()
        self._retries = retries
        self._text = ""
        self._changed = asyncio.Event()
        self._ended = asyncio.Event()
        """Set when the text is complete, or nothing more is to be shown."""
        self._task: asyncio.Task[None] | None = None

    @property
    def message_ids(self) -> frozenset[int]:
        return frozenset(part.message.id for part in self.parts)

    def update(self, text: str) -> None:
        """Notes the text so far; it is shown when the pace allows."""
        self._text = text
        self._changed.set()
        if self._task is None and text.strip():
            self._task = asyncio.create_task(self._show_as_it_comes())

    async def finish(self, text: str) -> list[Part]:
        """Shows the complete text and returns its parts; raises ``ReplyGone`` if it cannot be shown."""
        self._end()
        if self._task is not None:
            await self._task  # a request under way is never cut off: what it did would be unknown
        if self.gone.is_set():
            raise ReplyGone()
        await self._show(text, final=True)
        return self.parts

    async def stop(self) -> None:
        """Leaves the reply as it is (the bot is being stopped)."""
        self._end()
        if self._task is not None:
            await self._task

    async def adopt(self) -> None:
        """Takes over what an earlier process had already sent of this reply before it was killed.

        The nonce alone protects for the few minutes that Discord remembers it.
        """
        me = self.channel.guild.me.id if self.channel.guild else self.question._state.self_id
        found: list[discord.Message] = []
        with contextlib.suppress(discord.HTTPException, *LOST):
            async for message in self.channel.history(after=self.question, limit=100, oldest_first=True):
                if message.author.id != me:
                    continue
                answers = message.reference.message_id if message.reference else None
                if answers == self.question.id:
                    found = [message]
                elif found and answers is None:
                    found.append(message)
                elif found:
                    break  # the reply to another question begins
        self.parts = [Part(message, message.content, message.created_at) for message in found]

    def deleted(self, message_ids: frozenset[int]) -> None:
        """Notes that messages were deleted; a reply that lost a part is given up."""
        if self.message_ids & message_ids:
            self._give_up()

    async def _show_as_it_comes(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while not self._ended.is_set():
                await self._changed.wait()
                self._changed.clear()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._ended.wait(), self._pace.wait(loop.time()))
                if self._ended.is_set():
                    return
                started = loop.time()
                await self._show(self._text, final=False)
                self._pace.shown(started, loop.time())
        except ReplyGone:
            pass
        except (discord.HTTPException, *LOST):
            logger.warning("a reply could not be shown while it was written; it will be when it is complete")

    async def _show(self, text: str, *, final: bool) -> None:
        wanted = split(text)
        for number, content in enumerate(wanted):
            if number == len(self.parts):
                await self._send(number, content)
            part = self.parts[number]
            if part.content != content:
                await self._edit(part, content, retry=final)
        if final:
            for part in self.parts[len(wanted) :]:
                await self._delete(part)
            del self.parts[len(wanted) :]

    async def _send(self, number: int, content: str) -> None:
        message = await self._lasting(lambda: self._post(number, content))
        # A message that was sent under this nonce before has the text of then; the caller compares and edits.
        self.parts.append(Part(message, message.content, message.created_at))

    async def _post(self, number: int, content: str) -> discord.Message:
        # Previews would have Discord open whatever address an answer names, before anybody presses it.
        options: dict[str, Any] = {"suppress_embeds": True}
        if number == 0 and self._may_refer():
            options["reference"] = self.question.to_reference(fail_if_not_exists=False)
            options["mention_author"] = False
        sent: discord.Message = await self.channel.send(
            content, nonce=nonce(self.question.id, number), allowed_mentions=NO_MENTIONS, **options
        )
        return sent

    def _may_refer(self) -> bool:
        """A reply that refers to a message needs the permission to read old messages."""
        guild = self.channel.guild if hasattr(self.channel, "guild") else None
        return guild is None or bool(self.channel.permissions_for(guild.me).read_message_history)

    async def _edit(self, part: Part, content: str, *, retry: bool) -> None:
        async def edit() -> None:
            await part.message.edit(content=content, allowed_mentions=NO_MENTIONS)

        await (self._lasting(edit) if retry else self._once(edit))
        part.content = content

    async def _delete(self, part: Part) -> None:
        async def delete() -> None:
            await part.message.delete()

        with contextlib.suppress(ReplyGone, discord.HTTPException, *LOST):
            await self._once(delete)

    async def _lasting(self, request: Callable[[], Awaitable[T]]) -> T:
        """Carries out a request although connections break; raises what broke the last one."""
        for delay in self._retries:
            try:
                return await self._once(request)
            except LOST:
                await asyncio.sleep(delay)
        return await self._once(request)

    async def _once(self, request: Callable[[], Awaitable[T]]) -> T:
        if self.gone.is_set():
            raise ReplyGone()
        try:
            return await request()
        except (discord.NotFound, discord.Forbidden) as error:
            # 10008: the message was deleted; 10003 and 50001 and 50013: the channel is gone or closed to the bot.
            logger.info("a reply was given up: Discord says %s", error.code)
            self._give_up()
            raise ReplyGone() from error

    def _give_up(self) -> None:
        self.gone.set()
        self._end()

    def _end(self) -> None:
        self._ended.set()
        self._changed.set()


async def keep_typing(channel: Any) -> None:
    """Shows that the bot is typing, until cancelled. Not being able to is no reason to say nothing."""
    while True:
        with contextlib.suppress(discord.HTTPException, *LOST):
            await channel.typing()
        await asyncio.sleep(8)
