"""Recall: from a question to the memories that go into the prompt.

It never fails a reply. Without vectors it works with words alone; what else goes wrong leaves it empty, and the result says why.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from django.db import connection

from memory import measures, snapshots
from memory.conf import get_config
from memory.errors import ModelUnavailable
from memory.models import Guild
from memory.models.fast import get
from memory.retrieval.candidates import (
    NO_NEIGHBOURS,
    Candidates,
    Scope,
    by_vector,
    by_words,
    gather,
    keys_of,
)
from memory.retrieval.query import Understood, understand
from memory.retrieval.scoring import score
from memory.retrieval.selection import select
from memory.retrieval.vectors import NO_VECTORS, TIMEOUT, Question
from memory.retrieval.weights import Weights, weights_for
from memory.types import Recall, RecallQuery

logger = logging.getLogger(__name__)

DISABLED = "memory_disabled"
ERROR = "error"
PATIENCE = 60.0
"""Seconds, where nobody waits for a reply."""


class _Clock:
    """Milliseconds by stage, and how much of the time allowed is left."""

    def __init__(self, seconds: float) -> None:
        self.started = time.monotonic()
        self.deadline = self.started + seconds
        self.timings: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        start = time.monotonic()
        try:
            yield
        finally:
            self.timings[name] = round((time.monotonic() - start) * 1000, 2)

    def left(self) -> float:
        return self.deadline - time.monotonic()

    def total(self) -> dict[str, float]:
        return self.timings | {"total": round((time.monotonic() - self.started) * 1000, 2)}


def recall(query: RecallQuery, *, patience: float | None = None) -> Recall:
    """What is remembered that may answer a question, in the order of its use.

    ``patience``: seconds after which it goes on without vectors; by default those of the configuration, which keep a reply prompt.
    Never raises: ``degraded`` says what was missing (``no_vectors``, ``timeout``, ``same_channel_only``, ``recall_off``,
    ``memory_disabled``, ``error``; several are joined by commas).
    """
    config = get_config()
    if not config.memory_enabled:
        return Recall(degraded=DISABLED)
    clock = _Clock(config.memory.recall_timeout if patience is None else patience)
    try:
        with measures.recall_seconds.time():
            return _recall(query, clock)
    except Exception as error:  # a reply must not fail for want of memories
        logger.warning(
            "recall failed in guild %s: %s", query.guild_id, type(error).__name__, exc_info=_quiet(error)
        )
        return Recall(timings=clock.total(), degraded=ERROR)


def _quiet(error: Exception) -> bool:
    """Tracebacks hold no values, but messages of errors may; those of the program's own mistakes are worth having."""
    return isinstance(error, TypeError | AttributeError | NameError | ImportError)


def _recall(query: RecallQuery, clock: _Clock) -> Recall:
    guild = get(Guild, discord_id=query.guild_id)
    if guild is None or not query.text.strip():
        return Recall(timings=clock.total())
    with clock.stage("scope"):
        visible = snapshots.visible_channels(
            guild=guild, channel_id=query.channel_id, asker_id=query.asker_id
        )
        if visible.ids is not None and not visible.ids:
            return Recall(timings=clock.total(), degraded=visible.degraded)
        channels = _channels_in_use(guild, visible.ids)
        scope = Scope(guild.ordinal, channels, keys_of(query.exclude_discord_ids))
    with clock.stage("query"):
        question = understand(query, guild.ordinal)
    candidates, weights, missing = _found(scope, question, query, clock)
    with clock.stage("score"):
        scored = score(candidates, question, weights)
    with clock.stage("select"):
        taken, left_out = select(scored, query, weights)
    degraded = ",".join(dict.fromkeys(reason for reason in (visible.degraded, missing) if reason))
    return Recall(
        memories=taken,
        left_out=left_out,
        timings=clock.total(),
        degraded=degraded,
        authors=question.authors,
    )


def _found(
    scope: Scope, question: Understood, query: RecallQuery, clock: _Clock
) -> tuple[Candidates, Weights, str]:
    """The candidates, the weights that fit how they were found, and what was missing to find more."""
    vectors = Question(question.text) if query.use_vectors else None
    with clock.stage("words"):
        texts = by_words(scope, question.words)
    missing = "" if vectors else NO_VECTORS
    found = None
    if vectors:
        with clock.stage("embed"):
            found, missing = vectors.wait(clock.left())
    with clock.stage("vectors"):
        nearest = NO_NEIGHBOURS
        if found is not None and clock.left() > 0:
            nearest = by_vector(scope, found.index, found.vector)
        elif found is not None:
            found, missing = None, TIMEOUT
        candidates: Candidates = gather(
            texts, nearest, found.index if found else None, found.vector if found else None
        )
    return candidates, weights_for(found.identity if found else None), missing


def considered(query: RecallQuery) -> tuple[Candidates, Understood]:
    """What a recall would choose from, for fitting its weights. Raises ``ModelUnavailable`` where it would not be complete."""
    guild = Guild.objects.get(discord_id=query.guild_id)
    visible = snapshots.visible_channels(guild=guild, channel_id=query.channel_id, asker_id=query.asker_id)
    scope = Scope(guild.ordinal, _channels_in_use(guild, visible.ids), keys_of(query.exclude_discord_ids))
    question = understand(query, guild.ordinal)
    candidates, _, missing = _found(scope, question, query, _Clock(PATIENCE))
    if missing:
        raise ModelUnavailable(f"The recall was not complete ({missing}), so nothing can be fitted on it.")
    return candidates, question


def _channels_in_use(guild: Guild, visible: Collection[int] | None) -> Collection[int] | None:
    """Channels to look in, deleted ones taken out; None where that is all of them, which is faster."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT discord_id, deleted_at FROM memory_channel WHERE guild_id = %s", (guild.ordinal,)
        )
        rows = cursor.fetchall()
    used = {channel_id for channel_id, deleted in rows if deleted is None}
    if visible is not None:
        used &= set(visible)
    return None if len(used) == len(rows) else used
