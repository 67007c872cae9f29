"""One turn: a question becomes an answer, with what was said before and what is remembered.

Nothing that goes wrong on the way is raised: without recall the turn goes on without it, without a model it says so.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime

from django.db import DatabaseError
from django.utils import timezone

from memory import backends, consent, facts, measures, retrieval
from memory.chat import core, traces
from memory.chat.attached import attached_section
from memory.chat.budget import Budget
from memory.chat.context import Context, asked_at, keep_turn, rolling_context
from memory.chat.extractive import MAX_LINES, extractive_answer
from memory.chat.generation import Generation
from memory.chat.known import facts_section
from memory.chat.passages import NAME as PASSAGES
from memory.chat.passages import Passages, timed
from memory.chat.prompt import Draft, Prompt, choose_context, compose, draft, keep_memories, memory_room
from memory.chat.rounds import Rounds
from memory.chat.sections import Section
from memory.conf import ChatConfig, get_config
from memory.consent import Consent
from memory.errors import ContextTooLong, ModelReplyInvalid, MusebotError
from memory.facts import InjectedFact
from memory.llm.base import ChatMessage, ChatModel
from memory.types import Recall, RecallQuery, TurnDelta, TurnEvent, TurnRequest, TurnResult

logger = logging.getLogger(__name__)

MAX_PASSAGES = 3
BROKE_OFF = "\n\n(The answer broke off.)"


@dataclass(slots=True)
class _Turn:
    """What a turn gathers on its way."""

    request: TurnRequest
    trace_id: str
    now: datetime = field(default_factory=timezone.now)
    asker: Consent | None = None
    recall: Recall = Recall()
    facts: tuple[InjectedFact, ...] = ()
    core: core.Core = core.Core()
    passages: Passages = field(default_factory=Passages)
    rounds: Rounds | None = None
    prompt: Prompt | None = None
    generation: Generation = field(default_factory=Generation)
    timings: dict[str, float] = field(default_factory=dict)
    started: float = field(default_factory=time.perf_counter)

    def took(self, stage: str, since: float) -> None:
        self.timings[stage] = self.timings.get(stage, 0.0) + (time.perf_counter() - since) * 1000


def run_turn(request: TurnRequest, *, trace_id: str | None = None) -> Iterator[TurnEvent]:
    """Pieces of the answer as they come, then exactly one ``TurnResult``.

    ``trace_id`` is what ``begin`` returned for a message on Discord; such a reply stays pending until ``finish``. The texts of all
    pieces together are the text of the result, but for an error message, which only the result has. Closing the iterator stops
    the model and leaves a begun reply pending. Never raises for failures of models, recall or the trace.
    """
    turn = _Turn(request, trace_id or str(uuid.uuid4()))
    try:
        turn.now = asked_at(request)
        turn.asker = consent.find(request.asker.id)
        model = backends.chat_model()
    except (MusebotError, DatabaseError) as error:
        code = error.code if isinstance(error, MusebotError) else "database"
        yield _end(turn, _failed(turn, code), begun=trace_id is not None)
        return
    if model is None:
        result = _quote(turn)
        yield TurnDelta(result.text)
    else:
        result = yield from _ask(turn, model)
    yield _end(turn, result, begun=trace_id is not None)


def answer(request: TurnRequest) -> TurnResult:
    """One turn at once, for callers that do not stream."""
    for event in run_turn(request):
        if isinstance(event, TurnResult):
            return event
    raise AssertionError("a turn ends with its result")


def _quote(turn: _Turn) -> TurnResult:
    """The answer without a model."""
    turn.recall = _recall(turn, _context(turn))
    kept = set(range(min(MAX_LINES, len(turn.recall.memories))))
    turn.recall = keep_memories(turn.recall, kept, "top_k")
    turn.passages = _passages(turn)
    text = extractive_answer(turn.recall.memories, turn.passages.quote(MAX_PASSAGES))
    return TurnResult(text, text, "extractive", turn.trace_id, turn.recall)


def _ask(turn: _Turn, model: ChatModel) -> Generator[TurnDelta, None, TurnResult]:
    """Streams the model's answer; its return value is the result of the turn."""
    turn.facts = _facts(turn)
    turn.passages = _passages(turn)
    budget = Budget.of(model, max_reply_tokens=get_config().chat.max_reply_tokens)
    since = time.perf_counter()
    turn.core, tools, taken = core.prepare(turn.request, turn.asker, model, budget)
    turn.took("core", since)
    budget = budget.without(taken)
    turn.rounds = Rounds(turn.trace_id, turn.core.toolbox, tools)
    parts = draft(turn.request, turn.now, _sections(turn))
    room = memory_room(parts, budget) if get_config().memory_enabled else 0
    said = _context(turn)
    context = choose_context(parts, said, budget, room=room)
    recalled = _recall(turn, context, room)
    shortened = asked_again = False
    while True:
        turn.prompt = _prompt(turn, parts, said, context, recalled, budget)
        turn.recall = turn.prompt.recall
        turn.generation = Generation()
        since = time.perf_counter()
        prompt = turn.prompt
        turn.passages.inject(prompt.used.get(PASSAGES, frozenset()))
        rounds = turn.rounds.run(turn.generation, model, prompt.messages, budget, prompt.reply_tokens)
        for piece in turn.passages.through(rounds):
            yield TurnDelta(piece)
        turn.took("model", since)
        if turn.generation.text:
            break
        if turn.generation.error == ContextTooLong.code and not shortened:
            shortened = True
            budget = budget.less_than(turn.prompt.messages)
        elif not turn.generation.error and not asked_again:
            asked_again = True
        else:
            break
    added = _added(turn)
    if added:
        yield TurnDelta(added)
    return _answered(turn, model, added)


