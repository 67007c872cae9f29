"""What an erasure deletes, in steps of which each is one short transaction. A step that returns nothing has nothing left to do.

Answers that leaned on a memory go before it, so that a process that is killed in between still finds them by it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet

from memory import removal
from memory.erasure import core_memory, kept_out
from memory.models import (
    DailyCount,
    Fact,
    FactBook,
    Guild,
    GuildMember,
    Member,
    Message,
    Reply,
    ReplyContext,
    ReplyFact,
    ReplyMemory,
)

MOST_LEVELS = 50


def erase_keys(
    keys: Sequence[int],
    size: int,
    *,
    merged_later: bool = True,
    covered: QuerySet[Message] | None = None,
) -> Counter[str]:
    """One transaction's worth of the way to removing these messages and all that leaned on them.

    ``merged_later``: the index of words is merged at the end of the erasure, which takes them out of the file. ``covered``: messages
    that are kept from coming back as a whole, by the erasure that this belongs to; all others are noted one by one.
    """
    found = _reached(list(keys), size)
    if found.rest and not found.beside:
        # So many lean on these that what they led to is taken first.
        bare = [id_ for id_, answer in found.leaning.items() if answer is None]
        if bare:
            return _erase_traces(bare, leaned=bare)
        return erase_keys(found.rest[:size], size, merged_later=merged_later, covered=covered)
    going, leaning = found.beside, list(found.leaning)
    if found.rest:
        # What is beyond them is found again by what stays.
        reached = {id_ for id_, answer in found.leaning.items() if answer in found.rest}
        leaning = [id_ for id_ in leaning if id_ not in reached]
        links = [ReplyContext(reply_id=id_, message_id=keys[0]) for id_ in reached]
        ReplyContext.objects.bulk_create(links, ignore_conflicts=True)
    answered = Reply.objects.filter(answer_id__in=removal.listed(going)).values_list("id", flat=True)
    counts = _erase_traces({*leaning, *answered}, leaned=leaning)
    kept_out.note(going, covered=covered)
    counts["memories"] = removal.remove(going, merged_later=merged_later)
    return +counts


def _erase_traces(ids: Collection[UUID], *, leaned: Sequence[UUID]) -> Counter[str]:
    counts = core_memory.notes_of(leaned)
    removal.delete(Reply, ids)
    return +(counts + Counter(traces=len(ids)))


def _leaning_on(keys: Collection[int] | QuerySet[Message, Any]) -> QuerySet[Reply]:
    """Replies that had any of these messages before them: the question, what was recalled, the evidence of a fact, the conversation."""
    wanted = keys if isinstance(keys, QuerySet) else removal.listed(keys)
    asked = Reply.objects.filter(question_id__in=wanted).values("id")
    injected = ReplyMemory.objects.filter(message_id__in=wanted, injected=True).values("reply_id")
    known = ReplyFact.objects.filter(fact__evidence_id__in=wanted).values("reply_id")
    before = ReplyContext.objects.filter(message_id__in=wanted).values("reply_id")
    return Reply.objects.filter(id__in=asked.union(injected, known, before))


@dataclass(frozen=True, slots=True)
class _Reached:
    """What leans on some messages, directly or through answers, as far as one transaction goes."""

    beside: list[int]
    """Messages that can go now: all, or, where there is a rest, the answers before it."""
    leaning: dict[UUID, int | None]
    """Replies on the way, with their answers."""
    rest: list[int]
    """Answers on which others may lean in turn; empty where that was the end of it."""


def _reached(keys: list[int], size: int) -> _Reached:
    going = dict.fromkeys(keys)
    leaning: dict[UUID, int | None] = {}
    level = keys
    for _ in range(MOST_LEVELS):
        here: dict[UUID, int | None] = dict(_leaning_on(level).values_list("id", "answer_id")[: size + 1])
        found = [key for key in dict.fromkeys(here.values()) if key is not None and key not in going]
        if len(here) > size:
            if level is keys:
                return _Reached([], here, found or [key for key in here.values() if key is not None])
            break
        leaning.update(here)
        if not found:
            return _Reached(list(going), leaning, [])
        level = found
        going.update(dict.fromkeys(found))
        if len(going) > 2 * size:
            break
    stay = {*keys, *level}
    return _Reached([key for key in going if key not in stay], leaning, level)


def answers_from(rows: QuerySet[Message], more: Collection[int] = ()) -> set[int]:
    """Keys of the answers that leaned on these messages, directly or through another answer, without the messages themselves."""
    given = rows.order_by().values("key")
    first = _leaning_on(given).exclude(answer=None).exclude(answer_id__in=given)
    found: set[int] = set()
    level = {key for key in first.values_list("answer_id", flat=True) if key is not None}
    level |= set(more)
    while level:
        found |= level
        keys = sorted(level)
        level = set()
        for start in range(0, len(keys), removal.BATCH):
            answers = _leaning_on(keys[start : start + removal.BATCH]).exclude(answer=None)
            found_here = answers.exclude(answer_id__in=given).values_list("answer_id", flat=True)
            level.update(key for key in found_here if key is not None)
        level -= found
    return found - set(more)


def answers_of_others(user_id: int) -> set[int]:
    """Keys of the answers to other members that leaned on what this member wrote, directly or through another answer."""
    return answers_from(Message.objects.filter(member_id=user_id))


def messages(user_id: int, size: int) -> Counter[str]:
    """What they wrote, and what the bot answered them."""
    keys = list(Message.objects.filter(member_id=user_id).values_list("key", flat=True)[:size])
    return erase_keys(keys, size) if keys else Counter()


def traces(user_id: int, size: int) -> Counter[str]:
    """Traces of what they asked, with answers that were stored elsewhere."""
    rows = list(Reply.objects.filter(asker_id=user_id).values_list("id", "answer_id")[:size])
    answers = [answer for _, answer in rows if answer is not None]
    if answers:
        return erase_keys(answers, size)
    Reply.objects.filter(id__in=[key for key, _ in rows]).delete()
    return +Counter(traces=len(rows))


def private_conversations(user_id: int, size: int) -> Counter[str]:
    """Their direct conversation with the bot, whose name is theirs; it is empty by now."""
    others = GuildMember.objects.filter(guild=OuterRef("pk")).exclude(member_id=user_id)
    kept = Message.objects.filter(guild=OuterRef("pk"))
    theirs = Guild.objects.filter(kind=Guild.Kind.DM, members__member_id=user_id)
    guild = theirs.filter(~Exists(others), ~Exists(kept)).first()
    if guild is None:
        return Counter()
    replies = list(Reply.objects.filter(guild=guild).values_list("id", flat=True)[:size])
    if replies:
        Reply.objects.filter(id__in=replies).delete()
        return Counter(traces=len(replies))
    guild.delete()
    return Counter(conversations=1)


def counts_by_day(user_id: int, size: int) -> Counter[str]:
    """How much they wrote on which day."""
    ids = list(DailyCount.objects.filter(member_id=user_id).values_list("id", flat=True)[:size])
    DailyCount.objects.filter(id__in=ids).delete()
    return +Counter(days=len(ids))


def names(user_id: int, size: int) -> Counter[str]:
    """How they are called in each server."""
    ids = list(GuildMember.objects.filter(member_id=user_id).values_list("id", flat=True)[:size])
    GuildMember.objects.filter(id__in=ids).delete()
    return +Counter(names=len(ids))


def facts(user_id: int, size: int) -> Counter[str]:
    """Facts about them, with their history; those from a message went with it."""
    ids = list(Fact.objects.filter(member_id=user_id).values_list("id", flat=True)[:size])
    Fact.objects.filter(id__in=ids).delete()
    if not ids:
        FactBook.objects.filter(member_id=user_id).delete()
    return +Counter(facts=len(ids))


def member(user_id: int, size: int) -> Counter[str]:
    """The row whose existence is the consent, last of all; only once nothing hangs on it."""
    row = Member.objects.filter(user_id=user_id).exclude(withdrawn_at=None)
    hanging = Q(messages__isnull=False) | Q(guilds__isnull=False) | Q(facts__isnull=False)
    hanging |= Q(memory_blocks__isnull=False) | Q(archival_entries__isnull=False)
    if not row.exists() or row.filter(hanging).exists():
        return Counter()
    row.delete()
    return Counter(members=1)


STEPS = (
    facts,
    core_memory.own_blocks,
    core_memory.archive,
    messages,
    traces,
    core_memory.shared_blocks,
    private_conversations,
    counts_by_day,
    names,
    member,
)
