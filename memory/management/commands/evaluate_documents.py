"""``evaluate_documents FILE``: how well retrieval finds the passages that answer questions, beside simpler methods in the same run."""

from __future__ import annotations

import contextlib
import json
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from django.core.management.base import CommandError

from memory import backends
from memory.benchmarks.scratch import scratch_database
from memory.conf import get_config
from memory.errors import InvalidInput, MusebotError
from memory.index import chunks as index
from memory.index.terms import tokens
from memory.management.base import QuickCommand
from memory.models import Chunk, DocumentVersion
from memory.rag import facade, files, importing, scope, spaces, words
from memory.rag.options import Filters
from memory.rag.retriever import DocumentRetriever

DEPTH = 5
LONGEST = 1500
STEPS = tuple(step / 20 for step in range(0, 20, 1))
"""Values of ``min_score`` whose effect is told."""
EVERYTHING = Filters(everything=True)


@dataclass(slots=True)
class Outcome:
    """Ranks of the answerable questions (None for not found), and how many of the others got nothing."""

    ranks: list[int | None] = field(default_factory=list)
    silent: list[bool] = field(default_factory=list)

    def add(self, texts: Sequence[str], contains: str | None) -> None:
        if contains is None:
            self.silent.append(not texts)
        else:
            self.ranks.append(_place(texts, contains))

    def summary(self) -> dict[str, float]:
        count = len(self.ranks)
        found = {
            f"hit@{depth}": round(sum(rank is not None and rank <= depth for rank in self.ranks) / count, 4)
            if count
            else 0.0
            for depth in (1, 3, 5)
        }
        found["silent"] = round(sum(self.silent) / len(self.silent), 4) if self.silent else 0.0
        return found


@dataclass(frozen=True, slots=True)
class Answer:
    """What a question got without a ``min_score``: passages with their scores, best first; ``contains`` as it was asked."""

    passages: Sequence[tuple[float, str]]
    contains: str | None

    def texts(self, min_score: float) -> list[str]:
        return [text for score, text in self.passages if score >= min_score]


def trade_off(answers: Sequence[Answer], steps: Sequence[float]) -> list[dict[str, float]]:
    """What each ``min_score`` costs and what it gains."""
    found = []
    for step in steps:
        outcome = Outcome()
        for answer in answers:
            outcome.add(answer.texts(step), answer.contains)
        found.append({"min_score": step} | outcome.summary())
    return found


class Command(QuickCommand):
    help = "Measures retrieval from documents on JSON lines of {question, file, contains}."
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "file", type=Path, help="JSON lines of {question, file, contains}; contains null: no answer"
        )
        parser.add_argument(
            "--documents", type=Path, metavar="DIR", help="Folder to take in, in a temporary database."
        )
        parser.add_argument(
            "--min-score", type=float, help="Score below which nothing is returned, for all questions."
        )
        parser.add_argument("--json", action="store_true", help="print JSON instead of a table")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            questions = _questions(options["file"])
            with _database(options["documents"]):
                if options["documents"]:
                    self._ingest(options["documents"])
                least = recommended() if options["min_score"] is None else options["min_score"]
                outcomes, answers = self._measure(questions, least)
        except MusebotError as error:
            raise CommandError(error.message) from error
        found = {name: outcome.summary() for name, outcome in outcomes.items()}
        trade = trade_off(answers, sorted({*STEPS, least}))
        if options["json"]:
            told: dict[str, Any] = {**found, "trade_off": {"min_score": least, "steps": trade}}
            self.stdout.write(json.dumps(told, indent=2))
        else:
            self.stdout.write(f"{_table(found)}\n\n{_steps(trade, least)}")

    def _ingest(self, folder: Path) -> None:
        paths = list(importing.paths_of(folder))
        for number, path in enumerate(paths, 1):
            self._progress(f"taking in {number} of {len(paths)}: {path.name}")
            try:
                version = facade.work_on(importing.take(path).pk)
            except MusebotError as error:
                self._progress(f"  refused, {error.code}: {error.message}")
                continue
            if version is not None and version.state != DocumentVersion.State.READY:
                self._progress(f"  {version.state}, {version.error_code}: {version.error}")

    def _measure(
        self, questions: Sequence[dict[str, Any]], least: float
    ) -> tuple[dict[str, Outcome], list[Answer]]:
        outcomes = {"method": Outcome(), "plain": Outcome(), "keyword": Outcome()}
        answers: list[Answer] = []
        retriever = DocumentRetriever(filters=EVERYTHING)
        plain = _Plain() if get_config().memory_enabled else None
        for number, question in enumerate(questions, 1):
            if number % 50 == 1:
                self._progress(f"asking {number} of {len(questions)}")
            text, contains = question["question"], question["contains"]
            hits = retriever.retrieve(text, DEPTH, -1.0)
            answers.append(Answer([(hit.score, hit.text[:LONGEST]) for hit in hits], contains))
            outcomes["method"].add(answers[-1].texts(least), contains)
            outcomes["plain"].add(plain.texts(text) if plain else [], contains)
            outcomes["keyword"].add(_keyword(text), contains)
        return outcomes, answers

    def _progress(self, message: str) -> None:
        self.stderr.write(message, style_func=lambda text: text)


