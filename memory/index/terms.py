"""Words as the full-text index sees them, and queries that can never be a syntax error.

Han, kana and Hangul have no spaces between words: they are split per character in the index, and a query asks for pairs of
neighbours. Changing what these functions return means rebuilding the index (they define the view that it is built from).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from datetime import datetime

CJK = (
    "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\uac00-\ud7af\u1100-\u11ff"
    "\U00020000-\U0002fa1f\U00030000-\U000323af"
)
_CJK_CHARACTER = re.compile(f"[{CJK}]")
_TOKEN = re.compile(f"[{CJK}]+|[^\\W_{CJK}]+")
# NUL ends an expression, a quote ends a word, and halves of surrogate pairs cannot be stored at all.
_UNQUOTABLE = re.compile('[\\0"\ud800-\udfff]')
MAX_QUERY_TOKENS = 24

_STOP_WORDS = """
a about all also am an and any are as at be been but by can could did do does doing for from had has have having he her
hers him his how i if in into is it its just me my of on or our ours she should so some than that the their theirs them
then there these they this those to up us was we were what when where which who whom whose why will with would you your
yours s t d ll re ve m
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())


def split_cjk(text: str) -> str:
    """Spaces around every character of Han, kana and Hangul; everything else as it was."""
    if text.isascii():
        return text
    return _CJK_CHARACTER.sub(lambda match: f" {match[0]} ", text)


def body_terms(text: str | None, captions: str | None) -> str:
    """What is indexed of a message's own words: text and captions of its images."""
    return split_cjk(f"{text or ''} {captions or ''}".strip())


def who_terms(author: str | None, sent_at: str | None) -> str:
    """What is indexed of a message's circumstances: its author and its date in words (``Ada 8 May 2023``)."""
    date = ""
    if sent_at:
        try:
            moment = datetime.fromisoformat(sent_at)
            date = f"{moment.day} {moment:%B %Y}"
        except ValueError:
            date = ""
    return split_cjk(f"{author or ''} {date}".strip())


def tokens(text: str, *, stop_words: frozenset[str] = STOP_WORDS) -> list[str]:
    """Words of a text as a query asks for them, lower case, without stop words; runs of CJK as pairs of characters."""
    found: list[str] = []
    for token in _TOKEN.findall(unicodedata.normalize("NFC", text)):
        if _CJK_CHARACTER.match(token):
            pairs = [token[i : i + 2] for i in range(len(token) - 1)] or [token]
            found += [" ".join(pair) for pair in pairs]
        elif token.lower() not in stop_words:
            found.append(token.lower())
    return list(dict.fromkeys(found))


def match_expression(words: Sequence[str]) -> str:
    """An FTS5 expression that finds any of the words; each is quoted, so none can be an operator. Empty for no words."""
    clean = [_UNQUOTABLE.sub(" ", word).strip() for word in words]
    return " OR ".join(f'"{word}"' for word in [word for word in clean if word][:MAX_QUERY_TOKENS])
