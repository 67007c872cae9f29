"""Forgetting a member, down to the bytes, with a receipt and a re-scan that proves it."""

from memory.erasure.parts import Part
from memory.erasure.receipts import receipt
from memory.erasure.replay import Replayed, replay, replay_receipts
from memory.erasure.requests import begin, close, look, receive, request
from memory.erasure.running import ERASE, erase_entries, run
from memory.erasure.server import searched
from memory.erasure.services import CLEAN, clean_entries, erase_messages, preview
from memory.erasure.verification import verify

__all__ = [
    "CLEAN",
    "ERASE",
    "Part",
    "Replayed",
    "begin",
    "clean_entries",
    "close",
    "erase_entries",
    "erase_messages",
    "look",
    "preview",
    "receipt",
    "receive",
    "replay",
    "replay_receipts",
    "request",
    "run",
    "searched",
    "verify",
]
