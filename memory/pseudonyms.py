"""Keyed hashes that stand for people where their id must not be stored.

A receipt of an erasure, the epoch of a member and the readers of a channel have to be compared with an id later on, but must
not contain it. The key lives in a file beside the database (``Config.privacy_key``), never in it.
"""

from __future__ import annotations

import hashlib
import hmac

from memory.conf import get_config


def subject_hash(user_id: int) -> str:
    """32 hexadecimal digits that stand for a member; the same id gives the same digits in one installation only."""
    return _mac(b"subject", user_id, 16).hex()


def reader_hash(user_id: int) -> int:
    """An unsigned 64-bit integer that stands for a reader of a channel (see ``memory.snapshots``)."""
    return int.from_bytes(_mac(b"reader", user_id, 8), "little")


def _mac(purpose: bytes, user_id: int, size: int) -> bytes:
    key = get_config().privacy_key.get_secret_value()
    return hmac.new(key, purpose + b":%d" % user_id, hashlib.sha256).digest()[:size]


def scope_number(name: str) -> int:
    """A signed 64-bit integer that stands for a scope in an index (see ``memory.index.archival``)."""
    key = get_config().privacy_key.get_secret_value()
    return int.from_bytes(
        hmac.new(key, b"scope:" + name.encode(), hashlib.sha256).digest()[:8], "little", signed=True
    )
