"""Porter's stemmer (An algorithm for suffix stripping, 1980) as FTS5's ``porter`` tokenizer has it, so that both storages find alike."""

from __future__ import annotations

from functools import lru_cache

SHORTEST, LONGEST = 3, 64
"""Bytes of a word that has a stem; others stay as they are."""

_VOWELS = frozenset("aeiou")

# By step: (ending, what replaces it). The first ending that fits decides, whether or not its condition holds.
_STEP_2 = (
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("logi", "log"),
    ("bli", "ble"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
)
_STEP_3 = (
    ("ical", "ic"),
    ("ness", ""),
    ("icate", "ic"),
    ("iciti", "ic"),
    ("ful", ""),
    ("ative", ""),
    ("alize", "al"),
)
_STEP_4 = (
    "al",
    "ance",
    "ence",
    "er",
    "ic",
    "able",
    "ible",
    "ant",
    "ement",
    "ment",
    "ent",
    "ion",
    "ou",
    "ism",
    "ate",
    "iti",
    "ous",
    "ive",
    "ize",
)


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """The stem of a word in lower case without accents. A letter that English has not counts as consonants, one a byte."""
    if not SHORTEST <= len(word.encode()) <= LONGEST:
        return word
    if word.isascii():
        return _stem(word)
    return _stem(word.encode().decode("latin-1")).encode("latin-1").decode(errors="ignore")


def _stem(word: str) -> str:
    word = _plural(word)
    word = _past(word)
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = f"{word[:-1]}i"
    word = _replace(word, _STEP_2)
    word = _replace(word, _STEP_3)
    word = _drop(word)
    if word.endswith("e") and (
        _measure(word[:-1]) > 1 or (_measure(word[:-1]) == 1 and not _short_end(word[:-1]))
    ):
        word = word[:-1]
    if len(word) > 1 and word.endswith("ll") and _measure(word[:-1]) > 1:
        word = word[:-1]
    return word


def _plural(word: str) -> str:
    if not word.endswith("s"):
        return word
    if word[-2] == "e":
        long = (len(word) > 4 and word[-4:-2] == "ss") or (len(word) > 3 and word[-3] == "i")
        return word[:-2] if long else word[:-1]
    return word[:-1] if word[-2] != "s" else word


def _past(word: str) -> str:
    if len(word) > 3 and word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for ending in ("ed", "ing"):
        if len(word) > len(ending) and word.endswith(ending):
            left = word[: -len(ending)]
            return _mended(left) if _has_vowel(left) else word
    return word


def _mended(word: str) -> str:
    """What is left of a past or a participle, with the letter that it lost or without the one that it doubled."""
    if len(word) > 2 and word.endswith(("at", "bl", "iz")):
        return f"{word}e"
    if len(word) > 1 and word[-1] == word[-2] and word[-1] not in "aeioulsz":
        return word[:-1]
    return f"{word}e" if _measure(word) == 1 and _short_end(word) else word


def _replace(word: str, endings: tuple[tuple[str, str], ...]) -> str:
    for ending, instead in endings:
        if len(word) > len(ending) and word.endswith(ending):
            left = word[: -len(ending)]
            return left + instead if _measure(left) > 0 else word
    return word


def _drop(word: str) -> str:
    for ending in _STEP_4:
        if len(word) > len(ending) and word.endswith(ending):
            left = word[: -len(ending)]
            fits = _measure(left) > 1 and (ending != "ion" or left.endswith(("s", "t")))
            return left if fits else word
    return word


def _is_vowel(word: str, at: int) -> bool:
    letter = word[at]
    return letter in _VOWELS or (letter == "y" and at > 0 and not _is_vowel(word, at - 1))


def _has_vowel(word: str) -> bool:
    return any(_is_vowel(word, at) for at in range(len(word)))


def _measure(word: str) -> int:
    """How often a vowel is followed by a consonant."""
    count, before = 0, False
    for at in range(len(word)):
        vowel = _is_vowel(word, at)
        count += before and not vowel
        before = vowel
    return count


def _short_end(word: str) -> bool:
    """Consonant, vowel, consonant (none of w, x, y) at the end."""
    return (
        len(word) >= 3
        and word[-1] not in "wxy"
        and not _is_vowel(word, len(word) - 1)
        and _is_vowel(word, len(word) - 2)
        and not _is_vowel(word, len(word) - 3)
    )
