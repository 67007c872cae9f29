"""One channel: a page after the other, each committed before the next is asked for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.utils import timezone

from botrunner.raw import Reader, incoming, page_of
from botrunner.rest import UNKNOWN_MESSAGE, Forbidden, Missing, Rest
from memory.capture import backfill
from memory.capture.backfill import PAGE, ChannelWork, Page
from memory.types import IncomingMessage


class ChannelReading:
    """``db`` runs a function where the database may be used."""

    def __init__(self, rest: Rest, reader: Reader, db: Callable[..., Awaitable[Any]]) -> None:
        self.rest = rest
        self.reader = reader
        self.db = db

    async def step(self, work: ChannelWork, wakes: bool) -> ChannelWork | None:
        """Fetches and commits one page; returns what follows, or None. ``wakes`` says whether to wake who embeds."""
        if work.replies_only:
            return await self._replies(work, wakes)
        if work.window and work.cursor is not None:
            fetched_at, payloads = await self._fetch(work, before=work.cursor + 1)
            page = page_of(work, payloads, self.reader, fetched_at)
            if not await self._may_compare(work, page) or not await self.db(
                backfill.commit_window, work, page
            ):
                return None
            work = replace(work, window=False)
        query: dict[str, int] = {}
        if work.catch_up:
            query["after"] = work.cursor or 0
        elif work.cursor is not None:
            query["before"] = work.cursor
        fetched_at, payloads = await self._fetch(work, **query)

        def commit() -> ChannelWork | None:
            # Read where it is stored, so that the event loop has nothing to do but to wait for answers.
            return backfill.commit_page(work, page_of(work, payloads, self.reader, fetched_at), wakes=wakes)

        following: ChannelWork | None = await self.db(commit)
        return following

    async def _fetch(self, work: ChannelWork, **query: int) -> tuple[datetime, list[dict[str, Any]]]:
        """When a page was asked for, and what it holds."""
        fetched_at = timezone.now()
        path = f"/channels/{work.channel.id}/messages"
        return fetched_at, await self.rest.get(
            path, bucket=f"messages:{work.channel.id}", limit=PAGE, **query
        )

    async def _may_compare(self, work: ChannelWork, page: Page) -> bool:
        """Whether what is not on the page is gone. An empty page is also what Discord answers where the bot may not read."""
        if page.seen:
            return True
        missing = await self.db(backfill.missing_rows, work, page)
        if not missing:
            return True
        try:
            await self._message(work, missing[0])
        except Forbidden:
            await self.db(backfill.close_channel, work, code="no_history")
            return False
        except Missing as error:
            if error.discord_code != UNKNOWN_MESSAGE:
                raise
        return True

    async def _replies(self, work: ChannelWork, wakes: bool) -> ChannelWork | None:
        found: dict[int, IncomingMessage | None] = {}
        for id in await self.db(backfill.replies_to_fetch, work):
            try:
                found[id] = incoming(await self._message(work, id), work.guild, work.channel, self.reader)
            except Missing as error:
                if error.discord_code != UNKNOWN_MESSAGE:
                    raise
                found[id] = None
        following: ChannelWork | None = await self.db(backfill.commit_replies, work, found, wakes=wakes)
        return following

    async def _message(self, work: ChannelWork, id: int) -> Any:
        path = f"/channels/{work.channel.id}/messages/{id}"
        return await self.rest.get(path, bucket=f"message:{work.channel.id}")
