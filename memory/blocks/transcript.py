"""What one member said in a session, with the bot's answers to them: never what others said."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from memory.blocks.providers.base import Said
from memory.models import Message

MAX_MESSAGES = 200
MAX_CHARACTERS = 12_000


def since(user_id: int, channel_id: int, *, after: int, until: datetime | None) -> list[Said]:
    """Messages after the mark, oldest first, as many as one call of a model takes."""
    rows = Message.objects.filter(
        member_id=user_id, channel_id=channel_id, key__gt=after, paused=False
    ).order_by("key")
    if until is not None:
        rows = rows.filter(sent_at__lte=until)
    found: list[Said] = []
    left = MAX_CHARACTERS
    for row in rows[:MAX_MESSAGES]:
        text = f"{row.text} [image: {row.captions}]".strip() if row.captions else row.text
        left -= len(text) + 40
        if found and left < 0:
            break
        found.append(Said(row.key, row.author_name, text, row.sent_at, row.is_bot))
    return found


def rendered(said: Sequence[Said]) -> str:
    """One line a message; a message cannot pass for several."""
    return "\n".join(
        f"[{one.at:%Y-%m-%d}] {'Assistant' if one.is_bot else 'Person'}: {' '.join(one.text.split())[:2000]}"
        for one in said
        if one.text.strip()
    )
