"""Models that say what they are told to and remember what they were asked. Public, for tests of what is built on Musebot.

model = ScriptedChatModel(["Hello.", "Bye."])
with backends.override(chat_model=model):
    ...
assert "Ada" in model.requests[0].messages[-1].content
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from memory.errors import InvalidInput
from memory.llm.base import ChatChunk, ChatRequest, EmbedderIdentity, ToolCall, Vectors
from memory.llm.batches import unit_vectors
from memory.llm.hashing import HashEmbedder
from memory.llm.tokens import count_tokens


@dataclass(frozen=True, slots=True)
class ScriptedReply:
    """One answer. With ``error``, it is raised after ``after`` pieces instead of the rest."""

    text: str = ""
    done_reason: str = "stop"
    error: Exception | None = None
    after: int = 0
    tool_calls: tuple[ToolCall, ...] = ()
    """Called after the text, if the request offers tools."""


Reply = str | Exception | ScriptedReply
Script = Sequence[Reply] | Callable[[ChatRequest], Reply]


class ScriptedChatModel:
    """Replies from a list, one a request (the last one again and again), or from a function of the request.

    ``requests`` holds every request, ``closed`` counts streams that were closed before their end. It takes tools if ``tools`` says
    so, or if a reply of the list calls one.
    """

    def __init__(
        self,
        replies: Script = ("OK.",),
        *,
        name: str = "scripted",
        context_window: int = 8192,
        chunk_characters: int = 8,
        tools: bool | None = None,
    ) -> None:
        self.name = name
        self.context_window = context_window
        self.chunk_characters = chunk_characters
        self.requests: list[ChatRequest] = []
        self.closed = 0
        self._replies = replies if callable(replies) else list(replies)
        self._tools = tools if tools is not None else _calls_tools(replies)
        self._failures: list[ScriptedReply] = []
        self._lock = threading.Lock()

    def takes_tools(self) -> bool:
        return self._tools

    def fail(self, error: Exception, *, after: int = 0, times: int = 1) -> None:
        """The next ``times`` requests raise this after ``after`` pieces; then the script goes on where it was."""
        self._failures += [ScriptedReply("partial answer, " * (after + 1), error=error, after=after)] * times

    def stream(self, request: ChatRequest) -> Iterator[ChatChunk]:
        if not request.messages:
            raise InvalidInput("A chat request needs at least one message.")
        with self._lock:
            self.requests.append(request)
            failure = self._failures.pop(0) if self._failures else None
            reply = failure or self._next(request)
        try:
            yield from self._pieces(request, reply)
        except GeneratorExit:
            self.closed += 1
            raise

    def _next(self, request: ChatRequest) -> ScriptedReply:
        if callable(self._replies):
            reply: Reply = self._replies(request)
        elif not self._replies:
            reply = ""
        else:
            reply = self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]
        if isinstance(reply, Exception):
            return ScriptedReply(error=reply)
        return reply if isinstance(reply, ScriptedReply) else ScriptedReply(reply)

    def _pieces(self, request: ChatRequest, reply: ScriptedReply) -> Iterator[ChatChunk]:
        size = self.chunk_characters
        pieces = [reply.text[i : i + size] for i in range(0, len(reply.text), size)]
        for number, piece in enumerate(pieces):
            if reply.error and number >= reply.after:
                break
            yield ChatChunk(text=piece, host="scripted", model=self.name)
        if reply.error:
            raise reply.error
        if reply.tool_calls and request.tools:
            yield ChatChunk(tool_calls=reply.tool_calls, host="scripted", model=self.name)
        yield ChatChunk(
            done=True,
            done_reason=reply.done_reason,
            host="scripted",
            model=self.name,
            prompt_tokens=sum(self.count_tokens(message.content) for message in request.messages),
            reply_tokens=self.count_tokens(reply.text),
        )

    def count_tokens(self, text: str) -> int:
        return count_tokens(text)

    def check(self) -> Mapping[str, Any]:
        return {"ok": True, "model": self.name, "hosts": [], "message": ""}


def _calls_tools(replies: Script) -> bool:
    return not callable(replies) and any(
        isinstance(reply, ScriptedReply) and bool(reply.tool_calls) for reply in replies
    )


class ScriptedEmbedder:
    """Vectors by text where given, those of the hashing embedder otherwise. ``documents`` and ``queries`` hold what was asked."""

    def __init__(
        self,
        vectors: Mapping[str, Sequence[float]] | None = None,
        *,
        dimension: int = 256,
        name: str = "scripted",
        digest: str = "1",
    ) -> None:
        self.name, self.digest, self.dimension = name, digest, dimension
        self.documents: list[str] = []
        self.queries: list[str] = []
        self._vectors = {
            text: unit_vectors([row], count=1, dimension=dimension)[0]
            for text, row in (vectors or {}).items()
        }
        self._hashing = HashEmbedder(dimension)
        self._failures: list[Exception] = []
        self._lock = threading.Lock()

    def fail(self, error: Exception, *, times: int = 1) -> None:
        """The next ``times`` calls raise this."""
        self._failures += [error] * times

    def identity(self) -> EmbedderIdentity:
        return EmbedderIdentity("scripted", self.name, self.digest, self.dimension)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        with self._lock:
            self.documents += texts
        self._fail_if_ordered()
        rows = [self._vector(text) for text in texts]
        return np.stack(rows) if rows else np.empty((0, self.dimension), np.float32)

    def embed_query(self, text: str) -> Vectors:
        with self._lock:
            self.queries.append(text)
        self._fail_if_ordered()
        return self._vector(text)

    def check(self) -> Mapping[str, Any]:
        return {"ok": True, "model": self.name, "hosts": [], "message": ""}

    def _vector(self, text: str) -> Vectors:
        return self._vectors[text] if text in self._vectors else self._hashing.embed_query(text)

    def _fail_if_ordered(self) -> None:
        with self._lock:
            error = self._failures.pop(0) if self._failures else None
        if error:
            raise error
