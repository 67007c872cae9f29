"""Everything around the model in one turn on Discord: question stored, context, recall, facts, core memory, documents, prompt, trace,
reply stored. The model answers at once, and the question's embedding is given.

Compared with the same turn where every vector of the server is compared, and with the original's query alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any
from unittest import mock

from django.db import transaction
from django.utils import timezone

from memory import backends, capture, chat, removal
from memory.benchmarks.installation import Progress, installation
from memory.benchmarks.invented import DIMENSION, Talk
from memory.benchmarks.original import OriginalTable
from memory.benchmarks.questions import Given, Question, ask, by_size, space
from memory.benchmarks.timing import Stopwatch, load, medians
from memory.index import sqlite_vec
from memory.index.sqlite_vec import SqliteVecIndex
from memory.llm.scripted import ScriptedChatModel
from memory.models import Message, OutboxEntry, Reply
from memory.types import ChannelInfo, GuildInfo, IncomingMessage, Person, TurnDelta, TurnRequest, TurnResult

ROWS = 20_000
TURNS = 60
FEW = 10
NEVER = 1 << 60
FIRST_MESSAGE = 1_300_000_000_000_000_000
ANSWER = "We talked about that in spring. Two of us liked the idea, and nobody came back to it since then."
BOT = Person(1_290_000_000_000_000_000, "musebot", "Musebot", is_bot=True)
MOST = 30.0
"""Milliseconds that a turn may take around its model, the half of all."""


def run(
    *, rows: int = ROWS, keep: Path | None = None, progress: Progress = lambda message: None
) -> dict[str, Any]:
    """Milliseconds around the model, in all and by stage, for questions in servers drawn by size and in the biggest."""
    with installation(rows, keep=keep, progress=progress) as found:
        guilds, talk = found.guilds(), Talk(seed=int(timezone.now().timestamp()))
        turns, began = _Turns(), timezone.now()
        result: dict[str, Any] = {
            "rows": found.size.rows,
            "biggest_guild": guilds[0].message_count,
            "at_most_ms": MOST,
            "load_before": load(),
        }
        for kind, chosen in {"mix": by_size(guilds, TURNS, talk), "biggest": [guilds[0]] * TURNS}.items():
            questions = ask(chosen, talk)
            progress(f"answering {len(questions)} questions ({kind})")
            result[kind] = turns.measure(questions)
            with mock.patch.object(sqlite_vec, "SMALL", NEVER):
                result[kind]["with_every_vector"] = turns.measure(questions[:FEW])["around_the_model"]
        index = SqliteVecIndex(space().pk, DIMENSION)
        with OriginalTable(found.home / "original.db", index, progress) as original:
            watch = Stopwatch()
            for one in questions[:FEW]:
                watch.time(lambda one=one: original.nearest(one.vector, 5))  # type: ignore[misc]
            result["originals_query"] = watch.result()
        turns.forget(began)
        return result | {"load_after": load()}


class _Turns:
    def __init__(self) -> None:
        self._given = Given()
        self._model = ScriptedChatModel([ANSWER], chunk_characters=40)
        self._next = FIRST_MESSAGE + int(timezone.now().timestamp() * 1000) * 1000

    def measure(self, questions: Sequence[Question]) -> dict[str, Any]:
        watch, stages = Stopwatch(), []
        with backends.override(embedder=self._given, chat_model=self._model):
            self._turn(questions[0])  # what is loaded on first use is one turn of many
            for one in questions:
                stages.append(watch.time(lambda one=one: self._turn(one)))  # type: ignore[misc]
        return {"around_the_model": watch.result(), "stages": medians(stages)}

    def forget(self, since: datetime) -> None:
        """Takes out again what was stored for it: the installation may be kept for another run."""
        Reply.objects.filter(created_at__gte=since).delete()
        while keys := list(Message.objects.filter(stored_at__gte=since).values_list("key", flat=True)[:500]):
            with transaction.atomic():
                removal.remove(keys)
        OutboxEntry.objects.filter(created_at__gte=since).delete()

    def _turn(self, question: Question) -> dict[str, float]:
        """As the bot does it; the stages' milliseconds."""
        self._given.vector = question.vector
        self._next += 2
        asked = _message(question, self._next, _person(question), question.text)
        request = TurnRequest(asked.text, asked.author, asked.guild, asked.channel, asked.id)
        outer = Stopwatch()
        key = outer.time(lambda: capture.record_message(asked))
        trace_id = outer.time(lambda: chat.begin(request))
        result = outer.time(lambda: _last(request, trace_id))
        reply = replace(_message(question, self._next + 1, BOT, result.kept), reply_to=asked.id)
        answer = outer.time(lambda: capture.record_reply(reply, owner_id=asked.author.id))
        outer.time(
            lambda: chat.finish(trace_id or "", question_key=key, answer_key=answer, state="done"),
        )
        names = ("question_stored", "begin", "turn", "reply_stored", "finish")
        assert result.kind == "model", result.error
        assert answer is not None
        return dict(zip(names, outer.clock, strict=True)) | {
            f"turn: {n}": t for n, t in result.timings.items()
        }


def _last(request: TurnRequest, trace_id: str | None) -> TurnResult:
    for event in chat.run_turn(request, trace_id=trace_id):
        if not isinstance(event, TurnDelta):
            return event
    raise AssertionError("a turn ends with its result")


def _person(question: Question) -> Person:
    return Person(question.asker_id, f"person{question.asker_id}")


def _message(question: Question, message_id: int, author: Person, text: str) -> IncomingMessage:
    return IncomingMessage(
        id=message_id,
        guild=GuildInfo(question.guild.discord_id, question.guild.name),
        channel=ChannelInfo(question.channel_id, "channel-0"),
        author=author,
        text=text,
        sent_at=timezone.now(),
    )


def lines(result: Mapping[str, Any]) -> Iterator[str]:
    yield f"{result['rows']:,} memories, {result['biggest_guild']:,} in the biggest server"
    yield f"{'milliseconds around the model':44}{'p50':>9}{'p95':>9}{'cpu':>9}"
    for kind, title in (("mix", "servers drawn by size"), ("biggest", "the biggest server")):
        for name, one in (
            (title, result[kind]["around_the_model"]),
            ("  with every vector compared", result[kind]["with_every_vector"]),
        ):
            yield f"{name:44}{one['p50']:>9.2f}{one['p95']:>9.2f}{one['cpu_p50']:>9.2f}"
    one = result["originals_query"]
    yield f"{'the original: its query alone':44}{one['p50']:>9.2f}{one['p95']:>9.2f}{one['cpu_p50']:>9.2f}"
    yield "by stage, p50, servers drawn by size:"
    for name, value in result["mix"]["stages"].items():
        yield f"  {name:42}{value:>9.2f}"
