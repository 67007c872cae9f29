"""Erasing a part of what is stored of a member: the steps, what they would remove, and what is left of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q, QuerySet

from memory import removal
from memory.erasure import core_memory
from memory.erasure.parts import Part
from memory.erasure.steps import answers_from, erase_keys
from memory.models import (
    ArchivalEntry,
    BlockRevision,
    Channel,
    DailyCount,
    Fact,
    GuildMember,
    MemoryBlock,
    Message,
    PersonaProposal,
    Reply,
    Scope,
)

ANSWERED_WITHIN = timedelta(hours=1)
SAMPLE = 64
"""Messages of which the files are searched for afterwards."""


def messages(user_id: int, part: Part, size: int) -> Counter[str]:
    """What they wrote there or then and what the bot answered, wherever and whenever the answer was given."""
    rows = part.messages(user_id)
    found = list(rows.values_list("key", "discord_id", "sent_at")[:size])
    if not found:
        return Counter()
    moments = [sent_at for _, _, sent_at in found]
    answers = _answers(
        user_id, [one for _, one, _ in found if one is not None], first=min(moments), last=max(moments)
    )
    keys = list(dict.fromkeys([*answers.values_list("key", flat=True)[:size], *(one[0] for one in found)]))
    return erase_keys(keys[:size], size, covered=rows)


def _answers(user_id: int, questions: Any, *, first: datetime, last: datetime) -> QuerySet[Message]:
    """Answers to messages of this time, by Discord's id of what they answer: those that were read from a history have no trace."""
    return Message.objects.filter(
        member_id=user_id,
        is_bot=True,
        reply_to__in=questions,
        sent_at__gte=first,
        sent_at__lte=last + ANSWERED_WITHIN,
    )


def traces(user_id: int, part: Part, size: int) -> Counter[str]:
    """Traces of what they asked there or then, with the answers and with what a model noted meanwhile."""
    rows = list(part.replies(user_id).values_list("id", "answer_id")[:size])
    answers = [answer for _, answer in rows if answer is not None]
    if answers:
        return erase_keys(answers, size, covered=part.messages(user_id))
    ids = [id_ for id_, _ in rows]
    counts = core_memory.notes_of(ids)
    Reply.objects.filter(id__in=ids).delete()
    return +(counts + Counter(traces=len(ids)))


def archive(user_id: int, part: Part, size: int) -> Counter[str]:
    """What was noted of them there or then."""
    return core_memory.remove_entries(list(part.archive(user_id).values_list("pk", flat=True)[:size]))


def facts(user_id: int, part: Part, size: int) -> Counter[str]:
    """Facts that were written down there or then; those from a message went with it."""
    ids = list(part.facts(user_id).values_list("id", flat=True)[:size])
    Fact.objects.filter(id__in=ids).delete()
    return +Counter(facts=len(ids))


def blocks(user_id: int, part: Part, size: int) -> Counter[str]:
    """Lines that came into blocks in their turns there or then, and proposals that they made."""
    proposals = _proposals(user_id, part).delete()[0]
    return +Counter(blocks=removal.strike(_revisions(user_id, part)), proposals=proposals)


def _revisions(user_id: int, part: Part) -> QuerySet[BlockRevision]:
    rows = BlockRevision.objects.filter(actor=user_id).exclude(actor_kind=BlockRevision.Actor.ADMIN)
    rows = rows.exclude(value="").filter(_when(part, "at"))
    if part.is_one:
        return rows.none()
    if part.guild_id is None:
        return rows
    # Of other blocks no place is known, but for that of the message or the turn that a line came from.
    channels = part.channels
    if part.channel_id is None:
        channels = list(
            Channel.objects.filter(guild__discord_id=part.guild_id).values_list("discord_id", flat=True)
        )
    sessions = MemoryBlock.objects.filter(scope=Scope.SESSION, scope_key__in=channels)
    return rows.filter(Q(block__in=sessions) | Q(source_channel_id__in=channels))


def _proposals(user_id: int, part: Part) -> QuerySet[PersonaProposal]:
    rows = PersonaProposal.objects.filter(_when(part, "created_at"), member_id=user_id)
    if part.is_one or part.channel_id is not None:
        return rows.none()
    return rows if part.guild_id is None else rows.filter(scope=Scope.GUILD, scope_key=part.guild_id)


