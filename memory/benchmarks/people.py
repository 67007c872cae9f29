"""Invented people who talk, the same in every run."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from memory import consent
from memory.types import ChannelInfo, GuildInfo, IncomingMessage, Person

WORDS = [
    "harbour",
    "boat",
    "sail",
    "rope",
    "anchor",
    "storm",
    "lighthouse",
    "captain",
    "crew",
    "deck",
    "engine",
    "map",
    "coast",
    "island",
    "tide",
    "wave",
    "gull",
    "fish",
    "net",
    "bread",
    "coffee",
    "evening",
    "morning",
    "market",
    "garden",
    "letter",
    "music",
    "guitar",
    "concert",
    "ticket",
    "train",
    "station",
    "mountain",
    "river",
    "bridge",
    "library",
    "book",
    "chapter",
    "teacher",
    "lesson",
    "exam",
    "school",
    "doctor",
    "recipe",
    "kitchen",
    "pepper",
    "onion",
    "soup",
    "cake",
    "birthday",
    "present",
    "cat",
    "dog",
    "bicycle",
    "repair",
    "paint",
    "window",
    "roof",
    "cellar",
    "winter",
    "summer",
    "holiday",
    "camera",
    "picture",
    "film",
    "theatre",
    "actor",
    "game",
    "score",
]
START = datetime(2025, 1, 1, tzinfo=UTC)
GUILD = GuildInfo(id=1_200_000_000_000_000_001, name="Benchmark")
CHANNELS = tuple(ChannelInfo(id=1_200_000_000_000_000_100 + n, name=f"channel-{n}") for n in range(10))
FIRST_MESSAGE = 1_250_000_000_000_000_000


def member(number: int) -> Person:
    """A member who has opted in."""
    person = Person(
        id=1_210_000_000_000_000_000 + number, username=f"person{number}", display_name=f"Person {number}"
    )
    consent.give(person=person, origin="sample", guild=None)
    return person


def conversation(people: list[Person], count: int, *, seed: int = 1) -> Iterator[IncomingMessage]:
    """Messages of about sixteen words, five minutes apart."""
    chance = random.Random(seed)
    for number in range(count):
        yield IncomingMessage(
            id=FIRST_MESSAGE + (seed << 40) + number,
            guild=GUILD,
            channel=chance.choice(CHANNELS),
            author=people[number % len(people)],
            text=" ".join(chance.choices(WORDS, k=chance.randint(8, 24))) + f" {number}",
            sent_at=START + timedelta(minutes=5 * number),
        )
