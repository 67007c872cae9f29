"""Vectors of single words: how near two words are in meaning. Only with an embedder that is in this process.

They are stored, since making one takes as long as embedding a sentence, and kept in memory while they are used.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Collection, Iterable, Sequence

import numpy as np
from django.db import connection, transaction

from memory.index import chunks as index
from memory.index.base import Vector
from memory.llm.base import Embedder, Vectors
from memory.models import DocumentWord
from memory.rag.coverage import _words as words_of
from memory.rag.spaces import Space

BATCH = 256
MOST_KEPT = 40_000
"""Words in memory, a kilobyte each."""

_lock = threading.Lock()
_kept: dict[str, Vector] = {}
_kept_space = ""


def serves(space: Space) -> bool:
    """Whether single words are embedded too."""
    return space.provider == "local"


def learn(texts: Iterable[str], embedder: Embedder, space: Space) -> None:
    """Embeds and stores the words of texts that are not known yet. Raises ``ModelError``."""
    wanted = set().union(*(words_of(text) for text in texts))
    wanted -= set(_stored(wanted, space, only_words=True))
    todo = sorted(wanted)
    for start in range(0, len(todo), BATCH):
        some = todo[start : start + BATCH]
        found = np.asarray(embedder.embed_documents(some), dtype="<f2")
        rows = [
            DocumentWord(word=word, space=space.id, vector=vector.tobytes())
            for word, vector in zip(some, found, strict=True)
        ]
        with transaction.atomic():
            DocumentWord.objects.bulk_create(rows, ignore_conflicts=True)


def vectors(words: Sequence[str], space: Space, fresh: dict[str, Vector]) -> Vectors:
    """Unit vectors in order, zeros where there is none; ``fresh`` are those of the question."""
    global _kept_space
    with _lock:
        if _kept_space != space.id or len(_kept) > MOST_KEPT:
            _kept.clear()
            _kept_space = space.id
        missing = [word for word in words if word not in _kept and word not in fresh]
    if missing:
        found = _stored(missing, space)
        with _lock:
            for word in missing:
                _kept[word] = found.get(word, _nothing(space))
    nothing = _nothing(space)
    return np.array([fresh.get(word, _kept.get(word, nothing)) for word in words], dtype=np.float32)


def _nothing(space: Space) -> Vector:
    return np.zeros(space.dimension, dtype="<f2")


def _stored(words: Collection[str], space: Space, *, only_words: bool = False) -> dict[str, Vector]:
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT stored.word, {'NULL' if only_words else 'stored.vector'} FROM json_each(%s) AS wanted "
            "CROSS JOIN memory_documentword AS stored ON stored.space = %s AND stored.word = wanted.value",
            (json.dumps(list(words)), space.id),
        )
        if only_words:
            return dict(cursor.fetchall())
        return {word: np.frombuffer(blob, dtype="<f2") for word, blob in cursor.fetchall()}


def forget(texts: Iterable[str]) -> None:
    """Removes the words of texts that stand in no passage any more; part of the transaction that deleted these."""
    words = set().union(*(words_of(text) for text in texts))
    gone = [word for word in words if not index.count_with(word)]
    for start in range(0, len(gone), 500):
        DocumentWord.objects.filter(word__in=gone[start : start + 500]).delete()
    with _lock:
        for word in gone:
            _kept.pop(word, None)
