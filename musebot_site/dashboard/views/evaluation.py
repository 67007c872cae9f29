"""Evaluation: questions with their expected source, a run after each change, and what got worse first."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST, require_safe

from memory import selectors
from memory.conf import get_config
from memory.rag import answering, evaluation
from memory.rag.retriever import DocumentRetriever
from musebot_site.dashboard.document_forms import QuestionForm
from musebot_site.dashboard.http import Request, back_to, number, page, scope

MEASURES = (
    ("hit@1", "first"),
    ("hit@3", "among three"),
    ("hit@5", "among five"),
    ("mrr", "reciprocal rank"),
    ("silent", "rightly silent"),
)
DOCUMENTS = 200


@require_safe
def index(request: Request) -> HttpResponse:
    return page(request, "evaluation/index.html", _context(request, QuestionForm()))


def _context(request: Request, form: QuestionForm) -> dict[str, Any]:
    runs = selectors.evaluation_runs()
    wanted = number(request.GET.get("run", ""))
    chosen = next((run for run in runs if run.pk == wanted), runs[0] if runs else None)
    before = next((run for run in runs if chosen and run.pk < chosen.pk), None)
    changes = evaluation.compare(chosen) if chosen else []
    return {
        "form": form,
        "runs": runs,
        "run": chosen,
        "before": before,
        "figures": _figures(chosen.measures, before.measures if before else {}) if chosen else [],
        "changes": changes,
        "worse": sum(change.worse_by > 0 for change in changes),
        "asked": {change.question.pk for change in changes},
        "questions": selectors.evaluation_questions(),
        "names": [
            row.newest.source if row.newest else row.name  # type: ignore[attr-defined]
            for row in selectors.documents(selectors.DocumentFilters(), limit=DOCUMENTS).rows
        ],
        "recommended": DocumentRetriever.recommended_min_score(),
        "costs": answering.MEASURED,
        "configured": get_config().rag.min_score,
    }


def _figures(now: dict[str, float], before: dict[str, float]) -> list[tuple[str, str, float, float | None]]:
    """(name, in words, value, difference) of what was measured."""
    return [
        (name, words, now[name], now[name] - before[name] if name in before else None)
        for name, words in MEASURES
        if name in now
    ]


@require_POST
def run(request: Request) -> HttpResponse:
    if evaluation.run() is None:
        messages.error(request, "There is no question yet.")
    return redirect("dashboard:evaluation")


@require_POST
def add(request: Request) -> HttpResponse:
    form = QuestionForm(request.POST)
    if not form.is_valid():
        return page(request, "evaluation/index.html", _context(request, form), status=422)
    values = form.cleaned_data
    guild_id = number(request.POST.get("guild", "")) or scope(request)
    evaluation.add(
        question=values["question"], source=values["source"], contains=values["contains"], guild_id=guild_id
    )
    messages.success(request, "Added to the questions. The next run asks it.")
    return redirect(back_to(request, "/evaluation/"))


@require_POST
def remove(request: Request) -> HttpResponse:
    keys = [number(value) for value in request.POST.getlist("question")]
    gone = evaluation.remove(key for key in keys if key is not None)
    messages.success(request, f"Removed {gone} {'question' if gone == 1 else 'questions'}.")
    return redirect("dashboard:evaluation")
