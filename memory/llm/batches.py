"""What all embedders share: clean texts, batches, checks of what came back, and shorter texts where one was too long."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from memory.errors import ContextTooLong, ModelReplyInvalid
from memory.llm.base import Vectors

BATCH = 32
MAX_CHARACTERS = 8000
"""Longer texts are cut: no model's window for one vector is much wider, and some servers refuse what does not fit."""
SHORTEST = 200

Send = Callable[[list[str]], Sequence[Sequence[float]]]


def clean(text: str) -> str:
    """The text without lone surrogates, which no encoding can carry."""
    return text.encode("utf-8", "replace").decode("utf-8")


def cut(text: str, limit: int = MAX_CHARACTERS) -> str:
    """A text that can be sent, at most ``limit`` characters long."""
    return clean(text[:limit])


def embed_in_batches(texts: Sequence[str], send: Send, *, dimension: int) -> Vectors:
    """Unit vectors of shape ``(len(texts), dimension)`` in order, ``BATCH`` texts a call.

    Raises ``ModelReplyInvalid`` for a wrong number, a wrong dimension or figures that are none.
    """
    parts = [np.empty((0, dimension), np.float32)]
    for start in range(0, len(texts), BATCH):
        batch = [cut(text) for text in texts[start : start + BATCH]]
        parts.append(_send_fitting(batch, send, dimension))
    return np.concatenate(parts)


def _send_fitting(batch: list[str], send: Send, dimension: int) -> Vectors:
    """One over-long text fails a whole call, so then each goes alone, and shorter until it fits."""
    try:
        return unit_vectors(send(batch), count=len(batch), dimension=dimension)
    except ContextTooLong:
        if len(batch) > 1:
            return np.concatenate([_send_fitting([text], send, dimension) for text in batch])
        text = batch[0]
        if len(text) <= SHORTEST:
            raise
        return _send_fitting([text[: max(SHORTEST, len(text) // 2)]], send, dimension)


def unit_vectors(raw: Sequence[Sequence[float]], *, count: int, dimension: int | None) -> Vectors:
    """What a server sent as checked float32 rows of length one; ``dimension=None`` accepts any."""
    if len(raw) != count:
        raise ModelReplyInvalid(f"The embedding model answered with {len(raw)} vectors for {count} texts.")
    if count == 0:
        return np.empty((0, dimension or 0), np.float32)
    try:
        rows = np.asarray(raw, np.float64)
    except (TypeError, ValueError) as error:
        raise ModelReplyInvalid(
            "The embedding model's vectors are not rows of numbers of one length."
        ) from error
    if rows.ndim != 2 or rows.shape[1] == 0:
        raise ModelReplyInvalid("The embedding model's vectors are empty.")
    if dimension is not None and rows.shape[1] != dimension:
        raise ModelReplyInvalid(
            f"The embedding model's vectors have {rows.shape[1]} dimensions, not {dimension} as before.",
            expected=dimension,
            got=int(rows.shape[1]),
        )
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or (lengths < 1e-12).any():
        raise ModelReplyInvalid("The embedding model's vectors hold zeros only, or what is not a number.")
    return np.ascontiguousarray(rows / lengths, np.float32)
