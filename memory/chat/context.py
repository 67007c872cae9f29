"""The rolling context of a channel: what was just said there, rebuilt from what is stored.

Only messages of members who have opted in, and the bot's replies to them, are stored, so nobody else can appear in it. Where
long-term memory is off nothing is stored at all; then the bot's process keeps the last turns of each channel in memory.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from django.utils import timezone

from memory.conf import get_config
from memory.models import Channel, Message
from memory.models.fast import get
from memory.types import TurnRequest, Utterance

MAX_UTTERANCES = 40
MAX_GAP = timedelta(hours=6)
"""A longer silence ends the conversation; what was said before it is for recall."""

RING_CHANNELS = 500
DISCORD_EPOCH = datetime(2015, 1, 1, tzinfo=UTC)
FIRST_PLAUSIBLE_ID = 10**16
"""Smaller numbers are no ids of Discord's, so no time can be read from them."""


@dataclass(frozen=True, slots=True)
class Context:
    """The rolling context, oldest first, and the Discord ids of everything in it, part by part."""

    utterances: tuple[Utterance, ...] = ()
    ids: tuple[frozenset[int], ...] = ()
    keys: tuple[frozenset[int], ...] = ()
    """Of the stored messages that each part was made from, where it was."""

    def newest(self, count: int) -> Context:
        """The last ``count`` utterances."""
        start = len(self.utterances) - count
        return Context(self.utterances[start:], self.ids[start:], self.keys[start:])

    def discord_ids(self) -> frozenset[int]:
        return frozenset().union(*self.ids)

    def message_keys(self) -> frozenset[int]:
        return frozenset().union(*self.keys)


@dataclass(frozen=True, slots=True)
class _Said:
    utterance: Utterance
    at: datetime
    ids: frozenset[int]
    reply_to: int | None = None
    keys: frozenset[int] = frozenset()


def asked_at(request: TurnRequest) -> datetime:
    """When the question was asked: as stored, the time in Discord's id, or now."""
    if request.message_id is not None:
        stored = get(Message, discord_id=request.message_id)
        if stored is not None:
            return stored.sent_at
    if request.message_id is not None and request.message_id >= FIRST_PLAUSIBLE_ID:
        return DISCORD_EPOCH + timedelta(milliseconds=request.message_id >> 22)
    return timezone.now()


def rolling_context(request: TurnRequest, now: datetime) -> Context:
    """What was said in the channel before the question, oldest first: the caller's history, or rebuilt."""
    if request.history is not None:
        given = [entry for entry in request.history if entry.text.strip()][-MAX_UTTERANCES:]
        return _context(_Said(entry, now, _ids(entry.discord_message_id)) for entry in given)
    if request.channel is None:
        return Context()
    if not get_config().memory_enabled:
        return _context(_recent(_ring.read(request.channel.id, _cleared_at(request.channel.id)), now))
    return _context(_recent(_stored(request.channel.id, request.message_id), now))


def keep_turn(request: TurnRequest, answer: str, now: datetime) -> None:
    """Notes a turn where nothing is stored. Operators' questions are not part of the channel's conversation."""
    if (
        get_config().memory_enabled
        or request.channel is None
        or request.operator
        or not request.question.strip()
    ):
        return
    name = request.asker.display_name or request.asker.username
    question = Utterance("user", name, request.question, request.message_id)
    _ring.add(
        request.channel.id,
        _Said(question, now, _ids(request.message_id)),
        _Said(Utterance("assistant", "", answer), now, frozenset()),
    )


def clear_context(channel_id: int) -> None:
    """Starts the channel's conversation afresh. What is remembered stays."""
    _ring.clear(channel_id)
    Channel.objects.filter(discord_id=channel_id).update(context_cleared_at=timezone.now())


def _context(said: Iterable[_Said]) -> Context:
    entries = list(said)
    return Context(
        tuple(entry.utterance for entry in entries),
        tuple(entry.ids for entry in entries),
        tuple(entry.keys for entry in entries),
    )


