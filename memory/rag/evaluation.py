"""Questions whose source is known, asked after each change: what got worse is seen before members see it."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db import transaction

from memory import outbox
from memory.conf import get_config
from memory.errors import InvalidInput
from memory.models import (
    EvaluationQuestion,
    EvaluationResult,
    EvaluationRun,
    Guild,
    InstallationState,
    OutboxEntry,
)
from memory.rag.options import Filters, Hit

logger = logging.getLogger(__name__)

EVALUATE = "evaluate"
"""Kind of work; its subject is always 1."""
DEPTH = 10
KEEP_RUNS = 50
CAUSE = "evaluation_cause"
MAX_QUESTIONS = 1000


def note_change(cause: str) -> None:
    """Queues a run, in the caller's transaction; changes that come together are one."""
    if not EvaluationQuestion.objects.exists():
        return
    InstallationState.objects.update_or_create(name=CAUSE, defaults={"value": {"cause": cause[:200]}})
    outbox.enqueue(EVALUATE, [1])


def evaluate_entries(entries: Sequence[OutboxEntry]) -> None:
    """Handler of ``evaluate``."""
    state = InstallationState.objects.filter(name=CAUSE).first()
    run(cause=str(state.value.get("cause", "")) if state else "")
    outbox.finish(entries)


def add(*, question: str, source: str, contains: str = "", guild_id: int | None = None) -> EvaluationQuestion:
    """Adds a question or changes what is expected of it. Raises ``InvalidInput``."""
    question, source, contains = " ".join(question.split()), source.strip(), " ".join(contains.split())
    if not question or len(question) > 400:
        raise InvalidInput("A question has to have 1 to 400 characters.", field="question")
    guild = Guild.objects.filter(discord_id=guild_id).first() if guild_id is not None else None
    with transaction.atomic():
        known = EvaluationQuestion.objects.filter(question=question, guild=guild).first()
        if known is None and EvaluationQuestion.objects.count() >= MAX_QUESTIONS:
            raise InvalidInput(f"There are {MAX_QUESTIONS} questions already; remove some first.")
        row = known or EvaluationQuestion(question=question, guild=guild)
        row.source, row.contains = source[:300], contains[:400]
        row.save()
    return row


def remove(question_ids: Iterable[int]) -> int:
    return (
        EvaluationQuestion.objects.filter(pk__in=list(question_ids))
        .delete()[1]
        .get("memory.EvaluationQuestion", 0)
    )


def run(*, cause: str = "by hand") -> EvaluationRun | None:
    """Asks all questions; None where there are none."""
    from memory.rag.retriever import DocumentRetriever

    questions = list(EvaluationQuestion.objects.select_related("guild").order_by("pk"))
    if not questions:
        return None
    retriever = DocumentRetriever()
    results = []
    for row in questions:
        filters = Filters(guild_id=row.guild.discord_id) if row.guild else Filters(everything=True)
        hits = retriever.retrieve(row.question, DEPTH, filters=filters)
        place = rank_of(hits, row.source, row.contains) if row.source or row.contains else None
        results.append(
            EvaluationResult(
                question=row,
                rank=place,
                score=hits[0].score if hits else None,
                returned=len(hits),
                best=hits[0].citation[:300] if hits else "",
            )
        )
    model = get_config().memory.embedding_model
    with transaction.atomic():
        done = EvaluationRun.objects.create(
            cause=cause[:200], model=str(model or ""), questions=len(results), measures=measures(results)
        )
        there = set(EvaluationQuestion.objects.values_list("pk", flat=True))
        for result in results:
            result.run = done
        EvaluationResult.objects.bulk_create(one for one in results if one.question_id in there)
        old = EvaluationRun.objects.order_by("-created_at", "-id").values_list("pk", flat=True)[KEEP_RUNS:]
        EvaluationRun.objects.filter(pk__in=list(old)).delete()
    return done


def rank_of(hits: Sequence[Hit], source: str, contains: str = "") -> int | None:
    """The first place of a passage of that source, with those words where they are given; white space does not count."""
    words = " ".join(contains.split())
    for place, hit in enumerate(hits, 1):
        if (not source or hit.source == source) and (not words or words in " ".join(hit.text.split())):
            return place
    return None


def measures(results: Sequence[EvaluationResult]) -> dict[str, float]:
    """hit@1, hit@3, hit@5 and mrr over the questions with a source, ``silent`` over those without one."""
    answerable = [one for one in results if one.question.source or one.question.contains]
    others = [one for one in results if not (one.question.source or one.question.contains)]
    found: dict[str, float] = {}
    if answerable:
        for depth in (1, 3, 5):
            hits = sum(one.rank is not None and one.rank <= depth for one in answerable)
            found[f"hit@{depth}"] = round(hits / len(answerable), 4)
        found["mrr"] = round(sum(1 / one.rank for one in answerable if one.rank) / len(answerable), 4)
    if others:
        found["silent"] = round(sum(one.returned == 0 for one in others) / len(others), 4)
    return found


@dataclass(frozen=True, slots=True)
class Change:
    """One question in the newest run and in the one before."""

    question: EvaluationQuestion
    now: EvaluationResult
    before: EvaluationResult | None

    @property
    def silent_wanted(self) -> bool:
        return not (self.question.source or self.question.contains)

    @property
    def worse_by(self) -> float:
        """More than nothing for what got worse: how much of its reciprocal rank was lost."""
        return 0.0 if self.before is None else self._good(self.before) - self._good(self.now)

    def _good(self, result: EvaluationResult) -> float:
        if self.silent_wanted:
            return 0.0 if result.returned else 1.0
        return 1 / result.rank if result.rank else 0.0


def compare(newest: EvaluationRun) -> list[Change]:
    """The questions of a run beside the run before it: what got worse first, then what is not found, then the rest."""
    before = EvaluationRun.objects.filter(pk__lt=newest.pk).order_by("-pk").first()
    earlier = {one.question_id: one for one in before.results.all()} if before else {}
    rows = newest.results.select_related("question")
    changes = [Change(row.question, row, earlier.get(row.question_id)) for row in rows]
    return sorted(changes, key=lambda one: (-one.worse_by, one._good(one.now), one.question.pk))
