"""``evaluate_recall FILE``: how well recall finds the messages that answer questions, against simpler methods in the same run."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from django.core.management.base import BaseCommand, CommandError

from memory import backends, retrieval
from memory.benchmarks.scratch import scratch_database
from memory.conf import get_config
from memory.errors import MusebotError
from memory.index.terms import tokens
from memory.llm.base import Vectors
from memory.management import recall_data
from memory.management.measures import DEPTH, Report
from memory.management.recall_data import Stored
from memory.types import RecallQuery

NO_BUDGET = 1_000_000


class Command(BaseCommand):
    help = "Measures recall on a data set of conversations with questions, against plain nearest neighbours and keywords."
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", help="JSON: {conversations: [{name, memories, questions}]}")
        parser.add_argument("--json", action="store_true", help="print JSON instead of a table")

    def handle(self, *args: Any, **options: Any) -> None:
        if not get_config().memory_enabled:
            raise CommandError(
                "Long-term memory is off: no embedding model is configured. Set MUSEBOT_EMBEDDING_MODEL=local."
            )
        try:
            conversations = recall_data.read(options["file"])
            with scratch_database():
                reports = self._measure(conversations)
        except MusebotError as error:
            raise CommandError(error.message) from error
        found = {name: report.summary() for name, report in reports.items()}
        self.stdout.write(json.dumps(found, indent=2) if options["json"] else _table(reports))

    def _measure(self, conversations: Sequence[dict[str, Any]]) -> dict[str, Report]:
        stored = recall_data.store(conversations, self._progress)
        self._progress("embedding the bare messages for the plain method")
        plain = _Plain(stored, conversations)
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
        )
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
        return [name for owner, name in (self.owners[int(i)] for i in nearest) if owner is one]


def _table(reports: dict[str, Report]) -> str:
    names = ["recall@5", "recall@10", "hit@5", "mrr", "ndcg@10"]
    lines = [f"{'':28}" + "".join(f"{name:>11}" for name in [*names, "questions"])]

    def row(label: str, values: dict[str, Any], count: int) -> str:
        return f"{label:28}" + "".join(f"{values.get(name, 0.0):>11.3f}" for name in names) + f"{count:>11}"

    for method, report in reports.items():
        values, counts = report.summary(), report.questions()
        lines.append(row(method, values, sum(counts.values())))
        by_kind: dict[str, Any] = values["by_kind"]
        lines += [row(f"  {kind or '(no kind)'}", part, counts[kind]) for kind, part in by_kind.items()]
    return "\n".join(lines)
