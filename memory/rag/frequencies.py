"""In how many passages a word stands. Counted by the index, and kept for a minute: it weighs words, and need not be exact."""

from __future__ import annotations

import threading
import time

from memory.index import chunks as index
from memory.models import Chunk
from memory.rag.coverage import Frequencies

SECONDS = 60.0
MOST = 20_000

_lock = threading.Lock()
_counts: dict[str, int] = {}
_total = 0
_until = 0.0


def current() -> Frequencies:
    global _total, _until
    with _lock:
        if time.monotonic() > _until or len(_counts) > MOST:
            _counts.clear()
            _total = max(Chunk.objects.count(), 1)
            _until = time.monotonic() + SECONDS
        return Frequencies(_count, _total)


def telling(words: list[str]) -> list[str]:
    """The words without those that stand in half of all passages: BM25 gives these nothing, and they match everything."""
    frequencies = current()
    rare = [word for word in words if frequencies.of(word) * 2 < frequencies.total]
    return rare or words


def _count(word: str) -> int:
    found = _counts.get(word)
    if found is None:
        found = _counts[word] = index.count_with(word)
    return found


def forget() -> None:
    """Counts anew from now on."""
    global _until
    _until = 0.0
