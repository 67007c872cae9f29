"""Builds the vectors of another model beside those that serve, switches, and drops those that nobody wants any more.

Which messages a space lacks is seen from its index, so a worker that is killed repeats one batch at most. What is said, edited or
erased meanwhile is seen by the next pass; the switch comes once a pass finds hardly anything, and what little is missing then is
embedded as new messages are.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from django.db import transaction

from memory import backends, consent, outbox
from memory.embedding.keeping import keep_in_place_of
from memory.embedding.progress import Progress
from memory.embedding.spaces import is_of
from memory.embedding.work import DISABLED_SECONDS, checked, embedded_text, is_the_hosts_fault
from memory.errors import MemoryDisabled, ModelError, ModelUnavailable
from memory.index.base import VectorIndex, VectorRow
from memory.llm.base import Embedder, Vectors
from memory.models import EmbeddingSpace, Member, Message, OutboxEntry
from memory.models.locks import SPACES, hold, locked

logger = logging.getLogger(__name__)

TURN_SECONDS = 15.0
BATCH = 64
PAGE = 256
"""Messages whose presence in the index is looked up at once."""
MOST_REFUSED = 1_000
"""Texts that a model may refuse before the model is taken to be at fault."""

State = EmbeddingSpace.State
EMBEDDED = [Message.Embedding.DONE, Message.Embedding.FAILED]
"""What waits to be embedded has work of its own."""


def migrate_entries(entries: Sequence[OutboxEntry]) -> None:
    """Handler of ``respace``: a stretch of the build, or all that comes after it."""
    for entry in entries:
        turn = _Turn(entry)
        if turn.run():
            outbox.finish([entry])


class _Turn:
    """Some seconds of one build."""

    def __init__(self, entry: OutboxEntry) -> None:
        self.entry = entry
        self.deadline = time.monotonic() + TURN_SECONDS

    def run(self) -> bool:
        """True when nothing is left to do. Otherwise the entry was given back, or is held by whoever paused it."""
        space = EmbeddingSpace.objects.filter(pk=self.entry.subject).first()
        if space is not None and space.state != State.RETIRED:
            self.space, self.index = space, backends.vector_index(space)
            if space.state == State.BUILDING and not self._build():
                return False
            if not self._settle():
                return False
        drop_retired()
        return True

    # Building

    def _build(self) -> bool:
        try:
            embedder = backends.embedder_of(self.space)
            if not is_of(self.space, embedder.identity()):
                raise ModelUnavailable(f"The build of {self.space} that was begun is on no host any more.")
            while not self._is_over():
                if not self._pass(embedder):
                    return False
                if Progress.load(self.space).found <= BATCH:
                    return self._switch()
                Progress.reached(self.space, -1)
            return self._later()
        except MemoryDisabled:
            outbox.hold([self.entry], DISABLED_SECONDS)
        except ModelError as error:
            outbox.fail([self.entry], error, final=False)
            logger.warning("building the vectors of %s waits: %s", self.space, error.code)
        return False

    def _pass(self, embedder: Embedder) -> bool:
        """Once over the messages; False if there was no time left for all of them, or somebody stopped it."""
        progress = Progress.load(self.space)
        if progress.after < 0:
            progress = Progress.begin_pass(self.space)
        after = progress.after
        while page := _page(after):
            missing = without(page, self.index, after)
            rows = _may_be_embedded(missing, progress.refused)
            for start in range(0, len(rows), BATCH):
                if self._is_over():
                    self._later()
                    return False
                if not self._embed(rows[start : start + BATCH], embedder):
                    return False
            after = page[-1]
            if self._is_over():
                Progress.reached(self.space, after)
                self._later()
                return False
        Progress.reached(self.space, after)
        return True

    def _embed(self, rows: Sequence[Message], embedder: Embedder) -> bool:
        """Embeds and writes, halving where a text is at fault. False if the work was paused, cancelled or taken over."""
        if not outbox.extend([self.entry]):
            return False
        begin = time.monotonic()
        try:
            texts = [embedded_text(row) for row in rows]
            vectors = checked(embedder.embed_documents(texts), len(texts), self.space)
        except ModelError as error:
            if is_the_hosts_fault(error, embedder):
                raise
            if len(rows) > 1:
                middle = len(rows) // 2
                return self._embed(rows[:middle], embedder) and self._embed(rows[middle:], embedder)
            if Progress.refuse(self.space, rows[0].key) > MOST_REFUSED:
                raise
            logger.warning("message %d is refused by the new model: %s", rows[0].key, error.code)
            return True
        return self._write(rows, vectors, time.monotonic() - begin)

    @transaction.atomic
    def _write(self, rows: Sequence[Message], vectors: Vectors, seconds: float) -> bool:
        """Consent, epoch and text again, then the vectors and how far it is."""
        building = EmbeddingSpace.objects.filter(pk=self.space.pk, state=State.BUILDING)
        if not outbox.extend([self.entry]) or not building.exists():
            return False
        owners = {consent.Consent(row.member_id, row.member.epoch) for row in rows}
        allowed = consent.require_many(owners)
        there = Message.objects.filter(key__in=[row.key for row in rows]).order_by("key")
        now = {row.key: row for row in locked(there)}
        same = [
            VectorRow(key=row.key, channel=now[row.key].channel_id, vector=vector)
            for row, vector in zip(rows, vectors, strict=True)
            if row.key in now
            and row.member_id in allowed
            and embedded_text(now[row.key]) == embedded_text(row)
        ]
        self.index.add(same)
        Progress.wrote(self.space, len(same), seconds)
        OutboxEntry.objects.filter(pk=self.entry.pk).update(attempts=0, error_code="", error="")
        return True

    # After it

    @transaction.atomic
    def _switch(self) -> bool:
        hold(SPACES)
        building = EmbeddingSpace.objects.filter(pk=self.space.pk, state=State.BUILDING)
        if not outbox.extend([self.entry]) or not building.exists():
            return False
        keep_in_place_of(self.space)
        building.update(state=State.ACTIVE)
        Progress.begin_settling(self.space)
        logger.info("the vectors of %s serve from now on", self.space)
        return True

    def _settle(self) -> bool:
        """Notes on each message which vector it has now; the few that have none are queued."""
        after = Progress.load(self.space).settled
        while page := _page(after):
            there = set(page) - set(without(page, self.index, after))
            with transaction.atomic():
                if not outbox.extend([self.entry]):
                    return False
                rows = Message.objects.filter(key__in=page, embedding__in=EMBEDDED)
                rows.filter(key__in=there).update(embedding=Message.Embedding.DONE, space=self.space)
                failed = OutboxEntry.objects.filter(kind="embed", state=OutboxEntry.State.FAILED)
                failed.filter(subject__in=there).delete()
                queue_again([key for key in page if key not in there])
                Progress.settled_to(self.space, page[-1])
            after = page[-1]
            if self._is_over():
                return self._later()
        Progress.end()
        return True

    def _is_over(self) -> bool:
        return time.monotonic() >= self.deadline

    def _later(self) -> bool:
        outbox.hold([self.entry], 0)
        return False


def _page(after: int) -> list[int]:
    rows = Message.objects.filter(key__gt=after, embedding__in=EMBEDDED)
    return list(rows.order_by("key").values_list("key", flat=True)[:PAGE])


def without(page: Sequence[int], index: VectorIndex, after: int) -> list[int]:
    """Those of a page that the index does not hold."""
    there: set[int] = set()
    while keys := index.keys(after, 2 * PAGE):
        there.update(keys)
        after = keys[-1]
        if after >= page[-1]:
            break
    return [key for key in page if key not in there]


def _may_be_embedded(keys: Sequence[int], refused: frozenset[int]) -> list[Message]:
    """Messages of those who consent and do not pause; nothing of the others is sent to a model."""
    wanted = [key for key in keys if key not in refused]
    if not wanted:
        return []
    rows = Message.objects.filter(key__in=wanted, member__withdrawn_at=None, member__paused_at=None)
    return [row for row in rows.select_related("member").order_by("key") if embedded_text(row)]


def queue_again(keys: Sequence[int]) -> int:
    """Has messages embedded as new ones are, and tells how many; in the caller's transaction."""
    rows = Message.objects.filter(key__in=keys, embedding__in=EMBEDDED)
    owners = list(rows.values_list("key", "member_id"))
    epochs = dict(
        Member.objects.filter(user_id__in={owner for _, owner in owners}).values_list("user_id", "epoch")
    )
    rows.update(embedding=Message.Embedding.PENDING, space=None)
    outbox.enqueue_many("embed", [(key, owner, epochs.get(owner, 0)) for key, owner in owners])
    return len(owners)


def drop_retired() -> None:
    """Removes the spaces that are not wanted any more; what was embedded for one of them alone is embedded again."""
    for space in EmbeddingSpace.objects.filter(state=State.RETIRED):
        _queue_messages_of(space)
        index = backends.vector_index(space)
        while keys := index.keys(limit=PAGE):
            with transaction.atomic():
                if not EmbeddingSpace.objects.filter(pk=space.pk, state=State.RETIRED).exists():
                    break  # it is wanted again
                index.remove(keys)
        with transaction.atomic():
            hold(SPACES)
            if EmbeddingSpace.objects.filter(pk=space.pk, state=State.RETIRED).delete()[0]:
                index.drop()


def _queue_messages_of(space: EmbeddingSpace) -> None:
    after = -1
    while True:
        rows = Message.objects.filter(key__gt=after, space=space, embedding__in=EMBEDDED)
        keys = list(rows.order_by("key").values_list("key", flat=True)[:PAGE])
        if not keys:
            return
        with transaction.atomic():
            queue_again(keys)
        after = keys[-1]
