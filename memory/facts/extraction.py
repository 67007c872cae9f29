"""Finding facts in what a member wrote: in the worker, after the reply, and written only if nothing has changed meanwhile."""

from __future__ import annotations

import importlib
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils import timezone

from memory import backends, consent, outbox
from memory.conf import AutoExtract, get_config
from memory.consent import Consent
from memory.errors import (
    ConfigurationError,
    ConsentMissing,
    ModelError,
    ModelTimeout,
    ModelUnavailable,
    StaleEpoch,
)
from memory.facts import grounding, screening, storing
from memory.facts.prompts import SCHEMA, extraction_messages, parse_answer
from memory.facts.services import EXTRACT, times_forgotten
from memory.facts.text import words
from memory.llm.base import ChatModel, ChatRequest
from memory.models import Fact, Guild, Member, Message, OutboxEntry

logger = logging.getLogger(__name__)

DEFAULT_MAX_TOKENS = 1024
FEWEST_WORDS = 2
"""Shorter messages say nothing worth a question to the model."""
MOST_PROPOSED = 50
POLL_SECONDS = 0.05
State = OutboxEntry.State


@dataclass(frozen=True, slots=True)
class _Began:
    """What has to be the same when the result is written."""

    consent: Consent
    forgotten: int
    names: tuple[str, ...]


def enqueue(message: Message) -> bool:
    """Notes that a member's message is to be read for facts, in the caller's transaction; True if it will be.

    Only where ``autoExtract`` is on, and only the member's own message under a consent that stands.
    """
    settings = get_config().facts
    if (
        not settings.enabled
        or settings.auto_extract is None
        or message.is_bot
        or message.author_id != message.member_id
    ):
        return False
    found = consent.find(message.member_id)
    if found is None or len(words(message.text)) < FEWEST_WORDS:
        return False
    outbox.enqueue(EXTRACT, [message.key], user_id=message.member_id, epoch=found.epoch)
    return True


def extract_memory(
    user_id: int, user_text: str, assistant_text: str = "", *, filter: Callable[[str], bool] | None = None
) -> list[str]:
    """Runs one extraction by hand; returns the facts added. Only ``user_text`` is read for facts: the reply is no source.

    Raises ``ConsentMissing``, and ``ModelError`` where the model fails; without a model, or with an answer of another form, there
    is nothing to add. Erased or forgotten meanwhile, nothing is written.
    """
    began = _begin(user_id)
    if began is None:
        raise ConsentMissing()
    found = _ask(user_text)
    candidates = _candidates(found, began, message=user_text, filter=filter)
    try:
        with transaction.atomic():
            return _write(began, candidates)
    except (ConsentMissing, StaleEpoch):
        return []


def extract_entries(entries: Sequence[OutboxEntry]) -> None:
    """Handler of ``extract``. Every entry is finished, or given back for later."""
    for entry in entries:
        _extract_entry(entry)


def idle(timeout: float | None = None, *, work: bool = True) -> bool:
    """Returns once no extraction is queued or running; False if ``timeout`` seconds were over first.

    With ``work``, what is due is done here, as the worker would; without it, only waited for.
    """
    deadline = time.monotonic() + timeout if timeout is not None else float("inf")
    while True:
        if work and (entries := outbox.claim(EXTRACT, 1)):
            extract_entries(entries)
            continue
        if not OutboxEntry.objects.filter(kind=EXTRACT, state__in=[State.QUEUED, State.RUNNING]).exists():
            return True
        if time.monotonic() >= deadline:
            return False
        time.sleep(min(POLL_SECONDS, max(deadline - time.monotonic(), 0)))


def _extract_entry(entry: OutboxEntry) -> None:
    message = (
        Message.objects.select_related("guild", "member").filter(key=entry.subject, is_bot=False).first()
    )
    began = _begin(entry.user_id, epoch=entry.epoch) if entry.user_id is not None else None
    if message is None or began is None or message.member_id != entry.user_id or message.paused:
        outbox.finish([entry])
        return
    try:
        found = _ask(message.text)
    except ModelError as error:
        _later(entry, error)
        return
    evidence = _Evidence.of(message)
    candidates = _candidates(found, began, message=message.text, evidence=evidence)
    with transaction.atomic():
        # Gone if everything was forgotten or erased meanwhile: whoever dropped the work dropped its result.
        if not outbox.finish([entry]):
            return
        text = Message.objects.filter(key=message.key).values_list("text", flat=True).first()
        if text != message.text:
            if text is not None:
                outbox.enqueue(EXTRACT, [message.key], user_id=entry.user_id, epoch=entry.epoch)
            return
        try:
            added = _write(began, candidates)
        except (ConsentMissing, StaleEpoch):
            return
    logger.info("message %d gave %d facts (%d proposed)", message.key, len(added), len(found))


