"""Reads the pages that a message links and describes its images: in the worker, once a message, for members who have opted in.

An outbox entry of kind ``enrich`` (subject: the message's key) is the work. Each result is written as soon as it is there, so that
a worker that dies repeats at most one; what cannot be had is noted with its reason and holds up nothing else.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal
from urllib.parse import urlsplit

from django.db import transaction

from memory import backends, consent, outbox
from memory.capture import images, links
from memory.capture.content import hide_strangers, known_people, mentioned
from memory.capture.links import ENRICH, LINK_EXPIRED
from memory.capture.webpage import read_page
from memory.conf import get_config
from memory.errors import (
    ConsentMissing,
    ModelMissing,
    ModelTimeout,
    ModelUnavailable,
    MusebotError,
    StaleEpoch,
)
from memory.llm.base import VisionModel
from memory.models import Member, Message, OutboxEntry
from memory.types import AttachmentInfo
from memory.web import IMAGE, Fetched, FetchError, fetch

logger = logging.getLogger(__name__)

MOST_CAPTION = 1_000
PAUSED_SECONDS = 600.0
ITEM_LEASE = timedelta(minutes=10)
"""A vision model that runs without a graphics card takes minutes for one image."""
EXPIRED_STATUSES = frozenset({403, 404, 410})

Refresher = Callable[[int, int], Sequence[AttachmentInfo]]
"""From Discord's ids of a channel and a message to the attachments as they are now; links to them expire after some hours."""

refresh_attachment_urls: Refresher | None = None


def supply_refresher(refresher: Refresher | None) -> None:
    """Whoever can ask Discord says how. Without it, images whose links have expired stay marked ``link_expired``."""
    global refresh_attachment_urls
    refresh_attachment_urls = refresher


class LinkExpired(MusebotError):
    """The link to an attachment has expired; it is fetched again once its message has been asked for a new one."""

    code = LINK_EXPIRED
    retryable = True


@dataclass(frozen=True, slots=True)
class _Item:
    kind: Literal["web", "image"]
    url: str


def enrich_entries(entries: Sequence[OutboxEntry]) -> None:
    """Handler of ``enrich``. Every entry is finished, given back or marked failed."""
    for entry in entries:
        _enrich(entry)


def _enrich(entry: OutboxEntry) -> None:
    row = _row(entry)
    if row is None:
        return
    vision = backends.vision_model()
    items = [_Item("web", url) for url in links.pages_to_read(row)]
    if vision is not None:
        items += [_Item("image", url) for url in links.images_to_describe(row)]
    waits: MusebotError | None = None
    for item in items:
        if not outbox.extend([entry], by=ITEM_LEASE):
            return  # the text was edited, or somebody else has it now
        try:
            found = _page(item.url) if item.kind == "web" else _described(row, item.url, vision)
        except MusebotError as error:
            logger.info("attachment of message %d: %s", entry.subject, error.code)
            if _may_help_later(error, entry):
                waits = error
                continue
            found = {"interpretation": None, "error": error.code}
        if not _write(entry, item, found):
            return
        if found.get("error") == LINK_EXPIRED:
            waits = LinkExpired()
    if waits is None:
        outbox.finish([entry])
    else:
        outbox.fail([entry], waits, final=isinstance(waits, LinkExpired))


def _row(entry: OutboxEntry) -> Message | None:
    """The message, if its owner still consents. Otherwise None, and the entry is finished, or held while the owner pauses.

    Asked before anything is fetched, and in each transaction that writes.
    """
    row = Message.objects.filter(key=entry.subject).first()
    if row is not None:
        try:
            consent.require(consent.Consent(row.member_id, entry.epoch))
            return row
        except (ConsentMissing, StaleEpoch):
            member = Member.objects.filter(user_id=row.member_id, withdrawn_at=None, epoch=entry.epoch)
            if member.exclude(paused_at=None).exists():
                outbox.hold([entry], PAUSED_SECONDS)
                return None
    outbox.finish([entry])
    return None


