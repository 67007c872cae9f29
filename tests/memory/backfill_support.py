"""A scan of one channel whose pages come from a list instead of from Discord."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from django.utils import timezone

from memory import consent
from memory.capture import backfill
from memory.capture.backfill import ChannelWork, ListedChannel, Page
from memory.models import Scan
from memory.types import ChannelInfo, GuildInfo, IncomingMessage, Person
from tests.factories import incoming, person, snowflake

GUILD = GuildInfo(id=1_300_000_000_000_000_001, name="Harbour")
GENERAL = ChannelInfo(id=1_300_000_000_000_000_002, name="general")


def member(name: str = "ada") -> Person:
    someone = person(name)
    consent.give(person=someone, origin="discord")
    return someone


def waiting(*people: Person, guilds: Sequence[GuildInfo] = (GUILD,)) -> Scan:
    """A scan that these members wait for; its cohort is still open."""
    for someone in people:
        [scan] = backfill.request(user_id=someone.id, guilds=guilds)
    return scan


def close_cohort() -> None:
    Scan.objects.filter(state="gathering").update(begins_at=timezone.now() - timedelta(seconds=1))
    backfill.begin_due()


def reading(*people: Person, channels: Sequence[ListedChannel] = (ListedChannel(GENERAL),)) -> Scan:
    """The same, begun and listed."""
    scan = waiting(*people)
    close_cohort()
    [listing] = backfill.due_listings()
    backfill.listed(listing, GUILD, channels)
    scan.refresh_from_db()
    return scan


def work() -> ChannelWork:
    [one] = backfill.open_work(limit=1)
    return one


def said(author: Person, *texts: str) -> list[IncomingMessage]:
    """Messages, oldest first."""
    found = []
    for text in texts:
        id = snowflake()
        found.append(
            incoming(text, author=author, id=id, channel=GENERAL, guild=GUILD, sent_at=backfill.time_of(id))
        )
    return found


def page(
    messages: Sequence[IncomingMessage], *, cursor: int | None = None, last: bool = True, **values: object
) -> Page:
    """A page of these messages (given oldest first)."""
    newest_first = tuple(sorted(messages, key=lambda one: -one.id))
    return Page(
        **{  # type: ignore[arg-type]
            "cursor": cursor,
            "seen": tuple(one.id for one in newest_first),
            "last": last,
            "fetched_at": timezone.now(),
            "messages": newest_first,
            **values,
        }
    )
