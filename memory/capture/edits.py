"""Edits: a memory says what its message says now, in its words, its vector and its record."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.db import transaction

from memory import consent, outbox, removal
from memory.backends import text_index
from memory.capture import content, links, places, touched, underway
from memory.models import Fact, Message
from memory.models.locks import locked
from memory.types import ChannelInfo, GuildInfo, IncomingMessage


def edit_message(*, discord_id: int, text: str, edited_at: datetime | None) -> bool:
    """Takes over an edit of a member's message; True if what is stored changed.

    An edit that is older than the last one is ignored. Where the new text may not be stored (the member paused, the channel is
    closed) or is empty, the memory is removed rather than left wrong. Edits of the bot's own messages are ignored: a reply is
    stored once it is complete.
    """
    underway.wait_until_stored(discord_id)
    return apply_edit(discord_id=discord_id, text=text, edited_at=edited_at)


def apply_edit(*, discord_id: int, text: str, edited_at: datetime | None) -> bool:
    """The same for a message that nobody is storing at this moment."""
    with transaction.atomic():
        touched.note([discord_id], deleted=False)
        owner = Message.objects.filter(discord_id=discord_id, is_bot=False).values_list(
            "member_id", flat=True
        )
        if (user_id := owner.first()) is not None:
            consent.find(user_id)  # members are taken before what is theirs
        row = locked(
            Message.objects.select_related("guild", "channel__parent").filter(
                discord_id=discord_id, is_bot=False
            )
        ).first()
        if row is None or _is_older(edited_at, row.edited_at):
            return False
        mentioned = content.mentioned(text)
        new = content.hide_strangers(content.clean(text).strip(), content.known_people(mentioned))
        if new == row.text:
            return False
        allowed = consent.find(row.member_id)
        if (
            allowed is None
            or (not new and not row.captions and not links.images_to_describe(row))
            or _why_closed(row)
        ):
            return removal.remove([row.key]) > 0
        _rewrite(row, new, edited_at, mentioned)
        _drop_facts(row, allowed.epoch)
        if row.embedding == Message.Embedding.PENDING:
            outbox.enqueue("embed", [row.key], user_id=row.member_id, epoch=allowed.epoch)
        if links.wants_enriching(row):
            outbox.enqueue(links.ENRICH, [row.key], user_id=row.member_id, epoch=allowed.epoch)
    return True


def catch_up_edits(messages: Iterable[IncomingMessage]) -> None:
    """Messages that are stored already, and may have been edited while nobody listened."""
    for message in messages:
        if message.edited_at is not None and message.id:
            edit_message(discord_id=message.id, text=message.text, edited_at=message.edited_at)


def _is_older(edited_at: datetime | None, stored: datetime | None) -> bool:
    return stored is not None and (edited_at is None or edited_at < stored)


def _why_closed(row: Message) -> str:
    kind = "dm" if row.guild.kind == row.guild.Kind.DM else "guild"
    return places.why_closed(
        GuildInfo(id=row.guild.discord_id, kind=kind),  # type: ignore[arg-type]
        ChannelInfo(id=row.channel_id),
    )


def _rewrite(row: Message, text: str, edited_at: datetime | None, mentioned: set[int]) -> None:
    before = content.mentioned(row.text)
    # Words and vector of the old text go first: it must not be found by them any more.
    text_index().remove([row.key])
    for index in removal.vector_indexes():
        index.remove([row.key])
    row.text = text
    row.edited_at = edited_at
    row.embedding = Message.Embedding.PENDING if text or row.captions else Message.Embedding.NONE
    row.space = None
    row.content["message"] = text
    links.drop_pages_no_longer_linked(row)
    gone = {str(one) for one in before - mentioned}
    if gone and "mentions" in row.content:
        users = row.content["mentions"]["users"]
        row.content["mentions"]["users"] = [user for user in users if user["id"] not in gone]
    row.save(update_fields=["text", "edited_at", "embedding", "space", "content"])
    text_index().add([row.key])


def _drop_facts(row: Message, epoch: int) -> None:
    """Facts found in the old words go; the new ones are read if the old ones were."""
    rows = Fact.objects.filter(evidence=row)
    if rows.exists():
        rows.delete()
        outbox.enqueue("extract", [row.key], user_id=row.member_id, epoch=epoch)
