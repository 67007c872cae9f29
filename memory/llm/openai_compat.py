"""Chat and embedding with any server that speaks OpenAI's API."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import httpx
import numpy as np

from memory.errors import ContextTooLong, InvalidInput, ModelRejected, ModelReplyInvalid, MusebotError
from memory.llm.base import ChatChunk, ChatRequest, EmbedderIdentity, Vectors
from memory.llm.batches import embed_in_batches, unit_vectors
from memory.llm.openai_http import OpenAIServer
from memory.llm.openai_tools import CallParts, message_json
from memory.llm.prefixes import prefixes_for
from memory.llm.thinking import ThinkingFilter
from memory.llm.tokens import MESSAGE_OVERHEAD, count_tokens

CERTAINLY_TOO_LONG = 2.0


class OpenAIChat:
    """A chat model behind ``/chat/completions``."""

    def __init__(self, server: OpenAIServer, name: str, *, context_window: int) -> None:
        self.name = name
        self.context_window = context_window
        self._server = server
        self._refuses_tools = False

    def takes_tools(self) -> bool:
        """These servers do not tell; it counts as yes until a request with tools was refused."""
        return not self._refuses_tools

    def stream(self, request: ChatRequest) -> Iterator[ChatChunk]:
        if not request.messages:
            raise InvalidInput("A chat request needs at least one message.")
        estimate = sum(count_tokens(message.content) + MESSAGE_OVERHEAD for message in request.messages)
        if estimate > CERTAINLY_TOO_LONG * self.context_window:
            raise ContextTooLong(
                f"The prompt takes about {estimate} tokens, and the model's window is {self.context_window}.",
                estimate=estimate,
                window=self.context_window,
            )
        began = time.monotonic()
        response = self._open(request)
        try:
            with self._server.translated(self.name):
                yield from self._pieces(response, began)
        finally:
            response.close()

    def _open(self, request: ChatRequest) -> httpx.Response:
        try:
            return self._server.open("chat/completions", self._body(request), model=self.name)
        except ModelRejected as error:
            if not request.tools or self._refuses_tools or isinstance(error, ContextTooLong):
                raise
        response = self._server.open(
            "chat/completions", self._body(replace(request, tools=())), model=self.name
        )
        self._refuses_tools = True  # the same without them was accepted
        return response

    def _pieces(self, response: httpx.Response, began: float) -> Iterator[ChatChunk]:
        filtered = ThinkingFilter()
        reason, first_ms, ended = "", 0.0, False
        calls = CallParts()
        usage: Mapping[str, Any] = {}
        for event in self._server.events(response, model=self.name):
            if event is None:
                ended = True
                break
            usage = event.get("usage") or usage
            for choice in event.get("choices") or ():
                reason = choice.get("finish_reason") or reason
                delta = choice.get("delta") or {}
                calls.feed(delta.get("tool_calls"))
                text = filtered.feed(delta.get("content") or "")
                if text:
                    first_ms = first_ms or (time.monotonic() - began) * 1000
                    yield self._chunk(text)
        if not ended and not reason:  # some servers leave the end mark out, none the reason
            raise ModelReplyInvalid(f"The answer of {self.name} broke off.", host=self._server.label)
        if rest := filtered.finish():
            yield self._chunk(rest)
        if found := calls.finish():
            yield ChatChunk(tool_calls=found, host=self._server.label, model=self.name)
        total_ms = (time.monotonic() - began) * 1000
        yield ChatChunk(
            done=True,
            done_reason=reason or "stop",
            host=self._server.label,
            model=self.name,
            prompt_tokens=int(usage.get("prompt_tokens") or 0),
            reply_tokens=int(usage.get("completion_tokens") or 0),
            figures={"first_ms": first_ms or total_ms, "total_ms": total_ms},
        )

    def _chunk(self, text: str) -> ChatChunk:
        return ChatChunk(text=text, host=self._server.label, model=self.name)

    def _body(self, request: ChatRequest) -> dict[str, Any]:
        # OpenAI's newer models refuse the old name of the limit; other servers know only the old one.
        limit = "max_completion_tokens" if self._server.is_openai else "max_tokens"
        body: dict[str, Any] = {
            "model": self.name,
            "messages": [message_json(message) for message in request.messages],
            "stream": True,
            "stream_options": {"include_usage": True},
            limit: max(1, request.max_tokens),
        }
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.response_schema is not None:
            schema = {"name": "answer", "schema": dict(request.response_schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        if request.tools and not self._refuses_tools:
            body["tools"] = [dict(tool) for tool in request.tools]
        return body

    def count_tokens(self, text: str) -> int:
        return count_tokens(text)

    def check(self) -> Mapping[str, Any]:
        return {**_check(self._server, self.name), "context_window": self.context_window}


def _check(server: OpenAIServer, name: str) -> dict[str, Any]:
    host = {"host": server.label, "ok": False, "has_model": False, "busy": 0, "error": ""}
    try:
        names = server.models(name)
    except MusebotError as error:
        return {
            "ok": False,
            "model": name,
            "hosts": [{**host, "error": error.message}],
            "message": error.message,
        }
    known = {entry.removesuffix(":latest") for entry in names}
    has_model = name.removesuffix(":latest") in known
    # Not every server lists what it serves, so a name that is missing is a hint and no failure.
    message = "" if has_model else f"{server.label} does not list the model {name}."
    return {
        "ok": True,
        "model": name,
        "hosts": [{**host, "ok": True, "has_model": has_model}],
        "message": message,
    }


class OpenAIEmbedder:
    """An embedding model behind ``/embeddings``. The server counts as the build: another one's vectors are not mixed in."""

    def __init__(self, server: OpenAIServer, name: str, *, query_server: OpenAIServer | None = None) -> None:
        self.name = name
        self._server = server
        self._query_server = query_server or server
        self._prefixes = prefixes_for(name)
        self._dimension: int | None = None
        self._lock = threading.Lock()

    def identity(self) -> EmbedderIdentity:
        with self._lock:
            if self._dimension is None:
                raw = self._send(["dimension"], self._server)
                self._dimension = int(unit_vectors(raw, count=1, dimension=None).shape[1])
            return EmbedderIdentity("openai", self.name, self._server.label[-100:], self._dimension)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return self._embed([self._prefixes.document + text for text in texts], self._server)

    def embed_query(self, text: str) -> Vectors:
        row: Vectors = self._embed([self._prefixes.query + text], self._query_server)[0]
        return row

    def _embed(self, texts: list[str], server: OpenAIServer) -> Vectors:
        dimension = self.identity().dimension
        if not texts:
            return np.empty((0, dimension), np.float32)
        return embed_in_batches(texts, lambda batch: self._send(batch, server), dimension=dimension)

    def _send(self, texts: list[str], server: OpenAIServer) -> Sequence[Sequence[float]]:
        # An empty text is refused by OpenAI, and would fail the whole batch.
        body = {"model": self.name, "input": [text or " " for text in texts], "encoding_format": "float"}
        reply = server.json("embeddings", body, model=self.name)
        with server.translated(self.name):
            rows = sorted(reply["data"], key=lambda entry: int(entry["index"]))
            return [row["embedding"] for row in rows]

    def check(self) -> Mapping[str, Any]:
        return _check(self._server, self.name)
