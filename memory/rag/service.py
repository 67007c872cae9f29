"""Passages for one turn: whichever retriever is configured, never waited for longer than ``timeoutMs``, never failing a reply."""

from __future__ import annotations

import inspect
import logging
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, TimeoutError
from typing import Any

from django.db import DatabaseError, connection

from memory.conf import RagSettings, get_config
from memory.errors import MusebotError
from memory.rag import scope, spaces
from memory.rag.options import Filters, Found, as_hit, named_function
from memory.rag.retriever import DocumentRetriever

logger = logging.getLogger(__name__)

BUILT_IN = frozenset({"local", "hash"})

_pool = ThreadPoolExecutor(max_workers=4, thread_name_prefix="retriever")
_lock = threading.Lock()
_made: dict[str, Any] = {}


def find(question: str, filters: Filters) -> Found | None:
    """What may help to answer; None where there is nothing to look in."""
    settings = get_config().rag
    if not settings.enabled or not question.strip():
        return None
    try:
        retriever = custom(settings)
        if retriever is not None:
            return _from(retriever, question, filters, settings)
        if not scope.any_document():
            return None
        deadline = time.monotonic() + settings.timeout_ms / 1000 if settings.timeout_ms else None
        found = DocumentRetriever().search(question, filters=filters, deadline=deadline)
        # Whoever is past the time goes on without context, as specified.
        return Found(degraded="timeout", timings=found.timings) if found.degraded == "timeout" else found
    except Exception as error:  # no source of passages ever fails a reply
        logger.warning(
            "retrieval failed: %s", error.code if isinstance(error, MusebotError) else type(error).__name__
        )
        return Found(degraded="error")


def custom(settings: RagSettings) -> Any | None:
    """The retriever that the configuration names, made once; None for the built-in one."""
    if not settings.retriever:
        return None
    with _lock:
        if settings.retriever not in _made:
            made = named_function("rag.retriever", settings.retriever)()
            _made[settings.retriever] = made
            _warm(made)
        return _made[settings.retriever]


def _warm(retriever: Any) -> None:
    warmup = getattr(retriever, "warmup", None)
    if warmup is None:
        return

    def run() -> None:
        try:
            warmup()
        except Exception as error:  # not needed for anything
            logger.warning("the retriever's warmup failed: %s", type(error).__name__)
        finally:
            connection.close()

    _pool.submit(run)


def _from(retriever: Any, question: str, filters: Filters, settings: RagSettings) -> Found:
    """Passages of another retriever, on a thread of its own that is told to stop when its time is over."""
    signal, started = threading.Event(), time.perf_counter()
    future: Future[Sequence[Any]] = _pool.submit(_ask, retriever, question, filters, signal)
    try:
        given = future.result(timeout=settings.timeout_ms / 1000 if settings.timeout_ms else None)
    except TimeoutError:
        signal.set()
        return Found(degraded="timeout", timings={"total": (time.perf_counter() - started) * 1000})
    hits = [as_hit(one) for one in given]
    hits = [hit for hit in hits if hit.text.strip()]
    return Found(tuple(hits), timings={"total": (time.perf_counter() - started) * 1000})


def _ask(retriever: Any, question: str, filters: Filters, signal: threading.Event) -> Sequence[Any]:
    settings = get_config().rag
    chosen = settings.model_fields_set
    options: dict[str, Any] = {
        # What is not set is the retriever's own default.
        "top_k": settings.top_k if "top_k" in chosen else None,
        "min_score": settings.min_score if "min_score" in chosen else None,
        "signal": signal,
    }
    try:
        known = inspect.signature(retriever.retrieve).parameters
        takes_any = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in known.values())
        if "filters" in known or takes_any:
            options["filters"] = filters
        if not takes_any:
            options = {name: value for name, value in options.items() if name in known}
        found: Sequence[Any] = retriever.retrieve(question, **options)
        return found
    finally:
        connection.close()


def is_in_process() -> bool:
    """Whether a question is embedded here, without leaving the process or being kept.

    After a change of the model the one before it embeds questions until the new vectors are there.
    """
    model = get_config().memory.embedding_model
    if model is None or model.provider not in BUILT_IN:
        return False
    try:
        space = spaces.serving()
    except DatabaseError:
        return False
    return space is None or space.provider in BUILT_IN
