"""What an erasure deletes, in steps of which each is one short transaction. A step that returns nothing has nothing left to do.

Answers that leaned on a memory go before it, so that a process that is killed in between still finds them by it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from memory import removal
from memory.erasure import core_memory
from memory.models import (
    DailyCount,
    Fact,
    FactBook,
    Guild,
    GuildMember,
    Member,
    Message,
    Reply,
    ReplyFact,
    ReplyMemory,
)

MOST_LEVELS = 50


def erase_keys(keys: Sequence[int], size: int, *, merged_later: bool = True) -> Counter[str]:
    """One transaction's worth of the way to removing these messages and all that leaned on them.

    ``merged_later``: the index of words is merged at the end of the erasure, which takes them out of the file.
    """
    wanted = list(keys)
    keys = _deepest(wanted, size)
    leaning = _leaning_on(keys).exclude(answer_id__in=keys)
    bare = list(leaning.values_list("id", flat=True)[:size])
    if bare:
        counts = core_memory.notes_of(bare)
        Reply.objects.filter(id__in=bare).delete()
        return +(counts + Counter(traces=len(bare)))
    counts = Counter()
    answered = list(Reply.objects.filter(answer_id__in=keys).values_list("id", flat=True))
    asked = list(Reply.objects.filter(question_id__in=keys).values_list("id", flat=True))
    if keys != wanted:  # answers that leaned on what is to go
        counts += core_memory.notes_of(answered)
    counts["traces"] = Reply.objects.filter(id__in={*answered, *asked}).count()
    Reply.objects.filter(id__in={*answered, *asked}).delete()
    counts["memories"] = removal.remove(keys, merged_later=merged_later)
    return +counts


def _leaning_on(keys: Sequence[int] | QuerySet[Message, Any]) -> QuerySet[Reply]:
    injected = ReplyMemory.objects.filter(message_id__in=keys, injected=True).values("reply_id")
    known = ReplyFact.objects.filter(fact__evidence_id__in=keys).values("reply_id")
    return Reply.objects.filter(Q(id__in=injected) | Q(id__in=known))


def _deepest(keys: list[int], size: int) -> list[int]:
    """The answers that leaned on these messages, the answers that leaned on those, and so on: where the chain ends."""
    seen = set(keys)
    for _ in range(MOST_LEVELS):
        answers = _leaning_on(keys).exclude(answer=None).exclude(answer_id__in=seen)
        found = list(dict.fromkeys(answers.values_list("answer_id", flat=True)[:size]))
        if not found:
            break
        keys = [key for key in found if key is not None]
        seen.update(keys)
    return keys


def answers_of_others(user_id: int) -> set[int]:
    """Keys of the answers to other members that leaned on what this member wrote, directly or through another answer."""
    first = _leaning_on(Message.objects.filter(member_id=user_id).values("key")).exclude(answer=None)
    found: set[int] = set()
    level = set(first.exclude(answer__member_id=user_id).values_list("answer_id", flat=True))
    while level:
        found |= level
        keys = sorted(level)
        level = set()
        for start in range(0, len(keys), removal.BATCH):
            more = _leaning_on(keys[start : start + removal.BATCH]).exclude(answer=None)
            level.update(more.exclude(answer__member_id=user_id).values_list("answer_id", flat=True))
        level -= found
    return {key for key in found if key is not None}


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
    messages,
    traces,
    core_memory.shared_blocks,
    core_memory.own_blocks,
    core_memory.archive,
    private_conversations,
    counts_by_day,
    names,
    member,
)
