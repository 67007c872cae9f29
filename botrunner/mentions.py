"""Mentions of the bot in what people write to it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache


def without_mentions(text: str, bot_id: int, roles: Iterable[int] = ()) -> str:
    """The text less mentions of the bot, with the gaps they leave closed."""
    if "<@" not in text:
        return text.strip()
    return _marks(bot_id, frozenset(roles)).sub(" ", text).strip()


@lru_cache(maxsize=256)
def _marks(bot_id: int, roles: frozenset[int]) -> re.Pattern[str]:
    marks = [rf"<@!?{bot_id}>", *(rf"<@&{role}>" for role in sorted(roles))]
    return re.compile(rf"[ \t]*(?:{'|'.join(marks)})[ \t]*")
