"""Whom a question is about: members' names in it, and the person who asks.

A question that names Ada is nearest to messages that *address* Ada, written by somebody else. So names are taken out of the text
and kept as authors.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from django.db import connection

from memory.index.terms import CJK, STOP_WORDS
from memory.retrieval.common_words import COMMON, FIRST_PERSON, NAMES_AND_WORDS

MOST_MEMBERS = 5000
"""Members of a server whose names are looked for: those who wrote most."""
LARGE = 500
"""Members of a server whose names are kept for a while."""
KEPT_SECONDS = 60.0
MOST_KEPT = 64
"""Large servers whose names are kept."""
MOST_PER_NAME = 3
"""Members that one name may stand for."""

_WORD = re.compile(r"[^\W_]+")
_CJK_NAME = re.compile(f"[{CJK}]{{2,}}")
_MENTION = re.compile(r"<@!?(\d{1,20})>")
_POSSESSIVE = re.compile(r"['’]s?\b|['’](?=\s|$)", re.IGNORECASE)
# "Tell me when Ada moved" does not ask about the person who asks.
_ASIDE = re.compile(r"\b(?:tell|remind|show|give|help|let|explain(?: to)?)\s+me\b", re.IGNORECASE)
_NO_FIRST_NAMES = STOP_WORDS | COMMON
_PLAIN = _NO_FIRST_NAMES | NAMES_AND_WORDS


Span = tuple[int, int, tuple[int, ...]]
"""Where a name begins and ends, and whom it stands for."""


@dataclass(frozen=True, slots=True)
class KnownMember:
    user_id: int
    names: tuple[str, ...]
    """User name, display name and nicknames."""


@dataclass(frozen=True, slots=True)
class People:
    """Whom a question is about, in the order of the text, and the text without their names."""

    authors: tuple[int, ...]
    text: str


Names = dict[str, dict[tuple[str, ...], set[int]]]


class KnownMembers(tuple[KnownMember, ...]):
    """The members of a server, with what is made of their names once and serves as long as nobody comes, goes or changes a name."""

    @cached_property
    def names(self) -> Names:
        return _names_by_first_word(self)

    @cached_property
    def single(self) -> dict[str, list[tuple[str, int]]]:
        """Names of one word that a misspelt or shortened word may mean, by their first letter, with their letters as bits."""
        found: dict[str, list[tuple[str, int]]] = {}
        for name, forms in self.names.items():
            if (name,) in forms and name not in _PLAIN:
                found.setdefault(name[0], []).append((name, _letters(name)))
        return found

    @cached_property
    def ids(self) -> frozenset[int]:
        return frozenset(member.user_id for member in self)


_Stamp = tuple[int, float, float]
_large: dict[int, tuple[_Stamp, float, KnownMembers]] = {}
"""Of large servers: what they were kept under, until when (``time.monotonic``), and the members."""


def known_members(guild: int) -> KnownMembers:
    """Members who have opted in and were seen in a server (by its ordinal).

    Reading thousands of names takes longer than the rest of a recall: in a large server who comes and goes counts at once, and a
    changed name within a minute.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*), sum(id), sum(member_id / 4194304) FROM memory_guildmember WHERE guild_id = %s",
            [guild],
        )
        stamp: _Stamp = cursor.fetchone()
    if stamp[0] <= LARGE:
        return _read_members(guild)
    kept = _large.get(guild)
    if kept is None or kept[0] != stamp or kept[1] < time.monotonic():
        if len(_large) >= MOST_KEPT:
            _large.clear()
        kept = _large[guild] = (stamp, time.monotonic() + KEPT_SECONDS, _read_members(guild))
    return kept[2]


def _read_members(guild: int) -> KnownMembers:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT here.member_id, here.username, here.display_name, member.username, member.display_name "
            "FROM memory_guildmember AS here JOIN memory_member AS member ON member.user_id = here.member_id "
            "WHERE here.guild_id = %s AND member.withdrawn_at IS NULL ORDER BY here.message_count DESC LIMIT %s",
            (guild, MOST_MEMBERS),
        )
        # In an order that does not change with every message.
        return _known(tuple(sorted(cursor.fetchall())))


@lru_cache(maxsize=32)
def _known(rows: tuple[tuple[int, str, str, str, str], ...]) -> KnownMembers:
    return KnownMembers(
        KnownMember(row[0], tuple(dict.fromkeys(name for name in row[1:] if name))) for row in rows
    )


def find_people(text: str, members: Sequence[KnownMember], asker_id: int | None = None) -> People:
    """Finds members' names, exact or misspelt, mentions, and "I" for the one who asks (if a member)."""
    members = members if isinstance(members, KnownMembers) else KnownMembers(members)
    known = members.ids
    spans: list[Span] = [(m.start(), m.end(), (int(m[1]),)) for m in _MENTION.finditer(text)]
    spans += _cjk_names(text, members)
    taken = [(start, end) for start, end, _ in spans]
    spans += [span for span in _word_names(text, members) if not _overlaps(span[0], taken)]
    found = [(start, user_id) for start, _, ids in spans for user_id in ids if user_id in known]
    if asker_id in known and (where := _first_person(text)) is not None:
        found.append((where, asker_id))
    authors = tuple(dict.fromkeys(user_id for _, user_id in sorted(found)))
    return People(authors, _without(text, [(start, end) for start, end, _ in spans]))


def _first_person(text: str) -> int | None:
    asides = [match.span() for match in _ASIDE.finditer(text)]
    for match in _WORD.finditer(text):
        if match[0].casefold() in FIRST_PERSON and not _overlaps(match.start(), asides):
            return match.start()
    han = re.search("[我私僕俺]", text)
    return han.start() if han else None


