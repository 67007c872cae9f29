"""Storing messages of members who have opted in. Nobody waits for a model: a row is stored, and the rest is noted as work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from memory import consent
from memory.capture import underway
from memory.capture.content import clean, images
from memory.capture.edits import catch_up_edits
from memory.capture.writing import Item, Outcome, store
from memory.models import Message
from memory.types import IncomingMessage, Source

BATCH = 500


@dataclass(frozen=True, slots=True)
class RecordResult:
    """What became of many messages. ``skipped`` counts by reason."""

    stored: int = 0
    duplicates: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)


def record_message(message: IncomingMessage, *, source: Source = "live") -> int | None:
    """Stores one message of a member; returns its key, the same one if it is stored already.

    None if nothing is stored: its author has not opted in or is a bot, the place is closed, there is nothing in it.
    """
    if message.author.is_bot:
        return None
    return _record_one(message, message.author.id, source)


def record_reply(reply: IncomingMessage, *, owner_id: int, source: Source = "reply") -> int | None:
    """Stores what the bot answered. It belongs to the member who asked, and is stored only if they have opted in."""
    return _record_one(reply, owner_id, source)


def _record_one(message: IncomingMessage, owner_id: int, source: Source) -> int | None:
    with underway.storing([message.id]):
        found = consent.find(owner_id)
        if found is None or _is_empty(message):
            return None
        outcome = store([Item(message, owner_id)], consents={owner_id: found}, source=source)[0]
    if outcome.duplicate:
        catch_up_edits([message])
    return outcome.key


def record_together(messages: Sequence[IncomingMessage]) -> list[int | None]:
    """Stores what members say at about the same time, in one transaction; the keys in order, as ``record_message`` gives them."""
    people = [one for one in messages if not one.author.is_bot and not _is_empty(one)]
    with underway.storing([one.id for one in people]):
        found = consent.find_many(one.author.id for one in people)
        theirs = [one for one in people if one.author.id in found]
        items = [Item(one, one.author.id) for one in theirs]
        outcomes = store(items, consents=found, source="live") if items else []
    catch_up_edits([one for one, outcome in zip(theirs, outcomes, strict=True) if outcome.duplicate])
    keys = {id(one): outcome.key for one, outcome in zip(theirs, outcomes, strict=True)}
    return [keys.get(id(one)) for one in messages]


def record_messages(
    messages: Sequence[IncomingMessage], *, source: Source, bot_ids: Collection[int] = ()
) -> RecordResult:
    """Stores many messages, oldest first, in transactions of ``BATCH``, through the same gates as one.

    Messages of ``bot_ids`` are the bot's own replies: each belongs to the member whose message it answers by reference, and
    one whose trigger is not stored is skipped. Messages of other bots are skipped.
    """
    stored = duplicates = 0
    skipped: Counter[str] = Counter()
    for start in range(0, len(messages), BATCH):
        some = messages[start : start + BATCH]
        with underway.storing(message.id for message in some):
            outcomes = _record_some(some, source, bot_ids, skipped)
        stored += sum(outcome.key is not None and not outcome.duplicate for _, outcome in outcomes)
        again = [message for message, outcome in outcomes if outcome.duplicate]
        duplicates += len(again)
        catch_up_edits(again)
        skipped.update(outcome.skipped for _, outcome in outcomes if outcome.skipped)
    return RecordResult(stored, duplicates, dict(skipped))


def _record_some(
    messages: Sequence[IncomingMessage], source: Source, bot_ids: Collection[int], skipped: Counter[str]
) -> list[tuple[IncomingMessage, Outcome]]:
    """One transaction's worth. What has no owner is not looked at any further."""
    authors = {message.author.id for message in messages if not message.author.is_bot}
    consenting = consent.consenting(authors)
    owners = {message.id: message.author.id for message in messages if message.author.id in consenting}
    triggers = {message.reply_to for message in messages if message.author.is_bot and message.reply_to}
    asked = Message.objects.filter(discord_id__in=triggers, is_bot=False)
    owners |= {trigger: owner for trigger, owner in asked.values_list("discord_id", "member_id") if trigger}
    items = []
    for message in messages:
        if not message.author.is_bot:
            owner, why = owners.get(message.id), "no_consent"
        elif message.author.id in bot_ids:
            owner, why = owners.get(message.reply_to or 0), "no_trigger"
        else:
            owner, why = None, "other_bot"
        if owner is None:
            skipped[why] += 1
        else:
            items.append(Item(message, owner))
    consents = consent.find_many(item.owner_id for item in items)
    outcomes = store(items, consents=consents, source=source) if items else []
    return [(item.message, outcome) for item, outcome in zip(items, outcomes, strict=True)]


def _is_empty(message: IncomingMessage) -> bool:
    return not clean(message.text).strip() and not images(message)
