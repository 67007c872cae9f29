"""``refit_recall FILE``: fits the weights of recall on an evaluation set, and keeps them if they are better on questions not seen."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from datetime import UTC, datetime
from typing import Any

from django.core.management.base import CommandError

from memory import backends
from memory.benchmarks.scratch import scratch_database
from memory.conf import get_config
from memory.errors import MusebotError
from memory.management import recall_cases, recall_data
from memory.management.base import QuickCommand
from memory.management.measures import Report
from memory.management.recall_cases import Asked
from memory.retrieval import weights
from memory.retrieval.fitting import fit

FEWEST_QUESTIONS = 60
"""With an answer; on fewer, chance decides."""
LEAST_GAIN = 0.003
"""Of the mean of the measures, before a set is kept."""
MEASURES = ("recall@5", "recall@10", "mrr")


class Command(QuickCommand):
    help = (
        "Fits the weights of recall for the configured embedder on a data set (as evaluate_recall reads it), and shows the figures on "
        "conversations that were not fitted on, before and after."
    )
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", help="JSON: {conversations: [{name, memories, questions}]}")
        parser.add_argument(
            "--write",
            action="store_true",
            help=f"keep them in {weights.FILE} in the installation's folder, if they are better",
        )
        parser.add_argument("--json", action="store_true", help="print JSON instead of a table")

    def handle(self, *args: Any, **options: Any) -> None:
        if not get_config().memory_enabled:
            raise CommandError(
                "Long-term memory is off: no embedding model is configured. Set MUSEBOT_EMBEDDING_MODEL=local."
            )
        try:
            conversations = recall_data.read(options["file"])
            with scratch_database():
                asked = recall_cases.collect(recall_data.store(conversations, self._progress), self._progress)
        except MusebotError as error:
            raise CommandError(error.message) from error
        found = _fitted(asked)
        refusal = _refusal(found) if options["write"] else ""
        if options["write"] and not refusal:
            found["written"] = str(_keep(found))
        self.stdout.write(json.dumps(found, indent=2) if options["json"] else _table(found))
        if refusal:
            raise CommandError(refusal)

    def _progress(self, message: str) -> None:
        self.stderr.write(message, style_func=lambda text: text)


def _fitted(asked: list[Asked]) -> dict[str, Any]:
    """Figures of the current weights, of refitted ones on questions not seen, and the weights fitted on all of them.

    The fit begins at the current weights and is drawn towards them, so that a small set changes little.
    """
    start = recall_cases.current_weights()
    named = [one for one in asked if one.named]
    after = recall_cases.together(recall_cases.cross_validated(asked, start)[0]) if asked else Report()
    fitted = fit([one.case for one in asked], start)
    return {
        "embedder": weights.name_of(backends.embedder().identity()),
        "questions": len(named),
        "before": recall_cases.measured(named, start).summary(),
        "after": after.summary(),
        "weights": {name: round(float(value), 4) for name, value in zip(weights.NAMES, fitted, strict=True)},
        "written": "",
    }


def _refusal(found: dict[str, Any]) -> str:
    """Why this set is not kept; empty if it may be."""
    if found["questions"] < FEWEST_QUESTIONS:
        return (
            f"Nothing was written: {found['questions']} questions with an answer are too few to fit on. "
            f"At least {FEWEST_QUESTIONS} are needed."
        )
    gain = _mean(found["after"]) - _mean(found["before"])
    if gain < LEAST_GAIN:
        return (
            f"Nothing was written: on questions that were not fitted on, the mean of the measures changes by {gain:+.4f}, "
            f"and {LEAST_GAIN} is the least that counts. The weights in use stay."
        )
    return ""


def _mean(values: dict[str, Any]) -> float:
    return sum(float(values.get(name, 0.0)) for name in MEASURES) / len(MEASURES)


def _keep(found: dict[str, Any]) -> Any:
    identity = backends.embedder().identity()
    least = weights.weights_for(identity).least_cosine
    about = {
        "fitted_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "questions": found["questions"],
        "before": {name: found["before"][name] for name in MEASURES},
        "after": {name: found["after"][name] for name in MEASURES},
    }
    return weights.write(identity, weights.Weights(found["weights"], least), about)


def _table(found: dict[str, Any]) -> str:
    lines = [f"{found['embedder']}, {found['questions']} questions", f"{'':28}{'before':>10}{'after':>10}"]
    for name in (*MEASURES, "hit@5", "ndcg@10"):
        before, after = found["before"].get(name, 0.0), found["after"].get(name, 0.0)
        lines.append(f"{name:28}{before:>10.3f}{after:>10.3f}")
    for kind, values in found["after"]["by_kind"].items():
        before = found["before"]["by_kind"][kind]
        label = f"  recall@5 {kind or '(no kind)'}"
        lines.append(f"{label:28}{before['recall@5']:>10.3f}{values['recall@5']:>10.3f}")
    lines += ["", "weights"] + [f"{name:28}{value:>10.3f}" for name, value in found["weights"].items()]
    return "\n".join(lines + (["", f"written to {found['written']}"] if found["written"] else []))
