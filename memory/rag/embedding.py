"""Vectors of passages: the same text keeps its vectors, the rest is embedded in batches outside any transaction."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from memory.errors import ModelError, ModelMissing, ModelReplyInvalid, ModelUnavailable
from memory.index.base import Vector
from memory.llm.base import Embedder
from memory.models import Chunk
from memory.rag import store, words
from memory.rag.context import embedded_text
from memory.rag.spaces import Space

BATCH = 32
Pair = tuple[Vector, Vector]
"""A passage in its context, and its text alone."""


def embed(version_id: int, rows: Sequence[Chunk], embedder: Embedder, space: Space) -> int:
    """Gives passages their vectors; returns how many passages the model was asked for. ``rows`` come with their versions.

    Raises ``ModelError`` where the model's host is at fault. A text that the model refuses stays without a vector.
    """
    kept = _kept({row.text_hash for row in rows}, space)
    wanted: dict[str, tuple[str, str]] = {}
    for row in rows:
        if row.text_hash not in kept:
            wanted.setdefault(row.text_hash, (row.text, store.context_of(row)))
    fresh = _pairs(wanted, embedder, space) if wanted else {}
    if wanted and words.serves(space):
        words.learn((embedded_text(*each) for each in wanted.values()), embedder, space)
    known = kept | fresh
    found = [(row.key, *known[row.text_hash]) for row in rows if row.text_hash in known]
    store.write_vectors(version_id, found, space, embedded=len(fresh))
    refused = [row.key for row in rows if row.text_hash not in known]
    Chunk.objects.filter(key__in=refused).update(embedding=Chunk.Embedding.FAILED)
    return len(fresh)


def _kept(hashes: set[str], space: Space) -> dict[str, Pair]:
    """Vectors of the same texts, of any document."""
    same = Chunk.objects.filter(text_hash__in=hashes, embedding=Chunk.Embedding.DONE, space=space.id)
    key_of = dict(same.values_list("text_hash", "key"))
    if not key_of:
        return {}
    stored = space.index().vectors(list(key_of.values()))
    return {text_hash: stored[key] for text_hash, key in key_of.items() if key in stored}


def _pairs(texts: dict[str, tuple[str, str]], embedder: Embedder, space: Space) -> dict[str, Pair]:
    """Both vectors with the built-in embedder. Others are asked once for a passage: in its context, which stands for both."""
    in_context = _vectors([(name, embedded_text(*text)) for name, text in texts.items()], embedder, space)
    if not words.serves(space):
        return {name: (vector, vector) for name, vector in in_context.items()}
    alone = _vectors([(name, text) for name, (text, _) in texts.items()], embedder, space)
    return {name: (vector, alone[name]) for name, vector in in_context.items() if name in alone}


def _vectors(texts: Sequence[tuple[str, str]], embedder: Embedder, space: Space) -> dict[str, Vector]:
    try:
        found = embedder.embed_documents([text for _, text in texts])
        if found.shape != (len(texts), space.dimension) or not np.isfinite(found).all():
            raise ModelReplyInvalid("The embedder's answer does not have the form of its model's vectors.")
    except (ModelUnavailable, ModelMissing):
        raise
    except ModelError:
        if len(texts) == 1:
            embedder.embed_documents(["hello"])  # raises where any text would have failed
            return {}
        middle = len(texts) // 2
        return _vectors(texts[:middle], embedder, space) | _vectors(texts[middle:], embedder, space)
    return {name: vector for (name, _), vector in zip(texts, found, strict=True)}
