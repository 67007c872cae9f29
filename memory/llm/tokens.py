"""An estimate of tokens without a tokenizer. It errs on the high side, so that a budget kept by it is kept by the model."""

from __future__ import annotations

import math
import re

_PIECE = re.compile(
    r"(?P<ascii>[A-Za-z]+)"  # about four letters a token
    r"|(?P<alphabet>[\u00c0-\u07ff]+)"  # accents, Greek, Cyrillic, Hebrew, Arabic: about two
    r"|(?P<gap>[ \t]{2,})"
    r"|(?P<wide>[\U00010000-\U0010ffff])"  # emoji and rare characters: up to three tokens each
    r"|(?P<single>\n|\S)"  # a digit, a sign, a character of Han, kana, Hangul, Thai, …
)
_LETTERS_A_TOKEN = {"ascii": 4, "alphabet": 2}
_COST = {"gap": 1, "wide": 3, "single": 1}

MESSAGE_OVERHEAD = 6
"""Tokens that a chat template puts around one message."""


def count_tokens(text: str) -> int:
    """Tokens that a text takes in a prompt, at most; 0 for an empty text."""
    if not text:
        return 0
    total = 0
    for match in _PIECE.finditer(text):
        kind = match.lastgroup or "single"
        letters = _LETTERS_A_TOKEN.get(kind)
        total += math.ceil((match.end() - match.start()) / letters) if letters else _COST[kind]
    return max(total, math.ceil(len(text.encode("utf-8", "replace")) / 4))
