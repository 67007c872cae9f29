"""From stored messages to vectors: in batches, outside any transaction, and written only where nothing changed meanwhile.

The state of a message's row is the truth; an outbox entry of kind ``embed`` (subject: the message's key) is the work. What a host's
absence holds up waits as long as it takes; what one text does wrong is found by halving and marked with the reason.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np
from django.db import transaction

from memory import backends, consent, outbox
from memory.embedding.spaces import IN_USE, serving
from memory.errors import (
    ConsentMissing,
    MemoryDisabled,
    ModelError,
    ModelMissing,
    ModelReplyInvalid,
    ModelTimeout,
    ModelUnavailable,
    MusebotError,
    StaleEpoch,
)
from memory.index.base import VectorRow
from memory.llm.base import Embedder, Vectors
from memory.models import EmbeddingSpace, Member, Message, OutboxEntry
from memory.models.locks import locked

logger = logging.getLogger(__name__)

BATCH = 64
PAUSED_SECONDS = 600.0
DISABLED_SECONDS = 60.0


def embedded_text(message: Message) -> str:
    """``Author: text [image: caption]``, what recall compares with; empty if the message has neither text nor captions."""
    captions = f"[image: {message.captions}]" if message.captions else ""
    body = " ".join(part for part in (message.text, captions) if part)
    return f"{message.author_name}: {body}" if body else ""


def embed_entries(entries: Sequence[OutboxEntry]) -> None:
    """Handler of ``embed``. Every entry is finished, given back or marked failed; nothing is raised for a model's failure."""
    try:
        now = serving()
    except MemoryDisabled:
        outbox.hold(entries, DISABLED_SECONDS)
        return
    except ModelError as error:
        _wait_for_host(entries, error)
        return
    for start in range(0, len(entries), BATCH):
        if not _embed_batch(entries[start : start + BATCH], now.embedder, now.space):
            # The host is away for all of them.
            return


def _embed_batch(entries: Sequence[OutboxEntry], embedder: Embedder, space: EmbeddingSpace) -> bool:
    texts = _texts_to_embed(entries)
    wanted = [entry for entry in entries if texts.get(entry.subject)]
    others = [entry for entry in entries if entry.subject in texts and not texts[entry.subject]]
    with transaction.atomic():
        # A row that is gone, or whose owner withdrew, is done; so is one without anything to embed.
        outbox.finish([entry for entry in entries if entry.subject not in texts])
        Message.objects.filter(key__in=[entry.subject for entry in others]).update(
            embedding=Message.Embedding.NONE, space=None
        )
        outbox.finish(others)
    wanted = _without_paused(wanted)
    return _embed_some(wanted, texts, embedder, space) if wanted else True


def _texts_to_embed(entries: Sequence[OutboxEntry]) -> dict[int, str]:
    """Text by key, for rows that are there and whose owner still consents under the epoch of the entry."""
    messages = Message.objects.filter(key__in=[entry.subject for entry in entries])
    rows = {message.key: message for message in messages}
    owners = Member.objects.filter(user_id__in={row.member_id for row in rows.values()}, withdrawn_at=None)
    epochs = dict(owners.values_list("user_id", "epoch"))
    return {
        entry.subject: embedded_text(row)
        for entry in entries
        if (row := rows.get(entry.subject)) is not None and epochs.get(row.member_id) == entry.epoch
    }


def _without_paused(entries: Sequence[OutboxEntry]) -> list[OutboxEntry]:
    """Nothing new is stored of a member who paused, not even a vector; their entries wait."""
    users = {entry.user_id for entry in entries if entry.user_id is not None}
    paused = set(
        Member.objects.filter(user_id__in=users).exclude(paused_at=None).values_list("user_id", flat=True)
    )
    if paused:
        outbox.hold([entry for entry in entries if entry.user_id in paused], PAUSED_SECONDS)
    return [entry for entry in entries if entry.user_id not in paused]


def _embed_some(
    entries: Sequence[OutboxEntry], texts: dict[int, str], embedder: Embedder, space: EmbeddingSpace
) -> bool:
    """Embeds and writes, halving where a text is at fault. False if the host is, and everything waits."""
    if not outbox.extend(entries):
        return True  # the lease ran out or the text changed: whoever has the entries now does the work
    try:
        vectors = checked(
            embedder.embed_documents([texts[entry.subject] for entry in entries]), len(entries), space
        )
    except ModelError as error:
        if is_the_hosts_fault(error, embedder):
            _wait_for_host(entries, error)
            return False
        if len(entries) == 1:
            _give_up(entries[0], error, space)
            return True
        middle = len(entries) // 2
        halves = entries[:middle], entries[middle:]
        first = _embed_some(halves[0], texts, embedder, space)
        if not first:
            _wait_for_host(halves[1], error)
            return False
        return _embed_some(halves[1], texts, embedder, space)
    _write(entries, texts, vectors, space)
    return True


