"""How far a build is: kept with the batch that it describes, read by the dashboard."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any

from django.db import transaction

from memory import backends
from memory.embedding.spaces import STATE
from memory.models import EmbeddingSpace, InstallationState, Message


@dataclass(frozen=True, slots=True)
class Progress:
    """One build. Times are seconds."""

    space: int
    after: int = -1
    """Key up to which the present pass has looked."""
    passes: int = 0
    found: int = 0
    """Vectors written in the present pass."""
    written: int = 0
    """Vectors written in all."""
    seconds: float = 0.0
    """Time that embedding them took."""
    total: int = 0
    """Messages to embed, as counted when the pass began."""
    settled: int = -1
    refused: frozenset[int] = field(default_factory=frozenset)
    """Messages that the model would not embed."""
    words_only: bool = False
    """The older model answers no more, so that words alone serve."""

    @classmethod
    def load(cls, space: EmbeddingSpace) -> Progress:
        row = InstallationState.objects.filter(name=STATE).first()
        value: dict[str, Any] = dict(row.value) if row else {}
        if value.get("space", space.pk) != space.pk:
            return cls(space.pk)
        value |= {"space": space.pk, "refused": frozenset(value.get("refused", ()))}
        return cls(**value)

    def _keep(self) -> Progress:
        value = {**asdict(self), "refused": sorted(self.refused)}
        InstallationState.objects.update_or_create(name=STATE, defaults={"value": value})
        return self

    @classmethod
    def begin_pass(cls, space: EmbeddingSpace) -> Progress:
        total = Message.objects.exclude(embedding=Message.Embedding.NONE).count()
        with transaction.atomic():
            before = cls.load(space)
            return replace(before, after=-1, found=0, passes=before.passes + 1, total=total)._keep()

    @classmethod
    def reached(cls, space: EmbeddingSpace, after: int) -> None:
        with transaction.atomic():
            replace(cls.load(space), after=after)._keep()

    @classmethod
    def wrote(cls, space: EmbeddingSpace, count: int, seconds: float) -> None:
        now = cls.load(space)
        replace(
            now, found=now.found + count, written=now.written + count, seconds=now.seconds + seconds
        )._keep()

    @classmethod
    def refuse(cls, space: EmbeddingSpace, key: int) -> int:
        """Notes a message that the model would not embed; returns how many there are."""
        with transaction.atomic():
            now = cls.load(space)
            return len(replace(now, refused=now.refused | {key})._keep().refused)

    @classmethod
    def begin_settling(cls, space: EmbeddingSpace) -> None:
        replace(cls.load(space), settled=-1)._keep()

    @classmethod
    def settled_to(cls, space: EmbeddingSpace, key: int) -> None:
        replace(cls.load(space), settled=key)._keep()

    @classmethod
    def end(cls) -> None:
        InstallationState.objects.filter(name=STATE).delete()

    def done(self, space: EmbeddingSpace) -> int:
        """Vectors that are there."""
        return backends.vector_index(space).count()