def _ids(discord_id: int | None) -> frozenset[int]:
    return frozenset() if discord_id is None else frozenset({discord_id})


def _cleared_at(channel_id: int) -> datetime | None:
    channel = get(Channel, discord_id=channel_id)
    return channel.context_cleared_at if channel is not None else None


def _stored(channel_id: int, question_id: int | None) -> list[_Said]:
    """Messages of a channel, newest first; those written after the question, and replies to them, are left out."""
    rows = Message.objects.filter(
        channel_id=channel_id, paused=False, member__withdrawn_at=None, member__paused_at=None
    ).order_by("-sent_at", "-key")
    if cleared := _cleared_at(channel_id):
        rows = rows.filter(sent_at__gt=cleared)
    fields = ("discord_id", "reply_to", "is_bot", "author_name", "text", "captions", "sent_at")
    found: list[_Said] = []
    # A long answer is stored in parts, hence more rows than utterances.
    for row in rows.only(*fields)[: MAX_UTTERANCES * 3]:
        text = f"{row.text} [image: {row.captions}]".strip() if row.captions else row.text
        asked = row.reply_to if row.is_bot else row.discord_id
        if _not_before(asked, question_id) or not text.strip():
            continue
        utterance = Utterance("assistant" if row.is_bot else "user", row.author_name, text, row.discord_id)
        keys = frozenset({row.key})
        _add(found, _Said(utterance, row.sent_at, _ids(row.discord_id), row.reply_to, keys))
        if len(found) > MAX_UTTERANCES:
            break
    return found[:MAX_UTTERANCES]


def _not_before(asked: int | None, question_id: int | None) -> bool:
    if asked is None or question_id is None:
        return False
    return asked == question_id or (question_id >= FIRST_PLAUSIBLE_ID and asked > question_id)


def _add(found: list[_Said], said: _Said) -> None:
    """Appends the next older message; the parts of one answer become one utterance."""
    newer = found[-1] if found else None
    if (
        newer is None
        or said.reply_to is None
        or said.reply_to != newer.reply_to
        or not said.utterance.role == newer.utterance.role == "assistant"
    ):
        found.append(said)
        return
    joined = replace(said.utterance, text=f"{said.utterance.text}\n{newer.utterance.text}")
    found[-1] = replace(said, utterance=joined, ids=said.ids | newer.ids, keys=said.keys | newer.keys)


def _recent(newest_first: list[_Said], now: datetime) -> list[_Said]:
    """Oldest first, back to the first long silence."""
    kept: list[_Said] = []
    # Messages long after the question were left out by their ids; if there are any, ids and times do not agree (an import).
    disagree = bool(newest_first) and newest_first[0].at - now > MAX_GAP
    later = timezone.now() if disagree else now
    for said in newest_first:
        if later - said.at > MAX_GAP:
            break
        kept.append(said)
        if said.utterance.role == "user":  # how long the bot took is no silence
            later = said.at
    return kept[::-1]


class _Ring:
    """The last turns of the last channels, in this process only."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._channels: OrderedDict[int, deque[_Said]] = OrderedDict()

    def add(self, channel_id: int, *said: _Said) -> None:
        with self._lock:
            self._channels.setdefault(channel_id, deque(maxlen=MAX_UTTERANCES)).extend(said)
            self._channels.move_to_end(channel_id)
            while len(self._channels) > RING_CHANNELS:
                self._channels.popitem(last=False)

    def read(self, channel_id: int, cleared: datetime | None) -> list[_Said]:
        """Newest first."""
        with self._lock:
            said = list(self._channels.get(channel_id, ()))
        return [entry for entry in reversed(said) if cleared is None or entry.at > cleared]

    def clear(self, channel_id: int | None = None) -> None:
        """Forgets one channel, or all of them."""
        with self._lock:
            if channel_id is None:
                self._channels.clear()
            else:
                self._channels.pop(channel_id, None)


_ring = _Ring()
