"""An embedder without a model: words and their fragments, hashed. For tests, and where nothing else can run."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from memory.llm.base import EmbedderIdentity, Vectors
from memory.llm.batches import clean

_WORD = re.compile(r"\w+")
MAX_CHARACTERS = 20_000


class HashEmbedder:
    """Deterministic on every machine: blake2b of words and of character 4-grams, 256 dimensions. Safe for threads."""

    def __init__(self, dimension: int = 256) -> None:
        self.dimension = dimension

    def identity(self) -> EmbedderIdentity:
        return EmbedderIdentity("hash", "", "1", self.dimension)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        rows = [self._vector(text) for text in texts]
        return np.stack(rows) if rows else np.empty((0, self.dimension), np.float32)

    def embed_query(self, text: str) -> Vectors:
        return self._vector(text)

    def check(self) -> Mapping[str, Any]:
        return {
            "ok": True,
            "model": "hash",
            "hosts": [],
            "message": "Meant for tests: it only finds the same words.",
        }

    def _vector(self, text: str) -> Vectors:
        vector = np.zeros(self.dimension, np.float64)
        for feature, weight in self._features(clean(text[:MAX_CHARACTERS])):
            digest = hashlib.blake2b(feature.encode(), digest_size=16).digest()
            for start in range(0, 16, 4):
                number = int.from_bytes(digest[start : start + 4], "big")
                vector[number % self.dimension] += weight if number >> 31 else -weight
        length = float(np.linalg.norm(vector))
        if length < 1e-9:  # no words at all, or features that cancel each other out
            vector[0] = length = 1.0
        return np.asarray(vector / length, np.float32)

    @staticmethod
    def _features(text: str) -> list[tuple[str, float]]:
        words = _WORD.findall(text.lower())
        if not words:
            return [(text, 1.0)] if text else []
        grams = [word[i : i + 4] for word in words if len(word) > 4 for i in range(len(word) - 3)]
        return [(word, 1.0) for word in words] + [("~" + gram, 0.5) for gram in grams]