def recommended() -> float:
    """The configured ``minScore``; the recommended one where none was set."""
    configured = get_config().rag.min_score
    return configured if configured else DocumentRetriever.recommended_min_score()


@contextlib.contextmanager
def _database(folder: Path | None) -> Iterator[None]:
    """A temporary database and folder where documents are taken in; the installation's own without."""
    if folder is None:
        yield
        return
    with scratch_database() as database, files.use_folder(database.parent / "documents"):
        yield


def _questions(path: Path) -> list[dict[str, Any]]:
    """Raises ``InvalidInput`` that says what is wrong, with the line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}.") from error
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
        except ValueError as error:
            raise InvalidInput(f"{path}, line {number} is not JSON: {error}") from error
        if (
            not isinstance(entry, dict)
            or not isinstance(entry.get("question"), str)
            or "contains" not in entry
        ):
            raise InvalidInput(f"{path}, line {number} needs question, file and contains (text, or null).")
        found.append(entry)
    if not found:
        raise InvalidInput(f"{path} holds no question.")
    return found


class _Plain:
    """Nearest neighbours of the bare passages by cosine."""

    def __init__(self) -> None:
        self.embedder = backends.embedder()
        rows = Chunk.objects.filter(version_id__in=list(scope.versions(EVERYTHING))).order_by("key")
        self.all = list(rows.values_list("text", flat=True))
        self.vectors = self._stored(list(rows.values_list("key", flat=True)))
        if self.vectors is None:
            parts = [
                self.embedder.embed_documents(self.all[at : at + 64]) for at in range(0, len(self.all), 64)
            ]
            self.vectors = np.concatenate(parts) if parts else np.zeros((0, 1), np.float32)

    @staticmethod
    def _stored(keys: list[int]) -> Any:
        """The vectors of the bare texts where the index has them; None where it has not."""
        space = spaces.serving()
        if space is None or not words.serves(space):
            return None
        found = space.index().vectors(keys)
        return np.array([found[key][1] for key in keys]) if len(found) == len(keys) > 0 else None

    def texts(self, question: str) -> list[str]:
        if not self.all:
            return []
        cosines = self.vectors @ self.embedder.embed_query(question)
        return [self.all[int(at)] for at in np.argsort(-cosines, kind="stable")[:DEPTH]]


def _keyword(question: str) -> list[str]:
    best = index.search_bodies(tokens(question), scope.versions(EVERYTHING), DEPTH)
    texts = dict(Chunk.objects.filter(key__in=best).values_list("key", "text"))
    return [texts[key] for key in best if key in texts]


def _place(texts: Sequence[str], contains: str) -> int | None:
    """The first of the passages that has these words; white space does not count."""
    wanted = " ".join(contains.split())
    places = (place for place, text in enumerate(texts[:DEPTH], 1) if wanted in " ".join(text.split()))
    return next(places, None)


def _table(found: dict[str, dict[str, float]]) -> str:
    names = ["hit@1", "hit@3", "hit@5", "silent"]
    lines = [f"{'':12}" + "".join(f"{name:>9}" for name in names)]
    for method, values in found.items():
        lines.append(f"{method:12}" + "".join(f"{values[name]:>9.3f}" for name in names))
    return "\n".join(lines)


def _steps(trade: Sequence[dict[str, float]], used: float) -> str:
    names = ["hit@1", "hit@3", "hit@5", "silent"]
    lines = ["What min_score costs questions that are answered, and how many others it keeps silent:"]
    lines.append(f"{'min_score':12}" + "".join(f"{name:>9}" for name in names))
    for one in trade:
        mark = "  used above" if one["min_score"] == used else ""
        lines.append(f"{one['min_score']:<12.3g}" + "".join(f"{one[name]:>9.3f}" for name in names) + mark)
    return "\n".join(lines)