def _sections(turn: _Turn) -> list[Section]:
    """What stands beside the operator's words, less the memories."""
    since = time.perf_counter()
    attached = attached_section(turn.request, turn.asker)
    turn.took("attached", since)
    known = facts_section(turn.facts)
    found = [*turn.core.sections, known, *turn.passages.sections(), attached]
    return [section for section in found if section is not None]


def _added(turn: _Turn) -> str:
    """What is shown below the answer, as its last piece."""
    if not turn.generation.text:
        return ""
    if turn.generation.error:
        return BROKE_OFF
    if not turn.passages.shown:
        return _error_message()  # it was nothing but numbers of passages that there are not
    return turn.passages.sources()


def _prompt(
    turn: _Turn, parts: Draft, said: Context, context: Context, recalled: Recall, budget: Budget
) -> Prompt:
    since = time.perf_counter()
    prompt = compose(parts, context, recalled, budget)
    cut = {**prompt.cut, "history": len(said.utterances) - len(prompt.context.utterances)}
    turn.took("prompt", since)
    return replace(prompt, cut=cut)


def _answered(turn: _Turn, model: ChatModel, added: str) -> TurnResult:
    generation = turn.generation
    if generation.first_token is not None:
        turn.timings["first_token"] = generation.first_token
    if not generation.text:
        return _failed(turn, generation.error or ModelReplyInvalid.code, model=generation.model or model.name)
    result = TurnResult(
        turn.passages.shown + added,
        generation.text,
        "model",
        turn.trace_id,
        turn.recall,
        model=generation.model or model.name,
        error=generation.error,
    )
    if not generation.error:
        keep_turn(turn.request, generation.text, turn.now)
    return result


def _failed(turn: _Turn, code: str, *, model: str = "") -> TurnResult:
    return TurnResult(_error_message(), "", "error", turn.trace_id, turn.recall, model=model, error=code)


def _error_message() -> str:
    return get_config().chat.error_message.strip() or ChatConfig().error_message


def _passages(turn: _Turn) -> Passages:
    """What the documents say; a turn goes on without it."""
    asked_by_nobody = turn.request.operator and not turn.request.asker.id
    return timed(turn.request, turn.timings, use_vectors=turn.asker is not None or asked_by_nobody)


def _context(turn: _Turn) -> Context:
    try:
        return rolling_context(turn.request, turn.now)
    except DatabaseError as error:
        logger.warning("the rolling context could not be read: %s", type(error).__name__)
        return Context()


def _facts(turn: _Turn) -> tuple[InjectedFact, ...]:
    """What is known of the one who asks; a turn goes on without it."""
    since = time.perf_counter()
    try:
        return facts.facts_for_turn(turn.request, turn.asker)
    except DatabaseError as error:
        logger.warning("facts could not be read: %s", type(error).__name__)
        return ()
    finally:
        turn.took("facts", since)


def _recall(turn: _Turn, context: Context, token_budget: int | None = None) -> Recall:
    """What is remembered; nothing where memory is off, and nothing but a note of it where something failed."""
    request = turn.request
    if not get_config().memory_enabled or request.guild is None or not request.question.strip():
        return Recall()
    if request.channel is None and not request.operator:
        return Recall(degraded="no_channel")  # nobody knows who reads the answer
    own = frozenset() if request.message_id is None else frozenset({request.message_id})
    query = RecallQuery(
        text=request.question,
        guild_id=request.guild.id,
        channel_id=request.channel.id if request.channel else None,
        asker_id=request.asker.id or None,
        token_budget=token_budget,
        exclude_discord_ids=own | context.discord_ids(),
        use_vectors=turn.asker is not None or (request.operator and not request.asker.id),
        now=turn.now,
    )
    since = time.perf_counter()
    try:
        recall = retrieval.recall(query)
    except Exception as error:  # no source of memories ever fails a reply
        logger.warning("recall failed: %s", type(error).__name__)
        recall = Recall(degraded="error")
    turn.took("recall", since)
    turn.timings.update({f"recall_{stage}": value for stage, value in recall.timings.items()})
    return recall


def _end(turn: _Turn, result: TurnResult, *, begun: bool) -> TurnResult:
    """Completes the result and writes the trace."""
    turn.took("total", turn.started)
    generation, prompt = turn.generation, turn.prompt
    cut = dict(prompt.cut) if prompt else {}
    if generation.cut_off:
        cut["answer"] = 1
    result = core.with_found(result, turn.core.toolbox)
    used = prompt.used.get("facts", frozenset()) if prompt else frozenset()
    in_prompt = [fact for position, fact in enumerate(turn.facts) if position in used]
    result = replace(
        result,
        facts=tuple(fact.text for fact in in_prompt),
        fact_ids=tuple(fact.id for fact in in_prompt),
        citations=turn.passages.citations(),
        passages_left_out=turn.passages.left_out(),
        prompt=tuple(message.to_json() for message in _sent(turn)),
        timings=turn.timings,
        cut=cut,
    )
    measures.turn(kind=result.kind, timings=turn.timings, error=result.error, missing=result.recall.degraded)
    served = traces.Served(generation.host, generation.prompt_tokens, generation.reply_tokens)
    try:
        said = prompt.context if prompt else Context()
        traces.record(turn.request, result, served=served, asker=turn.asker, begun=begun, said=said)
        core.record(turn.trace_id, turn.core.used)
    except DatabaseError as error:
        logger.warning("the trace of a reply could not be written: %s", type(error).__name__)
    return result


def _sent(turn: _Turn) -> tuple[ChatMessage, ...]:
    """The messages as they went to the model the last time, with what it called and got."""
    if turn.rounds is not None and turn.rounds.messages:
        return turn.rounds.messages
    return turn.prompt.messages if turn.prompt else ()
