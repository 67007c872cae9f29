"""What a question asks for: whom it is about, which dates it names, and the words that are left to look for."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils import timezone

from memory.index.terms import tokens
from memory.retrieval.dates import NamedDates, asks_when, named_dates
from memory.retrieval.people import find_people, known_members
from memory.types import RecallQuery

MOST_CHARACTERS = 2000
"""Of a question; what is longer is a text, and its beginning says what it is about."""


@dataclass(frozen=True, slots=True)
class Understood:
    text: str
    """Without names; what is embedded."""
    words: tuple[str, ...]
    """What full text looks for."""
    authors: tuple[int, ...]
    """Members the question is about, in its order."""
    everyone: bool
    """Whether that is every member of the server, so that naming them tells nothing."""
    dates: NamedDates
    asks_when: bool


def understand(query: RecallQuery, guild: int) -> Understood:
    """Reads the question of a recall; ``guild`` is the ordinal of the server whose members it may name."""
    members = known_members(guild)
    question = query.text[:MOST_CHARACTERS].replace("\0", " ")
    people = find_people(question, members, query.asker_id)
    words = tokens(people.text)
    text = people.text
    if not words:  # nothing but names: then they are what is looked for
        text, words = question, tokens(question)
    return Understood(
        text=text,
        words=tuple(words),
        authors=people.authors,
        everyone=members.ids <= set(people.authors),
        dates=named_dates(question, query.now or timezone.now()),
        asks_when=asks_when(question),
    )
