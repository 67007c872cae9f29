"""Ids of an export. What Discord numbered keeps its id; anything else gets one that is always the same for the same text."""

from __future__ import annotations

import hashlib
from typing import Any

MAX_ID = 2**63 - 1
SNOWFLAKE_FROM = 10**15
"""Discord's ids have 16 digits and more; a message or channel with a smaller one was numbered by somebody else."""
DERIVED = 1 << 62
"""Ids that were made up here lie above this, where Discord's will not be for decades."""


def user_key(value: Any) -> int:
    """The id of a person: as it is if it is a number, otherwise one that is always the same for the same text."""
    return _number(value) or derived("user", _id_text(value, "user_id"))


def channel_key(guild_id: int, value: Any) -> int:
    """The id of a channel; one that is not Discord's is its server's own."""
    number = _number(value)
    return (
        number
        if number and number >= SNOWFLAKE_FROM
        else derived("channel", f"{guild_id}:{_id_text(value, 'channel_id')}")
    )


def message_key(guild_id: int, channel: int, value: Any) -> int:
    """The id of a message; one that is not Discord's is its channel's own."""
    number = _number(value)
    if number and number >= SNOWFLAKE_FROM:
        return number
    return derived("message", f"{guild_id}:{channel}:{_id_text(value, 'id')}")


def _number(value: Any) -> int | None:
    text = str(value).strip() if isinstance(value, str | int) and not isinstance(value, bool) else ""
    if not (text.isascii() and text.isdecimal() and len(text) <= 19):
        return None
    number = int(text)
    return number if 0 < number <= MAX_ID else None


def _id_text(value: Any, field: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int) or not (text := str(value).strip()):
        raise ValueError(f"{field} is missing")
    return text


def derived(kind: str, text: str) -> int:
    digest = hashlib.blake2b(
        text.encode("utf-8", "surrogatepass"), digest_size=8, person=kind.encode()
    ).digest()
    return DERIVED | (int.from_bytes(digest, "big") >> 2)