def _later(entry: OutboxEntry, error: ModelError) -> None:
    away = isinstance(error, ModelUnavailable) and not isinstance(error, ModelTimeout)
    outbox.fail([entry], error, final=False if away else None)
    if away:
        tries = min(max(entry.attempts, 1), len(outbox.BACK_OFF_SECONDS))
        outbox.postpone(EXTRACT, outbox.BACK_OFF_SECONDS[tries - 1])
    logger.warning("facts of message %d wait: %s", entry.subject, error.code)


def _begin(user_id: int, *, epoch: int | None = None) -> _Began | None:
    member = Member.objects.filter(user_id=user_id, paused_at=None, withdrawn_at=None).first()
    if member is None or (epoch is not None and member.epoch != epoch):
        return None
    return _Began(Consent(user_id, member.epoch), times_forgotten(user_id), storing.names_of(member))


def _ask(text: str) -> list[str]:
    """What the model proposes, at most as many facts as are wanted; nothing for an answer that is not of the form."""
    settings = get_config().facts.auto_extract or AutoExtract()
    model = _model(settings)
    if model is None or len(words(text)) < FEWEST_WORDS:
        return []
    tokens = settings.max_tokens
    if tokens is None:
        local = _provider(settings) == "ollama"
        # Ollama gets no limit of ours; its models spend part of it thinking. The window is the limit then.
        tokens = model.context_window if local else DEFAULT_MAX_TOKENS
    messages = extraction_messages(text, settings, limit=model.context_window)
    request = ChatRequest(messages, max_tokens=tokens, temperature=0.0, response_schema=SCHEMA)
    answer, ended = "", ""
    for chunk in model.stream(request):
        answer += chunk.text
        ended = chunk.done_reason or ended
    found = parse_answer(answer) if ended != "length" else None
    if found is None:
        logger.info("an extraction was dropped: the answer is not of the form that was asked for")
        return []
    return found


def _model(settings: AutoExtract) -> ChatModel | None:
    return backends.chat_model() if settings.model is None else backends.extraction_model(settings.model)


def _provider(settings: AutoExtract) -> str:
    reference = settings.model or get_config().chat.model
    return reference.provider if reference else ""


@dataclass(frozen=True, slots=True)
class _Evidence:
    message: Message
    audience: str
    guild: Guild | None

    @classmethod
    def of(cls, message: Message) -> _Evidence:
        private = message.guild.kind == Guild.Kind.DM
        return cls(message, Fact.Audience.PRIVATE if private else Fact.Audience.GUILD, message.guild)


def _candidates(
    found: Sequence[str],
    began: _Began,
    *,
    message: str,
    evidence: _Evidence | None = None,
    filter: Callable[[str], bool] | None = None,
) -> list[storing.Candidate]:
    settings = get_config().facts
    extraction = settings.auto_extract or AutoExtract()
    filters = [one for one in (filter, load_filter(extraction.filter)) if one is not None]
    correction = grounding.is_correction(message)
    candidates: list[storing.Candidate] = []
    for text in dict.fromkeys(found[:MOST_PROPOSED]):
        if len(candidates) == extraction.max_facts_per_turn:
            break
        verdict = screening.screen_auto(text, message=message, names=began.names)
        if verdict.action == "refuse" or not all(_passes(one, text) for one in filters):
            logger.info("a proposed fact was dropped: %s", verdict.reason or "filtered")
            continue
        candidates.append(
            storing.Candidate(
                text=text,
                source=Fact.Source.AUTO,
                trust=Fact.Trust.MODEL,
                actor="model",
                said_at=evidence.message.sent_at if evidence else timezone.now(),
                lifetime=settings.ttl,
                evidence=evidence.message if evidence else None,
                audience=evidence.audience if evidence else Fact.Audience.ANYWHERE,
                guild=evidence.guild if evidence else None,
                correction=correction,
                waits=verdict.reason,
                names=began.names,
            )
        )
    return candidates


def _write(began: _Began, candidates: Sequence[storing.Candidate]) -> list[str]:
    """In the caller's transaction: consent, epoch and forgetting again, then the facts."""
    member = consent.require(began.consent)
    if times_forgotten(member.user_id) != began.forgotten:
        return []
    return [fact.text for fact in storing.store(member, get_config().facts.namespace, candidates)]


def load_filter(path: str) -> Callable[[str], Any] | None:
    """The operator's function; raises ``ConfigurationError`` if it cannot be had."""
    if not path:
        return None
    module, _, name = path.partition(":")
    try:
        found = getattr(importlib.import_module(module.strip()), name.strip())
    except (ImportError, AttributeError) as error:
        raise ConfigurationError(
            f"memory.autoExtract.filter names {path!r}, which cannot be loaded."
        ) from error
    if not callable(found):
        raise ConfigurationError(f"memory.autoExtract.filter names {path!r}, which is no function.")
    return found  # type: ignore[no-any-return]


def _passes(function: Callable[[str], Any], text: str) -> bool:
    """Without a clear yes a fact is not stored, and a filter that fails gives none."""
    try:
        return bool(function(text))
    except Exception as error:
        logger.warning("the filter of facts failed: %s", type(error).__name__)
        return False
