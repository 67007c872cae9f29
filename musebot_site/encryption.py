"""Encryption of what has to be stored but must not stand in the database: sessions, and secrets of the second step.

The key is derived from ``secrets/encryption_key``, a file beside the database. A copy of the database alone gives none of it away,
and what an erased member's session held cannot be found in its bytes.
"""

from __future__ import annotations

import base64
import functools
import json
from pathlib import Path
from typing import Any

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.core import signing

from memory.conf import get_config
from musebot_site.config import kept_secret

SECRET = "encryption_key"


@functools.lru_cache(maxsize=8)
def _cipher(secret: str, purpose: str) -> Fernet:
    key = HKDF(algorithm=SHA256(), length=32, salt=b"musebot", info=purpose.encode()).derive(secret.encode())
    return Fernet(base64.urlsafe_b64encode(key))


@functools.lru_cache(maxsize=8)
def _secret(home: str) -> str:
    return kept_secret(Path(home), SECRET)


def cipher(purpose: str) -> Fernet:
    """The cipher of one purpose; what one encrypted, another cannot read."""
    return _cipher(_secret(str(get_config().home)), purpose)


def encrypt(text: str, *, purpose: str) -> str:
    return cipher(purpose).encrypt(text.encode()).decode("ascii")


def decrypt(token: str, *, purpose: str) -> str:
    """The text that was encrypted. Raises ``ValueError`` if it was changed, or if another key made it."""
    try:
        return cipher(purpose).decrypt(token.encode()).decode()
    except InvalidToken as error:
        raise ValueError(
            "A stored secret cannot be read: secrets/encryption_key is not the one it was encrypted with."
        ) from error


class EncryptedSerializer:
    """How sessions are stored (``SESSION_SERIALIZER``): JSON, encrypted. One that cannot be read is an empty session."""

    def dumps(self, value: Any) -> bytes:
        return cipher("sessions").encrypt(json.dumps(value, separators=(",", ":")).encode())

    def loads(self, data: bytes) -> Any:
        try:
            return json.loads(cipher("sessions").decrypt(data))
        except (InvalidToken, ValueError) as error:
            raise signing.BadSignature("The session cannot be read.") from error
