"""Memories as they enter a prompt: compact dated lines, or the full records, within a budget of tokens."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Literal

from memory.retrieval.candidates import Row

_MENTION = re.compile(r"<@!?(\d{1,20})>")
MOST_CHARACTERS = 700
"""Of one line: a wall of text may not take the whole budget."""
MOST_OF_A_PAGE = 400
"""Characters of a page or an image's description in a record."""


def line_of(row: Row, content: Mapping[str, Any], style: Literal["lines", "json"]) -> str:
    """``[8 May 2023 Caroline] text``, with what is known of images and links; or the record as JSON."""
    if style == "json":
        return json.dumps(_cut(content) or _record(row), ensure_ascii=False, separators=(",", ":"))
    text = " ".join(_with_names(row.text, content).split())
    if len(text) > MOST_CHARACTERS:
        text = text[:MOST_CHARACTERS].rstrip() + " …"
    if row.captions:
        text += f" [image: {_shortened(row.captions)}]"
    for link in _links(content):
        text += f" [link: {_shortened(link)}]"
    day = row.sent_at
    author = " ".join(row.author_name.split()).replace("]", ")")
    return f"[{day.day} {day:%B %Y} {author}] {text}".rstrip()


def _with_names(text: str, content: Mapping[str, Any]) -> str:
    """``<@123>`` as ``@Ada``, where the record says who that is."""
    if "<@" not in text:
        return text
    mentions = content.get("mentions")
    users = mentions.get("users") if isinstance(mentions, dict) else None
    names = {
        str(user.get("id")): str(user.get("displayName") or user.get("username") or "")
        for user in (users if isinstance(users, list) else ())
        if isinstance(user, dict)
    }
    return _MENTION.sub(lambda found: f"@{names[found[1]]}" if names.get(found[1]) else found[0], text)


def _shortened(text: str, most: int = 200) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= most else flat[:most].rstrip() + " …"


def _links(content: Mapping[str, Any]) -> list[str]:
    """Of each page that is linked: its title and how it begins."""
    attachments = content.get("attachments")
    links = []
    for attachment in attachments if isinstance(attachments, list) else ():
        if isinstance(attachment, dict) and attachment.get("type") == "web":
            title, _, text = str(attachment.get("interpretation") or "").strip().partition("\n")
            said = [str(attachment.get("title") or title), text.strip()]
            if any(said):
                links.append(" — ".join(part for part in said if part))
    return links[:2]


def _cut(content: Mapping[str, Any]) -> dict[str, Any]:
    """The record with long interpretations cut: one page would fill the whole budget."""
    attachments = content.get("attachments")
    if not isinstance(attachments, list):
        return dict(content)
    cut = [
        one | {"interpretation": _shortened(str(one["interpretation"]), MOST_OF_A_PAGE)}
        if isinstance(one, dict) and one.get("interpretation")
        else one
        for one in attachments
    ]
    return {**content, "attachments": cut}


def _record(row: Row) -> dict[str, Any]:
    return {
        "messageId": str(row.discord_id) if row.discord_id else None,
        "displayName": row.author_name,
        "userId": str(row.author_id),
        "message": row.text,
        "datetime": row.sent_at.isoformat(),
        "channel": {"id": str(row.channel_id), "name": row.channel_name},
    }
