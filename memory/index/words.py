"""The words of a text as FTS5's ``porter unicode61 remove_diacritics 2`` makes them, for storages that have no FTS5."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from memory.index.porter import stem
from memory.index.terms import CJK, MAX_QUERY_TOKENS, split_cjk

LONGEST = 100
"""Characters of a word that are kept."""
_RUN = re.compile(r"[^\W_]+")
_ACCENTS = re.compile("[\u0300-\u036f]+")
_SAME = str.maketrans("\u00b5\u017f", "\u03bcs")
"""Letters that are others in lower case: the micro sign and the long s."""
_CJK_CHARACTER = re.compile(f"[{CJK}]")


def stems(text: str) -> list[str]:
    """Stems in the order of the text: letters and digits in lower case, without accents, CJK a character each."""
    if not text.isascii():
        text = split_cjk(text)
        text = unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", text))).translate(
            _SAME
        )
    return [_stem(word) for word in _RUN.findall(text.lower())]


def terms(text: str) -> tuple[list[str], int]:
    """What a text is found by, with repetitions, and how many words it has.

    Pairs of neighbouring CJK characters are found as such, since a query asks for them.
    """
    found = stems(text)
    count = len(found)
    if not text.isascii():
        pairs = zip(found, found[1:], strict=False)
        found += [f"{a} {b}" for a, b in pairs if _is_cjk(a) and _is_cjk(b)]
    return found, count


def wanted(words: Iterable[str]) -> dict[str, int]:
    """The terms that a query's words (``terms.tokens``) ask for, and how often."""
    asked: dict[str, int] = {}
    for word in [one for one in words if one.strip()][:MAX_QUERY_TOKENS]:
        made = stems(word)
        if len(made) == 2 and all(map(_is_cjk, made)):
            made = [" ".join(made)]
        for term in made:
            asked[term] = asked.get(term, 0) + 1
    return asked


@lru_cache(maxsize=50_000)
def _stem(word: str) -> str:
    return stem(word)[:LONGEST]


def _is_cjk(word: str) -> bool:
    return len(word) == 1 and _CJK_CHARACTER.match(word) is not None
