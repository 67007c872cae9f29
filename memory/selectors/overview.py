"""Figures and health of the whole installation, from kept counters and short index ranges."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

from django.db.models import Model, Q, QuerySet, Sum
from django.utils import timezone

from memory.models import (
    DailyCount,
    Document,
    ErasureRequest,
    Fact,
    Guild,
    InstallationState,
    Member,
    Message,
    Reply,
)

COUNT_LIMIT = 10_000
"""Counts of what piles up stop here; the page then says "more than"."""


@dataclass(frozen=True, slots=True)
class Figures:
    members: int
    memories: int
    pending: int
    failed: int
    replies_today: int
    erasures_running: int
    erasures_failed: int
    erasures_waiting: int = 0
    """Requests that somebody still has to begin."""
    erasures_overdue: int = 0


def figures(guild_id: int | None = None) -> Figures:
    """Of one server or of all. ``pending``, ``failed`` and ``replies_today`` are at most ``COUNT_LIMIT`` + 1."""
    servers, people = Guild.objects.all(), Member.objects.filter(withdrawn_at=None)
    messages, replies = Message.objects.all(), Reply.objects.filter(created_at__gte=_midnight())
    if guild_id is not None:
        servers = servers.filter(discord_id=guild_id)
        people = people.filter(guilds__guild__discord_id=guild_id)
        messages = messages.filter(guild__discord_id=guild_id)
        replies = replies.filter(guild__discord_id=guild_id)
    return Figures(
        members=people.count(),
        memories=servers.aggregate(total=Sum("message_count"))["total"] or 0,
        pending=_bounded(messages.filter(embedding=Message.Embedding.PENDING)),
        failed=_bounded(messages.filter(embedding=Message.Embedding.FAILED)),
        replies_today=_bounded(replies),
        erasures_running=_running().count(),
        erasures_failed=ErasureRequest.objects.filter(state=ErasureRequest.State.FAILED).count(),
        erasures_waiting=ErasureRequest.objects.to_do().count(),
        erasures_overdue=ErasureRequest.objects.overdue(timezone.now()).count(),
    )


def pending_embeddings() -> int:
    """All of them, from the index that holds no others."""
    return Message.objects.filter(embedding=Message.Embedding.PENDING).order_by().count()


def rail_counts(guild_id: int | None = None) -> dict[str, int]:
    """What the navigation shows beside its pages: of everything, or what somebody who may see one server is told."""
    if guild_id is not None:
        here = Guild.objects.filter(discord_id=guild_id)
        documents = Document.objects.filter(Q(everywhere=True) | Q(guilds__discord_id=guild_id))
        return {
            "memories": here.aggregate(total=Sum("message_count"))["total"] or 0,
            "facts": _bounded(Fact.objects.filter(state=Fact.State.ACTIVE, guild__discord_id=guild_id)),
            "documents": documents.distinct().count(),
        }
    return {
        "members": Member.objects.filter(withdrawn_at=None).count(),
        "memories": Guild.objects.aggregate(total=Sum("message_count"))["total"] or 0,
        "facts": _bounded(Fact.objects.filter(state=Fact.State.ACTIVE)),
        "erasures": _running().count(),
        "documents": Document.objects.count(),
    }


def activity(guild_id: int | None = None, *, days: int = 30) -> list[tuple[date, int]]:
    """Messages stored per day (UTC), oldest day first, days without any included."""
    today = timezone.now().date()
    first = today - timedelta(days=days - 1)
    rows = DailyCount.objects.filter(day__gte=first, day__lte=today)
    if guild_id is not None:
        rows = rows.filter(guild__discord_id=guild_id)
    found = dict(rows.values_list("day").annotate(total=Sum("count")).order_by())
    return [(day, found.get(day) or 0) for day in (first + timedelta(days=n) for n in range(days))]


def heartbeat_ages() -> dict[str, float]:
    """Seconds since the bot and the worker last showed that they live; without those that never did."""
    now = timezone.now()
    alive = Q(name__in=["bot", "worker"]) | Q(name__startswith="bot:")
    rows = InstallationState.objects.filter(alive).values_list("name", "at")
    return {name: (now - at).total_seconds() for name, at in rows}


def state(name: str) -> InstallationState | None:
    return InstallationState.objects.filter(name=name).first()


def _running() -> QuerySet[ErasureRequest]:
    return ErasureRequest.objects.filter(
        state__in=[ErasureRequest.State.RUNNING, ErasureRequest.State.VERIFYING]
    )


def _midnight() -> object:
    return timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)


def _bounded(rows: QuerySet[Model]) -> int:
    return rows.order_by()[: COUNT_LIMIT + 1].count()
