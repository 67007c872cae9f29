"""The vector of a question. It is made beside the search for words, and never waited for longer than there is time."""

from __future__ import annotations

import logging
from concurrent.futures import Future, ThreadPoolExecutor, TimeoutError
from dataclasses import dataclass

from memory import backends
from memory.errors import MusebotError
from memory.index.base import Vector, VectorIndex
from memory.llm.base import EmbedderIdentity
from memory.models import EmbeddingSpace
from memory.models.fast import latest

logger = logging.getLogger(__name__)

NO_VECTORS = "no_vectors"
TIMEOUT = "timeout"

# An embedder may wait for a host; the thread that answers a person does not wait with it.
_pool = ThreadPoolExecutor(max_workers=8, thread_name_prefix="embed-question")


@dataclass(frozen=True, slots=True)
class QuestionVector:
    vector: Vector
    index: VectorIndex
    identity: EmbedderIdentity


def active_space() -> EmbeddingSpace | None:
    """The space whose vectors serve now; None while there is none."""
    return latest(EmbeddingSpace, state=str(EmbeddingSpace.State.ACTIVE))


class Question:
    """A question on its way to a vector; making the object begins it."""

    def __init__(self, text: str) -> None:
        self._space = active_space()
        self._future: Future[tuple[EmbedderIdentity, Vector]] | None = None
        if self._space is not None and text.strip():
            self._future = _pool.submit(_embed, self._space, text)

    def wait(self, seconds: float) -> tuple[QuestionVector | None, str]:
        """The vector, or None and the reason: ``no_vectors`` (none stored, or the embedder fails), ``timeout``."""
        if self._future is None or self._space is None:
            return None, NO_VECTORS
        try:
            identity, vector = self._future.result(timeout=max(seconds, 0.0))
        except TimeoutError:
            self._future.cancel()
            return None, TIMEOUT
        except MusebotError as error:
            logger.info("recall goes on with words alone: %s", error.code)
            return None, NO_VECTORS
        if not _same(identity, self._space):
            # The model of the vectors is gone: those of another must not be compared.
            return None, NO_VECTORS
        return QuestionVector(vector, backends.vector_index(self._space), identity), ""


def _embed(space: EmbeddingSpace, text: str) -> tuple[EmbedderIdentity, Vector]:
    """By the model of the vectors, which is not the configured one while those of that one are being built."""
    embedder = backends.embedder_of(space)
    return embedder.identity(), embedder.embed_query(text)


def _same(identity: EmbedderIdentity, space: EmbeddingSpace) -> bool:
    return (identity.provider, identity.name, identity.digest, identity.dimension) == (
        space.provider,
        space.name,
        space.digest,
        space.dimension,
    )
