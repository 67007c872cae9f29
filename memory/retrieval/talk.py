"""Who goes on from whom: the messages before one in its thread of talk, its neighbours in the channel, its episode."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import timedelta

from memory.retrieval.candidates import EPISODE_GAP, Row

ADDRESS_GAP = timedelta(minutes=30)
"""Somebody who is addressed by name is answered within this time."""

_MENTION = re.compile(r"\s*<@!?(\d{1,20})>")
_FIRST_WORD = re.compile(r"\s*@?([^\W_]+)\s*[,:!]")


class Talk:
    """The order of talk among candidates. A message that is no candidate is not in it."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = {row.key: row for row in rows}
        self._before = {row.following[0]: row.key for row in rows if row.following[0] in self.rows}
        self._two_before = {row.following[1]: row.key for row in rows if row.following[1] in self.rows}
        self._answered: dict[int, int] = {}
        self._in_order = sorted(rows, key=lambda each: (each.channel_id, each.sent_at, each.key))
        self._find_answered()

    def before(self, key: int) -> int | None:
        """What a message answers (by its reference, or whom it addresses); otherwise the message before it in the channel."""
        return self._answered.get(key) or self._before.get(key)

    def two_before(self, key: int) -> int | None:
        """The message before that one."""
        answered = self._answered.get(key)
        return self.before(answered) if answered else self._two_before.get(key)

    def best_near(self, base: Mapping[int, float]) -> tuple[dict[int, float], dict[int, float]]:
        """The best base score one and two messages away, on either side; what a message answers is one away from it."""
        one: dict[int, float] = defaultdict(float)
        two: dict[int, float] = defaultdict(float)
        pairs = [(one, key, other) for key, other in (*self._before.items(), *self._answered.items())]
        pairs += [(two, key, other) for key, other in self._two_before.items()]
        for best, key, other in pairs:
            if key is not None:
                best[key] = max(best[key], base[other])
                best[other] = max(best[other], base[key])
        return one, two

    def episodes(self, base: Mapping[int, float]) -> dict[int, float]:
        """For each message a third of the three best base scores of its episode: of a channel, without a long pause."""
        found: dict[int, float] = {}
        episode: list[int] = []
        last: Row | None = None
        for row in self._in_order:
            if last and (row.channel_id != last.channel_id or row.sent_at - last.sent_at > EPISODE_GAP):
                found |= _episode(episode, base)
                episode = []
            episode.append(row.key)
            last = row
        return found | _episode(episode, base)

    def _find_answered(self) -> None:
        by_discord_id = {row.discord_id: row.key for row in self._in_order if row.discord_id}
        latest: dict[int, Row] = {}
        named: dict[str, int] = {}
        first_names: dict[str, str] = {}
        channel = None
        for row in self._in_order:
            if row.channel_id != channel:
                channel, latest, named = row.channel_id, {}, {}
            if row.reply_to is not None:
                if (answered := by_discord_id.get(row.reply_to)) is not None:
                    self._answered[row.key] = answered
            elif latest and (addressed := _addressed(row, named)):
                said = latest.get(addressed)
                if said and row.sent_at - said.sent_at <= ADDRESS_GAP:
                    self._answered[row.key] = said.key
            latest[row.author_id] = row
            name = row.author_name
            if name not in first_names:
                first_names[name] = name.split(" ")[0].casefold()
            named[first_names[name]] = row.author_id


def _episode(keys: Sequence[int], base: Mapping[int, float]) -> dict[int, float]:
    """Of the messages of one: a third of its three best base scores."""
    if len(keys) == 1:
        return {keys[0]: base[keys[0]] / 3}
    best = sum(sorted((base[key] for key in keys), reverse=True)[:3]) / 3
    return dict.fromkeys(keys, best)


def _addressed(row: Row, named: Mapping[str, int]) -> int | None:
    """Whom a message begins with: a mention, or the name of one who has just spoken."""
    if mention := _MENTION.match(row.text):
        return int(mention[1])
    word = _FIRST_WORD.match(row.text)
    found = named.get(word[1].casefold()) if word else None
    return None if found == row.author_id else found
