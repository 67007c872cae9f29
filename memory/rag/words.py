"""Vectors of single words: how near two words are in meaning. Only with an embedder that is in this process.

They are stored, since making one takes as long as embedding a sentence, and kept in memory while they are used.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterable, Sequence

import numpy as np
from django.db import connection, transaction

from memory.index import chunks as index
from memory.index.base import Vector
from memory.index.sql import among_texts, array
from memory.llm.base import Embedder, Vectors
from memory.models import DocumentWord
from memory.rag.coverage import _words as words_of
from memory.rag.spaces import Space

BATCH = 256
MOST_KEPT = 20_000
"""Words in memory, two kilobytes each: as they are used, since making them of the stored half as many bytes takes longer."""
LOOK_AGAIN = 60.0
"""Seconds that a word without a vector is taken to have none."""

_lock = threading.Lock()


class _Kept:
    """Vectors in the rows of one matrix, which grows; row 0 is that of unknown words."""

    def __init__(self, space: str, dimension: int) -> None:
        self.space = space
        self.place: dict[str, int] = {}
        self.rows = np.zeros((4096, dimension), dtype=np.float32)
        self.used = 1
        self.looked = time.monotonic()

    def look_again(self) -> None:
        """Words without a vector are asked for anew from time to time: passages are found before their words are learnt."""
        now = time.monotonic()
        if now - self.looked > LOOK_AGAIN:
            self.place = {word: place for word, place in self.place.items() if place}
            self.looked = now

    def add(self, word: str, vector: Vector | None) -> None:
        if vector is None:
            self.place[word] = 0
            return
        if self.used == len(self.rows):
            self.rows = np.concatenate([self.rows, np.zeros_like(self.rows)])
        self.rows[self.used] = vector
        self.place[word] = self.used
        self.used += 1


_kept: _Kept | None = None


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
    global _kept
    with _lock:
        if _kept is None or _kept.space != space.id or _kept.used > MOST_KEPT:
            _kept = _Kept(space.id, space.dimension)
        kept = _kept
        kept.look_again()
        missing = set(words).difference(kept.place, fresh)
        if missing:
            found = _stored(missing, space)
            for word in missing:
                kept.add(word, found.get(word))
        places = [kept.place.get(word, 0) for word in words]
        known: Vectors = kept.rows[places]
    for word in fresh.keys() & set(words):
        known[words.index(word)] = fresh[word]
    return known


def _stored(words: Collection[str], space: Space, *, only_words: bool = False) -> dict[str, Vector]:
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT stored.word, {'NULL' if only_words else 'stored.vector'} FROM {among_texts()} "
            "CROSS JOIN memory_documentword AS stored WHERE stored.space = %s AND stored.word = wanted.value",
            (array(words), space.id),
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
        if _kept is not None:
            for word in gone:
                _kept.place.pop(word, None)
