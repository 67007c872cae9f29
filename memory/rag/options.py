"""What retrieval takes and gives: hits, filters, the protocol of a retriever, and functions that the configuration names."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from memory.conf import RagSettings
from memory.errors import ConfigurationError


class Signal(Protocol):
    """Tells a retriever to stop; ``threading.Event`` is one."""

    def is_set(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Filters:
    """Which documents may be found. They are applied before anything is ranked."""

    guild_id: int | None = None
    """Discord's id of the server that asks; None: documents that answer everywhere."""
    everything: bool = False
    """Documents of all servers, for operators."""
    documents: tuple[int, ...] | None = None
    """Only these, by id."""
    use_vectors: bool = True
    """False where the question must not be embedded."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that was found."""

    text: str
    score: float = 0.0
    scores: Mapping[str, float] = field(default_factory=dict)
    """Its parts by name: ``vector`` (cosine), ``keyword`` (BM25), ``fused``, …"""
    source: str = ""
    section: str = ""
    citation: str = ""
    """``faq.md › Shipping``, ``manual.pdf › p. 12``."""
    id: str = ""
    document_id: str = ""
    index: int = 0
    """Its place in the document, from 0."""
    why_excluded: str = ""
    """Where it was left out: ``score``, ``top_k``, ``duplicate``, ``budget``."""

    @property
    def label(self) -> str:
        return self.citation or self.source or "?"

    def to_json(self) -> dict[str, Any]:
        return {
            "text": self.text,
            "score": self.score,
            "scores": dict(self.scores),
            "source": self.source,
            "section": self.section,
            "citation": self.citation,
            "id": self.id,
            "document_id": self.document_id,
            "index": self.index,
        }


@dataclass(frozen=True, slots=True)
class Found:
    """Everything that a retrieval considered."""

    hits: tuple[Hit, ...] = ()
    left_out: tuple[Hit, ...] = ()
    degraded: str = ""
    """``no_vectors``, ``timeout``, ``error``; empty if nothing was missing."""
    timings: Mapping[str, float] = field(default_factory=dict)
    """Milliseconds by stage."""


class Retriever(Protocol):
    """Anything that finds passages. One that also takes ``filters`` is told the server; any other has to know its own limits.

    ``warmup()`` is called at the start where there is one; that it fails is logged and no more.
    """

    def retrieve(
        self,
        query: str,
        top_k: int | None = None,
        min_score: float | None = None,
        signal: Signal | None = None,
    ) -> Sequence[Any]:
        """Passages, best first: ``Hit``, or anything with ``text`` and perhaps ``source``, ``citation`` and ``score``."""


def as_hit(value: Any) -> Hit:
    """A passage of another retriever: an object or a mapping with ``text``."""
    if isinstance(value, Hit):
        return value
    given = value if isinstance(value, Mapping) else {name: getattr(value, name, None) for name in _FIELDS}
    score = given.get("score")
    source = str(given.get("source") or "")
    return Hit(
        text=str(given.get("text") or ""),
        score=float(score) if score is not None else 0.0,
        scores=dict(given.get("scores") or {}),
        source=source,
        section=str(given.get("section") or ""),
        citation=str(given.get("citation") or source),
        id=str(given.get("id") or ""),
        document_id=str(given.get("document_id") or ""),
        index=int(given.get("index") or 0),
    )


_FIELDS = ("text", "score", "scores", "source", "section", "citation", "id", "document_id", "index")


def named_function(setting: str, path: str) -> Callable[..., Any]:
    """What ``package.module:function`` names. Raises ``ConfigurationError``."""
    module, _, name = path.partition(":")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ConfigurationError(f"{setting} names {path}, and there is no such function.") from error
    if not callable(found):
        raise ConfigurationError(f"{setting} names {path}, which cannot be called.")
    return found  # type: ignore[no-any-return]


def checked(settings: RagSettings, **given: Any) -> RagSettings:
    """The settings with some options changed. Raises ``RagError`` (``INVALID_OPTIONS``) for what cannot work."""
    from pydantic import ValidationError

    from memory.rag.errors import RagError

    try:
        return RagSettings.model_validate(
            {**settings.model_dump(), **{name: value for name, value in given.items() if value is not None}}
        )
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"]))
        reason = str(first["msg"]).removeprefix("Value error, ")
        raise RagError("INVALID_OPTIONS", f"{name} cannot be used: {reason}.", field=name) from error