def _may_help_later(error: MusebotError, entry: OutboxEntry) -> bool:
    """A model's host is waited for as long as it takes; anything else is tried a few times."""
    if isinstance(error, ModelMissing) or (
        isinstance(error, ModelUnavailable) and not isinstance(error, ModelTimeout)
    ):
        return True
    return error.retryable and not isinstance(error, LinkExpired) and entry.attempts < outbox.MAX_ATTEMPTS


def _page(url: str) -> dict[str, Any]:
    page = read_page(fetch(url))
    host = urlsplit(url).hostname or ""
    said = "\n\n".join(part for part in (page.title, page.text) if part)
    return {"filename": page.title or host, "interpretation": said or None}


def _described(row: Message, url: str, vision: VisionModel | None) -> dict[str, Any]:
    assert vision is not None
    changed: dict[str, Any] = {}
    try:
        fetched = _image(url)
    except LinkExpired:
        changed["url"] = _fresh(row, url)
        fetched = _image(changed["url"])
    caption = vision.describe(images.for_model(fetched.body), hint=row.text)
    flat = " ".join(caption.replace("\0", "").encode("utf-8", "replace").decode("utf-8").split())
    return changed | {"interpretation": flat[:MOST_CAPTION]}


def _image(url: str) -> Fetched:
    try:
        return fetch(url, limits=IMAGE, allow_hosts=get_config().discord.cdn_hosts)
    except FetchError as error:
        if error.details.get("http_status") in EXPIRED_STATUSES:
            raise LinkExpired() from None
        raise


def _fresh(row: Message, url: str) -> str:
    """The link to the same attachment as it is now: only its signature changes. Raises ``LinkExpired`` if there is none."""
    if refresh_attachment_urls is not None and row.discord_id is not None:
        path = urlsplit(url).path
        for attachment in refresh_attachment_urls(row.channel_id, row.discord_id):
            if urlsplit(attachment.url).path == path:
                return attachment.url
    raise LinkExpired()


@transaction.atomic
def _write(entry: OutboxEntry, item: _Item, found: dict[str, Any]) -> bool:
    """One result. False if the owner's consent ended, the message went or its text was edited meanwhile."""
    if not outbox.extend([entry]):
        return False
    row = _row(entry)
    if row is None:
        return False
    if said := found.get("interpretation"):
        # A page may name people by id who have not opted in.
        found = found | {"interpretation": hide_strangers(said, known_people(mentioned(said)))}
    attachments = links.attachments_of(row)
    for attachment in attachments:
        if attachment.get("type") == item.kind and attachment.get("url") == item.url:
            attachment.pop("error", None)
            attachment.update(found)
            break
    else:
        attachments.append({"filename": "", "url": item.url, "type": item.kind} | found)
    captions = "\n".join(
        str(one["interpretation"])
        for one in attachments
        if one.get("type") == "image" and one.get("interpretation")
    )
    if captions == row.captions:
        row.save(update_fields=["content"])
        return True
    # The index is told the words that leave, which it derives from the row as it is.
    backends.text_index().remove([row.key])
    row.captions = captions
    # The old vector serves until the new one replaces it.
    row.embedding = Message.Embedding.PENDING
    row.save(update_fields=["content", "captions", "embedding"])
    backends.text_index().add([row.key])
    outbox.enqueue("embed", [row.key], user_id=row.member_id, epoch=entry.epoch)
    return True


def interpretations(key: int, *, seconds: float = 0.0) -> list[dict[str, Any]]:
    """What is known of a message's pages and images, for the reply to it; waits up to ``seconds`` while the worker is at it.

    Nothing is fetched here: what is not there in time is left out.
    """
    end = time.monotonic() + seconds
    busy = OutboxEntry.objects.filter(kind=ENRICH, subject=key, attempts__lte=1).exclude(
        state=OutboxEntry.State.FAILED
    )
    while time.monotonic() < end and busy.exists():
        time.sleep(0.1)
    row = Message.objects.filter(key=key, member__withdrawn_at=None).first()
    return [one for one in links.attachments_of(row) if one.get("interpretation")] if row else []