def checked(vectors: Vectors, count: int, space: EmbeddingSpace) -> Vectors:
    if vectors.shape != (count, space.dimension) or not np.isfinite(vectors).all():
        raise ModelReplyInvalid("The embedder's answer does not have the form of its model's vectors.")
    return vectors


def is_the_hosts_fault(error: ModelError, embedder: Embedder) -> bool:
    """Whether any text would have failed. Where that cannot be told from the error, a harmless text is tried."""
    if isinstance(error, ModelMissing) or (
        isinstance(error, ModelUnavailable) and not isinstance(error, ModelTimeout)
    ):
        return True
    try:
        embedder.embed_documents(["hello"])
    except ModelError:
        return True
    return False


def _wait_for_host(entries: Sequence[OutboxEntry], error: MusebotError) -> None:
    """Everything of the kind waits, with the reason to see; nothing is ever given up."""
    tries = max((entry.attempts for entry in entries), default=1)
    seconds = outbox.BACK_OFF_SECONDS[min(max(tries, 1), len(outbox.BACK_OFF_SECONDS)) - 1]
    outbox.fail(entries, error, final=False)
    outbox.postpone("embed", seconds)
    logger.warning("embedding waits for %s s: %s (%d messages given back)", seconds, error.code, len(entries))


def _give_up(entry: OutboxEntry, error: ModelError, space: EmbeddingSpace) -> None:
    """One text cannot be embedded: tried again a few times unless the model refused it, then marked."""
    final = not error.retryable or entry.attempts >= outbox.MAX_ATTEMPTS
    with transaction.atomic():
        outbox.fail([entry], error, final=final)
        if final:
            Message.objects.filter(key=entry.subject, embedding=Message.Embedding.PENDING).update(
                embedding=Message.Embedding.FAILED, space=space
            )
    logger.warning("message %d could not be embedded: %s", entry.subject, error.code)


def _write(
    entries: Sequence[OutboxEntry], texts: dict[int, str], vectors: Vectors, space: EmbeddingSpace
) -> None:
    """One transaction: consent and epoch again, the text again, then vectors, states and the end of the work."""
    by_key = {entry.subject: vector for entry, vector in zip(entries, vectors, strict=True)}
    with transaction.atomic():
        if not EmbeddingSpace.objects.filter(id=space.id, state__in=IN_USE).exists():
            outbox.hold(entries, 0)  # the model was changed meanwhile
            return
        entries = _without_paused(entries)
        messages = {row.key: row for row in Message.objects.filter(key__in=list(by_key))}
        owners = {
            (messages[entry.subject].member_id, entry.epoch) for entry in entries if entry.subject in messages
        }
        allowed_owners = {owner for owner in sorted(owners) if _may_write(*owner)}
        messages = {
            row.key: row for row in locked(Message.objects.filter(key__in=list(by_key)).order_by("key"))
        }
        allowed = [
            entry
            for entry in entries
            if entry.subject in messages
            and (messages[entry.subject].member_id, entry.epoch) in allowed_owners
        ]
        same = [entry for entry in allowed if embedded_text(messages[entry.subject]) == texts[entry.subject]]
        changed = [entry for entry in allowed if entry not in same]
        rows = [
            VectorRow(
                key=entry.subject, channel=messages[entry.subject].channel_id, vector=by_key[entry.subject]
            )
            for entry in same
        ]
        backends.vector_index(space).add(rows)
        for other in EmbeddingSpace.objects.exclude(id=space.id):
            # Made from what the text was before; whoever builds the other space sees that it lacks this one.
            backends.vector_index(other).remove([row.key for row in rows])
        Message.objects.filter(key__in=[row.key for row in rows]).update(
            embedding=Message.Embedding.DONE, space=space
        )
        outbox.finish([entry for entry in entries if entry not in changed])
        outbox.hold(changed, 0)


def _may_write(user_id: int, epoch: int) -> bool:
    try:
        consent.require(consent.Consent(user_id, epoch))
    except (ConsentMissing, StaleEpoch):
        return False
    return True