def _overlaps(position: int, spans: Iterable[tuple[int, int]]) -> bool:
    return any(start <= position < end for start, end in spans)


def _without(text: str, spans: Sequence[tuple[int, int]]) -> str:
    for start, end in sorted(spans, reverse=True):
        if tail := _POSSESSIVE.match(text, end):
            end = tail.end()
        if start and text[start - 1] == "@":
            start -= 1
        text = f"{text[:start]} {text[end:]}"
    return " ".join(text.split())


def _cjk_names(text: str, members: Sequence[KnownMember]) -> list[Span]:
    if not _CJK_NAME.search(text):
        return []
    spans: list[Span] = []
    for member in members:
        for name in member.names:
            at = text.find(name) if _CJK_NAME.fullmatch(name) else -1
            if at >= 0:
                spans.append((at, at + len(name), (member.user_id,)))
    return spans


def _word_names(text: str, members: KnownMembers) -> list[Span]:
    by_first = members.names
    words = list(_WORD.finditer(text))
    spans: list[Span] = []
    at = 0
    while at < len(words):
        length, ids = _exact(words, at, text, by_first)
        if not ids:
            length, ids = 1, _close(words[at], text, members)
        if ids:
            spans.append(
                (words[at].start(), words[at + length - 1].end(), tuple(sorted(ids))[:MOST_PER_NAME])
            )
        at += length
    return spans


def _names_by_first_word(members: Sequence[KnownMember]) -> Names:
    """Names as sequences of words, by their first word: whole names, first names, user names without digits at the end."""
    names: Names = {}
    for member in members:
        for name in member.names:
            words = tuple(word.casefold() for word in _WORD.findall(name))
            forms = {words}
            if words and len(words[0]) >= 3 and words[0] not in _NO_FIRST_NAMES:
                forms.add(words[:1])
                forms.add((words[0].rstrip("0123456789"),))
            for form in forms:
                if form and form[0] and not form[0].isdigit():
                    names.setdefault(form[0], {}).setdefault(form, set()).add(member.user_id)
    return names


def _exact(words: list[re.Match[str]], at: int, text: str, names: Names) -> tuple[int, set[int]]:
    for form, ids in sorted(names.get(words[at][0].casefold(), {}).items(), key=lambda item: -len(item[0])):
        if tuple(word[0].casefold() for word in words[at : at + len(form)]) != form:
            continue
        if len(form) == 1 and form[0] in _PLAIN and not _looks_like_a_name(words[at], text):
            continue
        return len(form), ids
    return 1, set()


def _close(word: re.Match[str], text: str, members: KnownMembers) -> set[int]:
    """Members whose name is this word but for a slip, or begins with it (Mel for Melanie)."""
    written = word[0].casefold()
    capital = word[0][0].isupper()
    if len(written) < 3 or written in _PLAIN or not written.isalpha():
        return set()
    close: set[int] = set()
    short: set[int] = set()
    letters = _letters(written)
    for name, other in members.single.get(written[0], ()):
        allowed = _slips_allowed(name, written, capital=capital)
        if (
            abs(len(name) - len(written)) <= allowed
            and (letters ^ other).bit_count() <= 2 * allowed  # a slip changes one letter for another at most
            and 0 < distance(name, written) <= allowed
        ):
            close |= members.names[name][(name,)]
        elif capital and name.startswith(written):
            short |= members.names[name][(name,)]
    return close or (short if len(short) == 1 and _inside_or_alone(word, text) else set())


def _letters(word: str) -> int:
    """Which letters a word has, as bits; two that share one only make words look more alike than they are."""
    bits = 0
    for letter in word:
        bits |= 1 << (ord(letter) & 63)
    return bits


def _slips_allowed(name: str, written: str, *, capital: bool) -> int:
    """A word in lower case is more likely just a word."""
    if not capital:
        return 1 if min(len(name), len(written)) >= 5 else 0
    longer = max(len(name), len(written))
    return 0 if longer < 5 else 1 if longer < 7 else 2


def _inside_or_alone(word: re.Match[str], text: str) -> bool:
    return word.start() > 0 or text[word.end() : word.end() + 1] in {"'", "’", ","}


def _looks_like_a_name(word: re.Match[str], text: str) -> bool:
    before = text[: word.start()].rstrip()
    if text[word.end() : word.end() + 2] in {"'s", "’s"} or text[: word.start()].endswith("@"):
        return True
    return (
        word[0][0].isupper() and bool(before) and before[-1] not in ".!?" and not _follows_preposition(before)
    )


def _follows_preposition(before: str) -> bool:
    """Whether a month fits here: "in May" is no person."""
    last = _WORD.findall(before)[-1:]
    return bool(last) and last[0].casefold() in {
        "in",
        "since",
        "until",
        "during",
        "of",
        "last",
        "next",
        "this",
        "by",
    }


def distance(first: str, second: str) -> int:
    """Letters to insert, drop, change or swap (Damerau) to make one word of the other."""
    rows: list[list[int]] = [list(range(len(second) + 1))]
    for i, a in enumerate(first, 1):
        row = [i]
        for j, b in enumerate(second, 1):
            best = min(rows[-1][j] + 1, row[-1] + 1, rows[-1][j - 1] + (a != b))
            if i > 1 and j > 1 and a == second[j - 2] and first[i - 2] == b:
                best = min(best, rows[-2][j - 2] + 1)
            row.append(best)
        rows.append(row)
    return rows[-1][-1]
