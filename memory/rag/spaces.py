"""Which vectors of passages there are, and which of them serve.

While another model's vectors are built, the older ones serve: their model embeds the questions, as long as it still answers.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass

from memory import backends
from memory.conf import ModelRef
from memory.index.chunks import ChunkVectors, VectorTable, vector_tables
from memory.llm.base import Embedder, EmbedderIdentity
from memory.models import InstallationState
from memory.models.fast import get

STATE = "documents_index"


@dataclass(frozen=True, slots=True)
class Space:
    """One model's vectors. Those of different spaces are never compared."""

    provider: str
    name: str
    digest: str
    dimension: int

    @classmethod
    def of(cls, identity: EmbedderIdentity) -> Space:
        return cls(identity.provider, identity.name, identity.digest, identity.dimension)

    @property
    def id(self) -> str:
        """Twelve hexadecimal digits."""
        text = f"{self.provider}\n{self.name}\n{self.digest}\n{self.dimension}"
        return f"1{hashlib.sha256(text.encode()).hexdigest()[:11]}"

    def index(self) -> VectorTable:
        return ChunkVectors(self.id, self.dimension)

    def __str__(self) -> str:
        return f"{self.provider}:{self.name}" if self.name else self.provider


def serving() -> Space | None:
    """The space that questions are compared with; None until there is one."""
    row = get(InstallationState, name=STATE)
    return Space(**row.value) if row is not None and row.value else None


def serve(space: Space) -> None:
    """The switch to another space. Indexes of others are dropped; call it in a transaction."""
    space.index().create()
    InstallationState.objects.update_or_create(name=STATE, defaults={"value": asdict(space)})
    for table in vector_tables():
        if table != space.index().table:
            ChunkVectors(table.rsplit("_", 1)[1], 1).drop()


def embedder_of(space: Space) -> Embedder:
    """The model of these vectors: the configured one, or an older one by its name.

    Raises ``MemoryDisabled``, or ``ModelError`` where it does not answer or is another build.
    """
    embedder = backends.embedder()
    if Space.of(embedder.identity()) == space:
        return embedder
    return backends.embedder_for(_reference(space))


def _reference(space: Space) -> ModelRef:
    built_in = space.provider in {"local", "hash"}
    return ModelRef(provider=space.provider, name="" if built_in else space.name)  # type: ignore[arg-type]
