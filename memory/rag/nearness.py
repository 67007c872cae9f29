"""How near passages are to a question. Up to some thousands, their vectors are kept in this process; the index serves otherwise.

What is kept is as the database was at one mark; every write of vectors sets another, and what is kept is then loaded anew.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
from django.db import connection

from memory.index.base import Vector
from memory.llm.base import Vectors
from memory.models import InstallationState
from memory.models.documents import VERSION_SHIFT
from memory.models.fast import get
from memory.rag import frequencies
from memory.rag.spaces import Space

logger = logging.getLogger(__name__)

MARK = "documents_vectors"
MOST_KEPT = 20_000
"""Passages; both vectors of one with 512 numbers take 4 KiB."""
AT_ONCE = 1_000
"""So many are loaded while the question waits; more are loaded in the background, and the index serves meanwhile."""
LOADS_APART = 3.0
"""Seconds: while a document is embedded, every batch sets another mark."""


class Nearness(Protocol):
    """Cosines of one question."""

    def nearest(self, versions: Collection[int], k: int) -> dict[int, float]:
        """The nearest passages of these versions, by key, best first."""

    def both(self, keys: Sequence[int]) -> dict[int, tuple[float, float]]:
        """In its context and alone, of those passages that have vectors."""


def of(space: Space, vector: Vector) -> Nearness:
    kept = _current(space)
    return _Kept(kept, vector) if kept is not None else _Indexed(space, vector)


def note_change() -> None:
    """Sets another mark, in the transaction that writes vectors."""
    frequencies.forget()
    InstallationState.objects.update_or_create(name=MARK, defaults={"value": {"mark": secrets.token_hex(8)}})


@dataclass(frozen=True, slots=True)
class _Indexed:
    space: Space
    vector: Vector

    def nearest(self, versions: Collection[int], k: int) -> dict[int, float]:
        return dict(self.space.index().nearest(self.vector, versions, k))

    def both(self, keys: Sequence[int]) -> dict[int, tuple[float, float]]:
        stored = self.space.index().vectors(keys)
        if not stored:
            return {}
        own = np.array([one for one, _ in stored.values()]) @ self.vector
        plain = np.array([other for _, other in stored.values()]) @ self.vector
        return {key: (float(a), float(b)) for key, a, b in zip(stored, own, plain, strict=True)}


@dataclass(frozen=True, slots=True)
class _Matrix:
    """Vectors of all passages of a space, as they were at a mark."""

    space: str
    mark: str
    keys: npt.NDArray[np.int64]
    versions: npt.NDArray[np.int64]
    """The distinct ones."""
    version: npt.NDArray[np.int64]
    """Which of them each passage is of."""
    place: dict[int, int]
    context: Vectors
    plain: Vectors


@dataclass(slots=True)
class _Kept:
    matrix: _Matrix
    vector: Vector
    cosines: Vectors | None = None

    def nearest(self, versions: Collection[int], k: int) -> dict[int, float]:
        cosines = self._context()
        allowed = np.isin(self.matrix.versions, list(versions))[self.matrix.version]
        if not allowed.all():
            cosines = np.where(allowed, cosines, -2.0)
        k = min(k, int(allowed.sum()))
        if k <= 0:
            return {}
        best = np.argpartition(-cosines, k - 1)[:k]
        best = best[np.argsort(-cosines[best], kind="stable")]
        return {int(self.matrix.keys[at]): float(cosines[at]) for at in best}

    def both(self, keys: Sequence[int]) -> dict[int, tuple[float, float]]:
        known = [key for key in keys if key in self.matrix.place]
        rows = [self.matrix.place[key] for key in known]
        own, plain = self._context()[rows], self.matrix.plain[rows] @ self.vector
        return {key: (float(a), float(b)) for key, a, b in zip(known, own, plain, strict=True)}

    def _context(self) -> Vectors:
        if self.cosines is None:
            self.cosines = self.matrix.context @ self.vector
        return self.cosines


_lock = threading.Lock()
_matrix: _Matrix | None = None
_loading = False
_loaded_at = 0.0


def _current(space: Space) -> _Matrix | None:
    """What is kept, if it is as the database is; None where the index has to serve."""
    global _loading
    row = get(InstallationState, name=MARK)
    mark = str(row.value.get("mark", "")) if row is not None else ""
    if not mark:
        return None
    kept = _matrix
    if kept is not None and kept.space == space.id and kept.mark == mark:
        return kept
    count = space.index().count()
    if not 0 < count <= MOST_KEPT:
        return None
    if count <= AT_ONCE:
        return _load(space, mark)
    with _lock:
        if _loading or time.monotonic() - _loaded_at < LOADS_APART:
            return None
        _loading = True
    threading.Thread(target=_load_aside, args=(space, mark), name="document-vectors", daemon=True).start()
    return None


def _load_aside(space: Space, mark: str) -> None:
    global _loading, _loaded_at
    try:
        _load(space, mark)
    except Exception as error:  # the index serves
        logger.warning("the vectors of documents could not be kept: %s", type(error).__name__)
    finally:
        with _lock:
            _loading, _loaded_at = False, time.monotonic()
        connection.close()


def _load(space: Space, mark: str) -> _Matrix:
    """Reads all vectors. What is written meanwhile has set another mark by the time that anybody asks again."""
    global _matrix
    keys, context, plain = space.index().everything()
    versions, version = np.unique(keys >> VERSION_SHIFT, return_inverse=True)
    found = _Matrix(
        space.id,
        mark,
        keys,
        versions,
        version,
        {int(key): at for at, key in enumerate(keys)},
        context,
        plain,
    )
    _matrix = found
    return found
