"""What was erased of people who did not withdraw, parts of their history and single messages: no live message, backfill, catch-up or
import brings it back."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import UTC, datetime, timedelta

from django.db import connection

from memory.capture.places import lineage
from memory.index.sql import among, array
from memory.models import Channel, ErasedMessage, ErasedRange
from memory.pseudonyms import subject_hash
from memory.types import IncomingMessage

DISCORD_EPOCH = datetime(2015, 1, 1, tzinfo=UTC)
FIRST_PLAUSIBLE_ID = 10**16
"""Smaller numbers are no ids of Discord's, so no time can be read from them."""


class Erased:
    """What was erased of some people, as far as it concerns these messages.

    Read inside the transaction that stores: an erasure that begins later finds the rows.
    """

    def __init__(self, user_ids: Iterable[int] = (), messages: Iterable[IncomingMessage] = ()) -> None:
        subjects = {subject_hash(user_id): user_id for user_id in user_ids}
        self._ranges: dict[int, list[ErasedRange]] = {}
        for row in ErasedRange.objects.filter(subject__in=subjects):
            self._ranges.setdefault(subjects[row.subject], []).append(row)
        ids = {one for message in messages for one in _ids(message)}
        self._single = {
            (subjects[subject], message_id) for subject, message_id in _noted(ids) if subject in subjects
        }

    def cover(self, owner_id: int, message: IncomingMessage) -> bool:
        """Whether this message, or what it answers, was erased."""
        if any((owner_id, one) in self._single for one in _ids(message)):
            return True
        return any(_covers(row, message) for row in self._ranges.get(owner_id, ()))


def _ids(message: IncomingMessage) -> set[int]:
    """Discord's ids of the message and of what it answers, if the bot did."""
    return {one for one in (message.id, message.reply_to if message.author.is_bot else None) if one}


def _noted(message_ids: Collection[int]) -> list[tuple[str, int]]:
    if not message_ids:
        return []
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT subject, message_id FROM {ErasedMessage._meta.db_table} "
            f"WHERE message_id IN (SELECT value FROM {among()})",
            [array(message_ids)],
        )
        return [(str(subject), int(one)) for subject, one in cursor.fetchall()]


def _covers(row: ErasedRange, message: IncomingMessage) -> bool:
    if row.message_id is not None:
        return row.message_id in _ids(message)
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
