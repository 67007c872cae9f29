"""Links in what people write, and which messages have something to look up: a page that is linked, an image to describe."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

from memory.models import Message

ENRICH = "enrich"
"""Kind of work that looks these up; the subject is the message's key."""
MOST_LINKS = 3
SOURCES = frozenset({"live", "backfill", "catch-up"})
"""What is imported comes with its attachments as they were; nothing is fetched for invented people."""
LINK_EXPIRED = "link_expired"

_LINK = re.compile(r"https?://[^\s<>\"`|]{1,2048}", re.I)  # what is longer is no address of a page
# Discord's own addresses lead to its application, not to pages.
_NO_PAGES = ("discord.com", "discord.gg", "discordapp.com", "discord.new")


def links_in(text: str) -> list[str]:
    """The first links of a text, without the punctuation around them; each once."""
    found: dict[str, None] = {}
    for match in _LINK.finditer(text):
        link = _without_punctuation(match[0])
        if _is_page(link):
            found[link] = None
        if len(found) == MOST_LINKS:
            break
    return list(found)


def attachments_of(row: Message) -> list[dict[str, Any]]:
    """The attachments of a message's record; changing them changes the record."""
    listed = row.content.get("attachments")
    kept = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    row.content["attachments"] = kept
    return kept


def pages_to_read(row: Message) -> list[str]:
    """Links that nobody has looked at yet."""
    known = {one.get("url") for one in attachments_of(row) if one.get("type") == "web"}
    return [link for link in links_in(row.text) if link not in known]


def images_to_describe(row: Message) -> list[str]:
    """Addresses of images without a description, unless there is a reason why there is none."""
    return [
        str(one["url"])
        for one in attachments_of(row)
        if one.get("type") == "image"
        and one.get("url")
        and not one.get("interpretation")
        and one.get("error") in {None, LINK_EXPIRED}
    ]


def wants_enriching(row: Message) -> bool:
    """Whether there is something to look up. What the bot says is not looked at."""
    if row.is_bot or row.source not in SOURCES:
        return False
    return bool(pages_to_read(row) or images_to_describe(row))


def drop_pages_no_longer_linked(row: Message) -> None:
    """After an edit: a page goes from the record with its link."""
    links = links_in(row.text)
    row.content["attachments"] = [
        one for one in attachments_of(row) if one.get("type") != "web" or one.get("url") in links
    ]


def _without_punctuation(link: str) -> str:
    while link:
        last = link[-1]
        if last in ".,;:!?'*_~]}" or (last == ")" and link.count(")") > link.count("(")):
            link = link[:-1]
        else:
            break
    return link


def _is_page(link: str) -> bool:
    try:
        host = (urlsplit(link).hostname or "").removesuffix(".")
    except ValueError:
        return False
    return bool(host) and not any(host == one or host.endswith("." + one) for one in _NO_PAGES)