def _when(part: Part, field: str) -> Q:
    wanted = Q()
    if part.since is not None:
        wanted &= Q(**{f"{field}__gte": part.since})
    if part.until is not None:
        wanted &= Q(**{f"{field}__lt": part.until})
    return wanted


def names(user_id: int, part: Part, size: int) -> Counter[str]:
    """How they are called on a server of which nothing is left."""
    if part.guild_id is None or part.channel_id is not None or part.since is not None:
        return Counter()
    if Message.objects.filter(member_id=user_id, guild__discord_id=part.guild_id).exists():
        return Counter()
    rows = GuildMember.objects.filter(member_id=user_id, guild__discord_id=part.guild_id)
    DailyCount.objects.filter(member_id=user_id, guild__discord_id=part.guild_id).delete()
    return +Counter(names=rows.delete()[0])


STEPS = (messages, traces, archive, facts, blocks, names)


def sample(user_id: int, part: Part) -> list[str]:
    """Ids of some of the messages that are to go, spread over all of them: with a record of each, they stand in the file."""
    rows = part.messages(user_id).exclude(discord_id=None).order_by("key")
    ids = list(rows.values_list("discord_id", flat=True)[:SAMPLE])
    ids += list(rows.order_by("-key").values_list("discord_id", flat=True)[:SAMPLE])
    return [str(one) for one in dict.fromkeys(ids)]


def needles(sample_ids: Sequence[str]) -> list[bytes]:
    """How the records of these messages begin. Others may name a message by its id, but nobody else's record begins with it."""
    return [f'"messageId": "{one}"'.encode() for one in sample_ids]


def counts(user_id: int, part: Part) -> dict[str, int]:
    """What the steps would remove, by kind."""
    rows = part.messages(user_id)
    words, vectors = indexed(rows)
    later = _answered_later(user_id, part)
    leaning = answers_from(rows, later) | later
    own = _owned(user_id, leaning)
    return {
        "memories": rows.filter(is_bot=False).count(),
        "answers": rows.filter(is_bot=True).count() + len(own),
        "vectors": vectors,
        "words": words,
        "traces": part.replies(user_id).count(),
        "answers_to_others": len(leaning - own),
        "facts": Fact.objects.filter(evidence__in=rows).count() + part.facts(user_id).count(),
        "blocks": _revisions(user_id, part).values("block_id").distinct().count(),
        "archive": ArchivalEntry.objects.filter(
            Q(pk__in=part.archive(user_id)) | Q(source_message__in=rows)
        ).count(),
    }


def _answered_later(user_id: int, part: Part) -> set[int]:
    """Answers to the last questions of the part that came when it was over."""
    last = part.until
    if part.is_one:
        last = part.messages(user_id).values_list("sent_at", flat=True).first()
    if last is None:
        return set()
    asked = part.messages(user_id).order_by().exclude(discord_id=None).values("discord_id")
    rows = _answers(user_id, asked, first=last, last=last)
    return set(
        rows.exclude(key__in=part.messages(user_id).order_by().values("key")).values_list("key", flat=True)
    )


def _owned(user_id: int, keys: Collection[int]) -> set[int]:
    found: set[int] = set()
    ordered = sorted(keys)
    for start in range(0, len(ordered), removal.BATCH):
        some = Message.objects.filter(key__in=ordered[start : start + removal.BATCH], member_id=user_id)
        found.update(some.values_list("key", flat=True))
    return found


def remains(user_id: int, part: Part) -> Counter[str]:
    """Rows of the part that are still there, by table."""
    queries: tuple[QuerySet[Any], ...] = (
        part.messages(user_id),
        part.replies(user_id),
        part.archive(user_id),
        part.facts(user_id),
        _proposals(user_id, part),
    )
    return +Counter({query.model._meta.db_table: query.count() for query in queries})


def indexed(rows: QuerySet[Message]) -> tuple[int, int]:
    """How many of these messages have words and how many have a vector."""
    has_words = rows.exclude(text="", captions="").count()
    return has_words, rows.filter(embedding=Message.Embedding.DONE).count()
