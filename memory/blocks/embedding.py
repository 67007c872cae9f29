"""Vectors of the archive. The state of an entry's row is the truth; an outbox entry of kind ``embed_archive`` is the work."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, TimeoutError

from django.db import transaction

from memory import backends, consent, outbox
from memory.blocks.audience import partition
from memory.embedding.spaces import is_of, serving, serving_space, space_of
from memory.errors import MemoryDisabled, ModelError, ModelMissing, ModelUnavailable, MusebotError
from memory.index.archival import ArchivalVectors, vector_tables
from memory.index.base import Vector
from memory.llm.base import Embedder
from memory.models import ArchivalEntry, EmbeddingSpace, Member, OutboxEntry

logger = logging.getLogger(__name__)

EMBED = "embed_archive"
"""Kind of work; the subject is the entry's id."""
BATCH = 32
WAIT_SECONDS = 3.0
DISABLED_SECONDS = 60.0

# An embedder may wait for a host; the turn does not wait with it.
_pool = ThreadPoolExecutor(max_workers=2, thread_name_prefix="embed-archive")


def embed_at_once(entry_id: int) -> bool:
    """Tries to embed an entry that was just stored, for a moment; what does not succeed is left to the worker."""
    row = ArchivalEntry.objects.filter(pk=entry_id).first()
    if row is None:
        return False
    try:
        space = serving_space()
        embedder = backends.embedder_of(space) if space else backends.embedder()
        vector = _pool.submit(lambda: embedder.embed_documents([row.text])[0]).result(WAIT_SECONDS)
        if space is None or not is_of(space, embedder.identity()):
            space = space_of(embedder)
        written = _write([(row, vector)], space)
    except (MusebotError, TimeoutError, ValueError) as error:
        logger.info("an archival entry is embedded later: %s", type(error).__name__)
        return False
    if written:
        OutboxEntry.objects.filter(kind=EMBED, subject=entry_id).delete()
    return bool(written)


def embed_entries(entries: Sequence[OutboxEntry]) -> None:
    """Handler of ``embed_archive``. Every entry is finished, given back or marked failed."""
    try:
        now = serving()
    except MemoryDisabled:
        outbox.hold(entries, DISABLED_SECONDS)
        return
    except ModelError as error:
        _wait(entries, error)
        return
    rows = {row.pk: row for row in ArchivalEntry.objects.filter(pk__in=[one.subject for one in entries])}
    outbox.finish([one for one in entries if one.subject not in rows or rows[one.subject].deleted_at])
    todo = [one for one in entries if one.subject in rows and not rows[one.subject].deleted_at]
    for start in range(0, len(todo), BATCH):
        if not _some(todo[start : start + BATCH], rows, now.embedder, now.space):
            return
    _drop_unused()


def queue_outdated() -> int:
    """Queues what an older model embedded; returns how much. What waits already is left alone."""
    active = EmbeddingSpace.objects.filter(state=EmbeddingSpace.State.ACTIVE).order_by("-id").first()
    if active is None:
        return 0
    rows = ArchivalEntry.objects.filter(deleted_at=None, embedding=ArchivalEntry.Embedding.DONE)
    old = list(rows.exclude(space=active).values_list("pk", "member_id", "member__epoch")[:500])
    with transaction.atomic():
        ArchivalEntry.objects.filter(pk__in=[one[0] for one in old]).update(
            embedding=ArchivalEntry.Embedding.PENDING, space=None
        )
        outbox.enqueue_many(EMBED, [(pk, member, epoch or 0) for pk, member, epoch in old])
    return len(old)


def _some(
    entries: Sequence[OutboxEntry], rows: dict[int, ArchivalEntry], embedder: Embedder, space: EmbeddingSpace
) -> bool:
    """False if the host is at fault, and everything waits."""
    if not outbox.extend(entries):
        return True
    try:
        vectors = embedder.embed_documents([rows[one.subject].text for one in entries])
        pairs = [(rows[one.subject], vector) for one, vector in zip(entries, vectors, strict=True)]
        _write(pairs, space, {one.subject: one.epoch for one in entries})
    except (ModelError, ValueError) as error:
        if isinstance(error, ModelUnavailable | ModelMissing):
            _wait(entries, error)
            return False
        if len(entries) > 1:  # one text is at fault: find it
            middle = len(entries) // 2
            return _some(entries[:middle], rows, embedder, space) and _some(
                entries[middle:], rows, embedder, space
            )
        reason = error if isinstance(error, MusebotError) else ModelError("The vector has the wrong form.")
        final = entries[0].attempts >= outbox.MAX_ATTEMPTS
        outbox.fail(entries, reason, final=final)
        if final:
            ArchivalEntry.objects.filter(pk=entries[0].subject).update(
                embedding=ArchivalEntry.Embedding.FAILED
            )
        return True
    outbox.finish(entries)
    return True


def _write(
    pairs: Sequence[tuple[ArchivalEntry, Vector]],
    space: EmbeddingSpace,
    epochs: dict[int, int] | None = None,
) -> int:
    """Stores vectors of entries that are still live and whose member still consents; returns how many."""
    index = ArchivalVectors(space.pk, space.dimension)
    with transaction.atomic():
        if (
            not EmbeddingSpace.objects.filter(pk=space.pk)
            .exclude(state=EmbeddingSpace.State.RETIRED)
            .exists()
        ):
            return 0
        texts = {row.pk: row.text for row, _ in pairs}
        live = ArchivalEntry.objects.filter(pk__in=texts, deleted_at=None).select_related("member")
        allowed = {
            row.pk: row for row in live if row.text == texts[row.pk] and _consents(row.member, row.pk, epochs)
        }
        index.create()
        index.add(
            [
                (row.pk, partition(row.scope, row.scope_key, private=row.private), vector)
                for row, vector in pairs
                if row.pk in allowed
            ]
        )
        ArchivalEntry.objects.filter(pk__in=allowed).update(
            embedding=ArchivalEntry.Embedding.DONE, space=space
        )
    return len(allowed)


def _consents(member: Member | None, entry_id: int, epochs: dict[int, int] | None) -> bool:
    if member is None:
        return True
    epoch = member.epoch if epochs is None else epochs.get(entry_id, -1)
    try:
        consent.require(consent.Consent(member.user_id, epoch))
    except MusebotError:
        return False
    return True


def _wait(entries: Sequence[OutboxEntry], error: MusebotError) -> None:
    tries = max((one.attempts for one in entries), default=1)
    seconds = outbox.BACK_OFF_SECONDS[min(max(tries, 1), len(outbox.BACK_OFF_SECONDS)) - 1]
    outbox.fail(entries, error, final=False)
    outbox.postpone(EMBED, seconds)


def _drop_unused() -> None:
    """Tables of models that are not known any more."""
    used = {ArchivalVectors(pk, 1).table for pk in EmbeddingSpace.objects.values_list("pk", flat=True)}
    for table in vector_tables():
        if table not in used:
            ArchivalVectors(int(table.rsplit("_", 1)[1]), 1).drop()
