"""Answers: when the bot speaks, in which order, and what becomes of the answer."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from contextlib import aclosing
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import discord
from discord.ext import commands

from botrunner import adapters
from botrunner.lines import Lines, Place
from botrunner.quiet import log_failure
from botrunner.replies import LOST, Part, ReplyGone, ReplyWriter, keep_typing
from botrunner.rules import is_silenced, may_want_answer, policy_of, shown_text, turn_request, wants_answer
from memory import chat
from memory.conf import get_config
from memory.types import TurnDelta, TurnRequest, TurnResult

if TYPE_CHECKING:
    from botrunner.client import MusebotClient

logger = logging.getLogger(__name__)

RESUMED = timedelta(minutes=10)
"""How long after the question an answer that a crash interrupted still makes sense."""
NOTED = timedelta(days=30)
"""Older ones are only noted as failed."""


class ChatCog(commands.Cog):
    """Questions of one channel are answered one after the other, those of different channels at the same time."""

    def __init__(self, bot: MusebotClient) -> None:
        self.bot = bot
        self._turns = asyncio.Semaphore(bot.bridge.reply_threads)
        self._lines = Lines()
        self._writers: set[ReplyWriter] = set()
        self._answering: set[int] = set()
        self._running: set[asyncio.Task[None]] = set()

    @commands.Cog.listener()
    async def on_message(self, message: discord.Message) -> None:
        if not adapters.is_plain(message):
            return
        place = self._lines.take(message.channel.id)
        try:
            if not await self.bot.knows(message):
                return
            key = await self.bot.capturing.store(message)
            if await self._wants_answer(message):
                await self._as_task(self.answer(message, key, place))
        except Exception as error:
            log_failure(logger, f"answering message {message.id}", error)
        finally:
            place.leave()

    async def _wants_answer(self, message: discord.Message) -> bool:
        """Where the policy cannot be read, nobody is answered."""
        if not may_want_answer(message):
            return False
        return wants_answer(message, self.bot.me, await self.bot.bridge.capture(policy_of, message))

    async def answer(
        self, message: discord.Message, question_key: int | None, place: Place, *, resumed: bool = False
    ) -> None:
        """Answers a message; returns when the answer stands complete, or cannot be given any more, and leaves its place."""
        if message.id in self._answering:
            place.leave()
            return
        self._answering.add(message.id)
        try:
            request = turn_request(message, self.bot.me)
            # Noted before it waits for its turn, so that a question is not forgotten if the bot is killed meanwhile.
            trace_id = await self.bot.bridge.capture(chat.begin, request)
            if trace_id is None:
                return
            await place.turn()
            async with self._turns:
                await self._turn(message, request, trace_id, question_key, resumed)
        finally:
            self._answering.discard(message.id)
            place.leave()

    async def _turn(
        self,
        message: discord.Message,
        request: TurnRequest,
        trace_id: str,
        question_key: int | None,
        resumed: bool,
    ) -> None:
        writer = ReplyWriter(message)
        self._writers.add(writer)
        typing = asyncio.create_task(keep_typing(message.channel))
        answer_key: int | None = None
        state = "failed"
        try:
            if resumed:
                await writer.adopt()
            result = await self._write(writer, request, trace_id)
            parts = await writer.finish(shown_text(result))
            if result is not None and result.kind != "error":
                state = "done"
                answer_key = await self._keep(message, parts, result.kept)
        except ReplyGone:
            state = "done"  # somebody removed the answer, or the bot may not write there: there is nothing to repeat
        except (discord.HTTPException, *LOST) as error:
            log_failure(logger, f"sending the answer to message {message.id}", error)
        except asyncio.CancelledError:
            state = ""  # the bot is being stopped; the answer is completed at the next start
            await writer.stop()
            raise
        finally:
            typing.cancel()
            self._writers.discard(writer)
            if state:
                await self.bot.bridge.capture(
                    chat.finish, trace_id, question_key=question_key, answer_key=answer_key, state=state
                )

    async def _write(self, writer: ReplyWriter, request: TurnRequest, trace_id: str) -> TurnResult | None:
        """Runs the turn and shows it as it comes; None if it failed in a way that it should not have."""
        streams = get_config().chat.streams_response
        text, result = "", None
        try:
            async with aclosing(self.bot.bridge.stream(chat.run_turn, request, trace_id=trace_id)) as events:
                async for event in events:
                    if writer.gone.is_set():
                        raise ReplyGone()
                    if isinstance(event, TurnDelta):
                        text += event.text
                        if streams:
                            writer.update(text)
                    else:
                        result = event
        except ReplyGone:
            raise
        except Exception as error:
            log_failure(logger, f"turn {trace_id}", error)
        return result

    async def _keep(self, message: discord.Message, parts: list[Part], text: str) -> int | None:
        try:
            return await self.bot.capturing.store_reply(message, parts, text)
        except Exception as error:
            log_failure(logger, f"storing the answer to message {message.id}", error)
            return None

    def deleted(self, message_ids: frozenset[int]) -> None:
        """Notes that messages were deleted; an answer that is being written in one of them is given up."""
        for writer in tuple(self._writers):
            writer.deleted(message_ids)

    async def resume(self) -> None:
        """Completes the answers that a crash interrupted, and notes those that come too late as failed."""
        mine = [
            one
            for one in await self.bot.bridge.command(chat.unfinished, within=NOTED)
            if self.bot.serves(one.guild_id)
        ]
        fresh = {one.trace_id for one in await self.bot.bridge.command(chat.unfinished, within=RESUMED)}
        for unfinished in mine:
            if unfinished.trigger_id in self._answering:
                continue
            message = None
            if unfinished.trace_id in fresh:
                with contextlib.suppress(discord.HTTPException):  # deleted, or out of reach by now
                    message = await self._fetch(unfinished.channel_id, unfinished.trigger_id)
                    if await self.bot.bridge.command(is_silenced, message):
                        message = None
            if message is None:
                await self.bot.bridge.command(
                    chat.finish, unfinished.trace_id, question_key=None, answer_key=None, state="failed"
                )
            else:
                key = await self.bot.capturing.store(message)
                place = self._lines.take(message.channel.id)
                self._as_task(self.answer(message, key, place, resumed=True))

    async def _fetch(self, channel_id: int | None, message_id: int) -> discord.Message:
        channel: Any = self.bot.get_channel(channel_id or 0) or await self.bot.fetch_channel(channel_id or 0)
        message: discord.Message = await channel.fetch_message(message_id)
        return message

    def _as_task(self, work: Any) -> asyncio.Task[None]:
        task: asyncio.Task[None] = asyncio.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    async def drain(self, seconds: float) -> None:
        """Lets running answers end for a moment, then leaves them to the next start."""
        if self._running:
            await asyncio.wait(tuple(self._running), timeout=seconds)
        for task in tuple(self._running):
            task.cancel()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.gather(*self._running, return_exceptions=True), 2)
