"""What Celery runs. The outbox holds the work; a task is a wake-up, and losing one loses nothing."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from celery import shared_task
from django.db import OperationalError
from django.utils import timezone

from memory import backends, blocks, capture, embedding, erasure, facts, measures, outbox, retention, upkeep
from memory.errors import MusebotError
from memory.models import InstallationState, OutboxEntry
from memory.rag import evaluation, ingest, orphans

logger = logging.getLogger(__name__)

BUDGET_SECONDS = 20.0
SWEPT = "swept"
"""Name of the state whose time is that of the last sweep that a schedule asked for."""
LOOK_SECONDS = 60.0
"""How often it is asked whether the embedding model is another one than the vectors'."""
_looked_at = -LOOK_SECONDS


@dataclass(frozen=True, slots=True)
class Handler:
    """Does the entries it is given, and finishes, holds or fails each of them."""

    run: Callable[[Sequence[OutboxEntry]], None]
    batch: int
    """Entries to claim at once."""


HANDLERS = {
    "embed": Handler(embedding.embed_entries, 64),
    "enrich": Handler(capture.enrich_entries, 1),
    erasure.ERASE: Handler(erasure.erase_entries, 1),
    erasure.CLEAN: Handler(erasure.clean_entries, 1),
    "forget_channel": Handler(capture.continue_forgetting_channels, 1),
    "forget_guild": Handler(capture.continue_forgetting_guilds, 1),
    retention.PURGE: Handler(retention.purge_entries, 1),
    facts.EXTRACT: Handler(facts.extract_entries, 1),
    embedding.MIGRATE: Handler(embedding.migrate_entries, 1),
    embedding.PREPARE: Handler(embedding.prepare_entries, 1),
    ingest.INGEST: Handler(ingest.ingest_entries, 1),
    ingest.REINDEX: Handler(ingest.reindex_entries, 1),
    evaluation.EVALUATE: Handler(evaluation.evaluate_entries, 1),
    orphans.SCAN: Handler(orphans.scan_entries, 1),
    upkeep.SCAN: Handler(upkeep.scan_entries, 1),
    blocks.CONSOLIDATE: Handler(blocks.consolidate_entries, 1),
    blocks.EMBED: Handler(blocks.embed_entries, 32),
}


def register(kind: str, handler: Handler) -> None:
    """Adds what does a kind of work. For applications that ``memory`` does not know, from their own tasks module."""
    HANDLERS[kind] = handler


class HandlerFailed(MusebotError):
    """The work failed in a way that nobody foresaw; the log of the worker has its place."""

    code = "handler_failed"


@shared_task(name="memory.work")
def work(kind: str) -> None:
    """Does what is due of a kind, for a while; comes again if there is more."""
    if not work_through(kind, seconds=BUDGET_SECONDS):
        outbox.wake(kind)


@shared_task(name="memory.sweep")
def sweep(every: float | None = None) -> None:
    """Gives back what dead workers held, wakes what is due, and shows that the worker lives.

    ``every`` comes from a schedule, of which each worker has one: then it is done once in so many seconds, by whoever is first.
    """
    if every is None or _is_first(every):
        _sweep()


def _sweep() -> None:
    outbox.release_expired()
    facts.purge_expired()
    retention.note_if_due()
    orphans.note_if_due()
    embedding.drop_expired()
    InstallationState.objects.update_or_create(name="worker", defaults={"value": {"pid": os.getpid()}})
    for kind in outbox.due_kinds():
        outbox.wake(kind)
    _look_for_another_model()


def _is_first(every: float) -> bool:
    now = timezone.now()
    _, new = InstallationState.objects.get_or_create(name=SWEPT)
    # Half of the time: clocks that differ a little, or a message that was late, must not make it every other time.
    due = InstallationState.objects.filter(name=SWEPT, at__lte=now - timedelta(seconds=every / 2))
    return new or due.update(at=now) > 0


def _look_for_another_model() -> None:
    """Last, since a host that does not answer takes its time."""
    global _looked_at
    if time.monotonic() - _looked_at >= LOOK_SECONDS:
        _looked_at = time.monotonic()
        embedding.notice_change()
        embedding.note_large_guilds()
        backends.notice_vision()


def work_through(kind: str, *, seconds: float | None = None) -> bool:
    """Does what is due of a kind; True when nothing is left, False if ``seconds`` were over first."""
    handler = HANDLERS.get(kind)
    if handler is None:
        logger.warning("no handler for work of the kind %s", kind)
        return True
    deadline = time.monotonic() + seconds if seconds is not None else float("inf")
    while entries := outbox.claim(kind, handler.batch):
        try:
            with measures.work_seconds.labels(kind).time():
                handler.run(entries)
        except MusebotError as error:
            outbox.fail(entries, error)
        except Exception as error:
            _note_failure(kind, entries, error)
        if time.monotonic() >= deadline:
            return False
    return True


def _note_failure(kind: str, entries: Sequence[OutboxEntry], error: Exception) -> None:
    """The place of the failure, without the message of the exception: it might quote what people wrote."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    place = f"{last.tb_frame.f_code.co_filename}:{last.tb_lineno}" if last else "?"
    logger.error("%s failed for %d entries: %s at %s", kind, len(entries), type(error).__name__, place)
    busy = isinstance(error, OperationalError)
    outbox.fail(entries, HandlerFailed(f"{type(error).__name__} in {kind}"), final=False if busy else None)
