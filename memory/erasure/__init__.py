"""Forgetting a member, down to the bytes, with a receipt and a re-scan that proves it."""

from memory.erasure.receipts import receipt
from memory.erasure.replay import replay_receipts
from memory.erasure.running import ERASE, erase_entries, run
from memory.erasure.services import CLEAN, clean_entries, erase_messages, preview, request
from memory.erasure.verification import verify

__all__ = [
    "CLEAN",
    "ERASE",
    "clean_entries",
    "erase_entries",
    "erase_messages",
    "preview",
    "receipt",
    "replay_receipts",
    "request",
    "run",
    "verify",
]
