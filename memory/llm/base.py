"""What a model can do for us, whoever serves it. Implementations are synchronous and safe to call from several threads.

Every failure is one of ``memory.errors``: ``ModelUnavailable`` and ``ModelTimeout`` (try later), ``ModelMissing``,
``ModelRejected``, ``ContextTooLong`` and ``ModelReplyInvalid``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from memory.llm.markers import without_markers

Vectors = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class EmbedderIdentity:
    """Which vectors these are. Vectors of different identities are never compared."""

    provider: str
    name: str
    digest: str
    """What the model was built from: two builds of one name give different vectors."""
    dimension: int


class Embedder(Protocol):
    """Texts to unit vectors."""

    def identity(self) -> EmbedderIdentity:
        """May ask the host (for its digest and dimension); raises ``ModelUnavailable`` while it does not answer."""

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors of shape ``(len(texts), dimension)``, float32, in order; the model's document prefix is added here."""

    def embed_query(self, text: str) -> Vectors:
        """One unit vector of shape ``(dimension,)``, float32; the model's query prefix is added here."""

    def check(self) -> Mapping[str, Any]:
        """What the dashboard shows, as ``ChatModel.check``."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """What a model wants to have done. Nothing in it is checked yet."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    id: str = ""
    """As the server gave it; many give none."""
    malformed: bool = False
    """The arguments could not be read."""

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "arguments": dict(self.arguments)}


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """``name`` and ``tool_call_id`` say which call a message of the role ``tool`` answers.

    Markers of chat templates in the content are taken apart (see ``markers``): it cannot begin a turn of another role.
    """

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    name: str = ""
    images: tuple[bytes, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "content", without_markers(self.content))

    def to_json(self) -> dict[str, Any]:
        return {
            "role": self.role,
            "content": self.content,
            **({"images": len(self.images)} if self.images else {}),
            **({"tool_calls": [call.to_json() for call in self.tool_calls]} if self.tool_calls else {}),
            **({"name": self.name} if self.role == "tool" and self.name else {}),
        }


@dataclass(frozen=True, slots=True)
class ChatRequest:
    messages: tuple[ChatMessage, ...]
    max_tokens: int = 1024
    temperature: float | None = None
    response_schema: Mapping[str, Any] | None = None
    """JSON schema that the answer has to follow; the caller still checks it."""
    tools: tuple[Mapping[str, Any], ...] = ()
    """What the model may call, as ``{"type": "function", "function": …}``; left out for models that cannot."""


@dataclass(frozen=True, slots=True)
class ChatChunk:
    """A piece of an answer; the last one carries the figures."""

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    done: bool = False
    done_reason: str = ""
    """``stop``, or ``length`` where the answer was cut."""
    host: str = ""
    model: str = ""
    prompt_tokens: int = 0
    reply_tokens: int = 0
    figures: Mapping[str, float] = field(default_factory=dict)


class ChatModel(Protocol):
    """A conversation to an answer."""

    name: str
    context_window: int
    """Tokens that prompt and answer share."""

    def stream(self, request: ChatRequest) -> Iterator[ChatChunk]:
        """Pieces of the answer as they come; closing the iterator stops the model. Ends with one ``done`` chunk.

        Before the first piece another host is tried on failure; after it the failure is raised.
        """

    def count_tokens(self, text: str) -> int:
        """An estimate that errs on the high side."""

    def takes_tools(self) -> bool:
        """Whether it can call tools, as far as is known; never raises. Where it cannot, none are sent."""

    def check(self) -> Mapping[str, Any]:
        """What the dashboard shows, freshly asked; never raises.

        ``ok``, ``model``, ``message`` (what to do, empty if all is well) and ``hosts``, for each ``host``, ``ok``, ``has_model``,
        ``busy``, ``error`` and what else is known.
        """


class VisionModel(Protocol):
    """An image to words."""

    name: str

    def describe(self, image: bytes, *, hint: str = "") -> str:
        """One or two plain sentences on what the image shows."""
