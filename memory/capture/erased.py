"""What members had erased of a part of their history: no live message, backfill, catch-up or import brings it back."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from memory.capture.places import lineage
from memory.models import Channel, ErasedRange
from memory.pseudonyms import subject_hash
from memory.types import IncomingMessage

DISCORD_EPOCH = datetime(2015, 1, 1, tzinfo=UTC)
FIRST_PLAUSIBLE_ID = 10**16
"""Smaller numbers are no ids of Discord's, so no time can be read from them."""


class ErasedRanges:
    """The ranges of some people, read inside the transaction that stores: an erasure that begins later finds the rows."""

    def __init__(self, user_ids: Iterable[int]) -> None:
        subjects = {subject_hash(user_id): user_id for user_id in user_ids}
        self._ranges: dict[int, list[ErasedRange]] = {}
        for row in ErasedRange.objects.filter(subject__in=subjects):
            self._ranges.setdefault(subjects[row.subject], []).append(row)

    def cover(self, owner_id: int, message: IncomingMessage) -> bool:
        """Whether this message, or what it answers, was erased."""
        return any(_covers(row, message) for row in self._ranges.get(owner_id, ()))


def _covers(row: ErasedRange, message: IncomingMessage) -> bool:
    if row.message_id is not None:
        return row.message_id in (message.id, message.reply_to if message.author.is_bot else None)
    if row.guild_id not in (None, message.guild.id):
        return False
    if row.channel_id is not None and row.channel_id not in _channels(message):
        return False
    return any(_holds(row, moment) for moment in _moments(message))


def _holds(row: ErasedRange, moment: datetime) -> bool:
    return (row.since is None or row.since <= moment) and (row.until is None or moment < row.until)


def _moments(message: IncomingMessage) -> list[datetime]:
    """When it was said; of an answer also when the question was."""
    found = [message.sent_at]
    if message.author.is_bot and message.reply_to and message.reply_to >= FIRST_PLAUSIBLE_ID:
        found.append(DISCORD_EPOCH + timedelta(milliseconds=message.reply_to >> 22))
    return found


def _channels(message: IncomingMessage) -> set[int]:
    ids = set(lineage(message.channel))
    parents = Channel.objects.filter(discord_id__in=ids).values_list("parent_id", flat=True)
    return ids | {parent for parent in parents if parent is not None}
