"""Compares the indexes and the folder of documents with the rows, which are the truth, and mends what differs."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from memory import outbox
from memory.index import chunks as index
from memory.models import Chunk, DocumentVersion, InstallationState, OutboxEntry
from memory.rag import configured, files, ingest, spaces
from memory.rag.documents import BUSY, INGEST
from memory.rag.ingest import REINDEX

logger = logging.getLogger(__name__)

SCAN = "scan_documents"
"""Kind of work; its subject is always 1."""
EVERY = timedelta(days=1)
STATE = "documents_scan"


def note_if_due() -> None:
    """For the sweep: once a day the scan, and the rebuild of vectors where another model is configured."""
    last = InstallationState.objects.filter(name=STATE).first()
    if last is None or last.at < timezone.now() - EVERY:
        with transaction.atomic():
            InstallationState.objects.update_or_create(name=STATE, defaults={"value": {}})
            if DocumentVersion.objects.exists():
                outbox.enqueue(SCAN, [1])
    ingest.note_if_due()
    configured.note_if_due()


def scan_entries(entries: Sequence[OutboxEntry]) -> None:
    """Handler of ``scan_documents``."""
    scan()
    outbox.finish(entries)


def scan(*, mend: bool = True) -> dict[str, int]:
    """What does not fit together, by kind; empty if all does. With ``mend`` it does afterwards.

    ``INVALID_INDEX`` in the log says that there was something.
    """
    found = {
        "rows_without_words": _rows_without_words(mend),
        "words_without_rows": _words_without_rows(mend),
        **_vectors(mend),
        "files_without_rows": _files(mend),
        "work_lost": _work(mend),
    }
    wrong = {name: count for name, count in found.items() if count}
    if wrong:
        logger.warning("INVALID_INDEX: %s", ", ".join(f"{name} {count}" for name, count in wrong.items()))
    return wrong


def _words_without_rows(mend: bool) -> int:
    stray = index.word_keys_without_rows()
    sound = bool(stray) or index.sound_words()
    if mend and (stray or not sound):
        # The words of a row that is gone are not known any more, so the index is made anew.
        index.rebuild_words()
    return len(stray) or int(not sound)


def _rows_without_words(mend: bool) -> int:
    total = 0
    while missing := index.rows_without_words():
        total += len(missing)
        if not mend:
            break
        index.add_words(missing)
    return total


def _vectors(mend: bool) -> dict[str, int]:
    space = spaces.serving()
    if space is None or not space.index().exists():
        return {}
    vectors, stray, missing = space.index(), 0, 0
    while keys := vectors.keys_without_rows():
        stray += len(keys)
        if not mend:
            break
        vectors.remove(keys)
    while keys := vectors.rows_without_vectors(space.id):
        missing += len(keys)
        if not mend:
            break
        with transaction.atomic():
            Chunk.objects.filter(key__in=keys).update(embedding=Chunk.Embedding.PENDING, space="")
            outbox.enqueue(REINDEX, [1])
    return {"vectors_without_rows": stray, "rows_without_vectors": missing}


def _files(mend: bool) -> int:
    stray = files.orphans(set(DocumentVersion.objects.values_list("stored_name", flat=True)))
    for name in stray if mend else ():
        files.remove(name)
    return len(stray)


def _work(mend: bool) -> int:
    """Versions that are on their way and that no work is queued for."""
    busy = set(DocumentVersion.objects.filter(state__in=BUSY).values_list("pk", flat=True))
    lost = busy - set(OutboxEntry.objects.filter(kind=INGEST).values_list("subject", flat=True))
    if lost and mend:
        with transaction.atomic():
            outbox.enqueue(INGEST, sorted(lost))
    return len(lost)
