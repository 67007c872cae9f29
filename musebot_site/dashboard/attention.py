"""What somebody has to look at, the worst first; each with its number and the list behind it, for those who may open that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.urls import reverse
from django.utils import timezone

from memory import selectors, upkeep
from memory.models import DocumentVersion, ErasureRequest, Message
from memory.selectors import FactFilters, Figures
from musebot_site.dashboard import installation, notices
from musebot_site.dashboard.health import Part, State
from musebot_site.dashboard.permissions import Permission, Rights

DUE_SOON = timedelta(days=7)
ORDER = ("failed", "attention", "busy", "ok", "off")


@dataclass(frozen=True, slots=True)
class Need:
    """One thing to look at."""

    state: State
    what: str
    why: str = ""
    where: str = ""
    """The list with exactly these, or nothing where there is no page for it."""


def needs(rights: Rights, guild_id: int | None, figures: Figures | None, parts: Sequence[Part]) -> list[Need]:
    """For one person, on the server that the page is about (None: all). ``figures`` are those of the whole installation."""
    found: list[Need] = []
    if rights.may(Permission.ERASURES):
        found += _erasures()
    if rights.may(Permission.FACTS):
        found += _facts(guild_id, everywhere=rights.reach(Permission.FACTS).servers is None)
    if rights.may(Permission.SETTINGS) and figures is not None:
        found += _parts(parts)
        found += _memories(figures)
        found += _installation()
    return sorted(found, key=lambda one: ORDER.index(one.state))


def _erasures() -> Iterator[Need]:
    now, where = timezone.now(), reverse("dashboard:erasures")
    overdue = ErasureRequest.objects.overdue(now).count()
    failed = ErasureRequest.objects.filter(state=ErasureRequest.State.FAILED).count()
    soon = ErasureRequest.objects.not_over().filter(due_at__gte=now, due_at__lt=now + DUE_SOON)
    soon_count = soon.exclude(state=ErasureRequest.State.FAILED).count()
    if overdue:
        yield _need(
            "failed",
            overdue,
            "erasure is overdue",
            "erasures are overdue",
            "Answer first.",
            f"{where}?overdue=on",
        )
    if failed:
        yield _need(
            "failed",
            failed,
            "erasure failed",
            "erasures failed",
            "Open each to see why.",
            f"{where}?state=failed",
        )
    if soon_count:
        yield _need(
            "attention",
            soon_count,
            "erasure is due within a week",
            "erasures are due within a week",
            "",
            where,
        )


def _facts(guild_id: int | None, *, everywhere: bool) -> Iterator[Need]:
    counts = selectors.fact_counts(FactFilters(guild_id=guild_id, only_here=not everywhere))
    where = reverse("dashboard:facts")
    if counts["contradictions"]:
        yield _need(
            "attention",
            counts["contradictions"],
            "fact contradicts another",
            "facts contradict others",
            "Decide which holds.",
            f"{where}?tab=contradictions",
        )
    if counts["quarantined"]:
        yield _need(
            "attention",
            counts["quarantined"],
            "fact is in quarantine",
            "facts are in quarantine",
            "Approve or forget what waits there.",
            f"{where}?tab=quarantined",
        )
    proposals = selectors.open_proposals() if everywhere else 0
    if proposals:
        yield _need(
            "attention",
            proposals,
            "change of the persona is proposed",
            "changes of the persona are proposed",
            "Nothing changes before you approve.",
            reverse("dashboard:core-memory"),
        )


def _parts(parts: Sequence[Part]) -> Iterator[Need]:
    for part in parts:
        queue = part.name == "Queue"
        if part.state == "failed" or (queue and part.state == "attention"):
            where = reverse("dashboard:jobs") if queue else reverse("dashboard:settings-health")
            yield Need(part.state, f"{part.name}: {part.word[:1].lower()}{part.word[1:]}", part.detail, where)


def _memories(figures: Figures) -> Iterator[Need]:
    if figures.failed:
        yield _need(
            "failed",
            figures.failed,
            "memory could not be embedded",
            "memories could not be embedded",
            "They are found by their words only.",
            f"{reverse('dashboard:memories')}?embedding={Message.Embedding.FAILED}",
        )
    documents = (
        DocumentVersion.objects.filter(state=DocumentVersion.State.FAILED)
        .values("document")
        .distinct()
        .count()
    )
    if documents:
        where = f"{reverse('dashboard:documents')}?state={DocumentVersion.State.FAILED}"
        yield _need(
            "attention",
            documents,
            "document could not be read",
            "documents could not be read",
            "Each says why; upload it again once it is mended.",
            where,
        )
    for state, what, why, where in notices.embedding_change() + notices.earlier_memories():
        yield Need(state, what, why, where)


def _installation() -> Iterator[Need]:
    health = reverse("dashboard:settings-health")
    disk = installation.disk()
    if disk.is_low:
        free = f"{disk.free / 1000**3:.1f} GB are free."
        yield Need("failed", "The disk is nearly full", f"{free} A full disk stops everything.", health)
    old = sum(is_old for _, is_old in installation.snapshots())
    if old:
        why = "Who reads what is not known well enough, so only the same channel is recalled. The bot refreshes it."
        yield _need(
            "attention",
            old,
            "server has an old snapshot of its readers",
            "servers have old snapshots of their readers",
            why,
            health,
        )
    scan = upkeep.last()
    if scan is not None and scan.stage == "done" and scan.total and not scan.mended:
        yield _need(
            "attention",
            scan.total,
            "orphan was found",
            "orphans were found",
            "Mend them.",
            f"{health}#scan-title",
        )


def _need(state: State, count: int, one: str, many: str, why: str, where: str) -> Need:
    return Need(state, f"{count:,} {one if count == 1 else many}", why, where)
