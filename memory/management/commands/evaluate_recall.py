"""``evaluate_recall FILE``: how well recall finds the messages that answer questions, against simpler methods in the same run.

``--first-person`` asks every question that names somebody once more in that person's own words; ``--cross-validate`` adds the figures
of weights that were fitted on all other conversations.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from django.core.management.base import CommandError

from memory import backends, retrieval
from memory.benchmarks.scratch import scratch_database
from memory.conf import get_config
from memory.errors import MusebotError
from memory.index.terms import tokens
from memory.llm.base import Vectors
from memory.management import recall_cases, recall_data
from memory.management.base import QuickCommand
from memory.management.measures import DEPTH, Report
from memory.management.recall_data import Stored
from memory.management.recall_data import first_person as in_first_person
from memory.types import RecallQuery

NO_BUDGET = 1_000_000
SECTIONS = {
    "first_person": "In the first person, asked by whom the question names",
    "cross_validated": "Each conversation with weights fitted on the others",
    "cross_validated_first_person": "The same in the first person",
}
Sections = Mapping[str, Mapping[str, Report]]


class Command(QuickCommand):
    help = "Measures recall on a data set of conversations with questions, against plain nearest neighbours and keywords."
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", help="JSON: {conversations: [{name, memories, questions}]}")
        parser.add_argument(
            "--first-person",
            action="store_true",
            help="also ask as the person would whom a question names (I, my)",
        )
        parser.add_argument(
            "--cross-validate",
            action="store_true",
            help="also report each conversation with weights fitted on all others",
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
                reports = self._measure(
                    conversations,
                    first_person=options["first_person"],
                    cross_validate=options["cross_validate"],
                )
        except MusebotError as error:
            raise CommandError(error.message) from error
        self.stdout.write(json.dumps(_summaries(reports), indent=2) if options["json"] else _table(reports))

    def _measure(
        self, conversations: Sequence[dict[str, Any]], *, first_person: bool, cross_validate: bool
    ) -> Sections:
        stored = recall_data.store(conversations, self._progress)
        self._progress("embedding the bare messages for the plain method")
        plain = _Plain(stored, conversations)
        sections = {"": self._asked(stored, plain)}
        if first_person:
            own = [
                replace(
                    one, questions=[q for each in one.questions if (q := in_first_person(each, one.users))]
                )
                for one in stored
            ]
            sections["first_person"] = self._asked(own, plain)
        if cross_validate:
            asked = recall_cases.collect(stored, self._progress)
            named, own_words = recall_cases.cross_validated(asked, recall_cases.no_weights())
            sections["cross_validated"] = {"all": recall_cases.together(named), **named}
            if first_person:
                together = recall_cases.together(own_words)
                sections["cross_validated_first_person"] = {"all": together, **own_words}
        return sections

    def _asked(self, stored: Sequence[Stored], plain: _Plain) -> dict[str, Report]:
        reports = {"method": Report(), "plain": Report(), "keyword": Report()}
        for number, one in enumerate(stored, 1):
            self._progress(f"asking {number} of {len(stored)}: {len(one.questions)} questions")
            for question in one.questions:
                kind, relevant = str(question.get("kind", "")), [str(each) for each in question["relevant"]]
                reports["method"].add(kind, _method(one, question), relevant)
                reports["plain"].add(kind, plain.ranked(one, str(question["text"])), relevant)
                reports["keyword"].add(kind, _keyword(one, str(question["text"])), relevant)
        return reports

    def _progress(self, message: str) -> None:
        self.stderr.write(message, style_func=lambda text: text)


def _method(one: Stored, question: Mapping[str, Any]) -> list[str]:
    recall = retrieval.recall(
        RecallQuery(
            text=str(question["text"]),
            guild_id=one.guild.discord_id,
            asker_id=one.users.get(str(question.get("asker"))),
            top_k=DEPTH,
            token_budget=NO_BUDGET,
        ),
        patience=retrieval.PATIENCE,
    )
    if recall.degraded:
        raise CommandError(f"The recall was not complete ({recall.degraded}), so it cannot be measured.")
    return [one.ids[memory.key] for memory in recall.memories]


def _keyword(one: Stored, text: str) -> list[str]:
    hits = backends.text_index().search(one.guild.ordinal, tokens(text), DEPTH)
    return [one.ids[hit.key] for hit in sorted(hits, key=lambda hit: -hit.body)]


class _Plain:
    """As the original does it: the bare message and question, the nearest of everything, filtered by server after."""

    def __init__(self, stored: Sequence[Stored], conversations: Sequence[dict[str, Any]]) -> None:
        self.embedder = backends.embedder()
        self.owners = [(one, name) for one in stored for name in one.ids.values()]
        texts = [
            str(memory["text"] or "") for conversation in conversations for memory in conversation["memories"]
        ]
        self.vectors: Vectors = recall_data.embed([text or " " for text in texts])

    def ranked(self, one: Stored, text: str) -> list[str]:
        cosines = self.vectors @ self.embedder.embed_query(text)
        nearest = np.argsort(-cosines, kind="stable")[:DEPTH]
        return [name for owner, name in (self.owners[int(i)] for i in nearest) if owner.guild == one.guild]


def _summaries(sections: Sections) -> dict[str, Any]:
    """The three methods at the top; every other section under its name."""
    found: dict[str, Any] = {}
    for section, reports in sections.items():
        summaries = {name: report.summary() for name, report in reports.items()}
        found |= {section: summaries} if section else summaries
    return found


def _table(sections: Sections) -> str:
    names = ["recall@5", "recall@10", "hit@5", "mrr", "ndcg@10"]
    lines = [f"{'':28}" + "".join(f"{name:>11}" for name in [*names, "questions"])]

    def row(label: str, values: dict[str, Any], count: int) -> str:
        return f"{label:28}" + "".join(f"{values.get(name, 0.0):>11.3f}" for name in names) + f"{count:>11}"

    for section, reports in sections.items():
        lines += ["", SECTIONS[section]] if section else []
        for method, report in reports.items():
            values, counts = report.summary(), report.questions()
            lines.append(row(method, values, sum(counts.values())))
            by_kind: dict[str, Any] = values["by_kind"]
            lines += [row(f"  {kind or '(no kind)'}", part, counts[kind]) for kind, part in by_kind.items()]
    return "\n".join(lines)
