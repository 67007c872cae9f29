"""Chat with models that Ollama serves."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

import ollama

from memory.errors import ContextTooLong, InvalidInput, ModelReplyInvalid
from memory.llm.base import ChatChunk, ChatMessage, ChatRequest, ToolCall
from memory.llm.batches import clean
from memory.llm.ollama_errors import translate
from memory.llm.ollama_hosts import Host
from memory.llm.ollama_pool import HostPool
from memory.llm.thinking import ThinkingFilter
from memory.llm.tokens import MESSAGE_OVERHEAD, count_tokens

CERTAINLY_TOO_LONG = 2.0
"""Our count errs high by less than this, so beyond it a prompt cannot fit. Ollama would cut it without a word."""

Parts = Iterator[ollama.ChatResponse]


class OllamaChat:
    """A chat model on one or several hosts. ``num_ctx`` is the same in every request: another one reloads the model."""

    def __init__(self, pool: HostPool, name: str, *, context_window: int, read_timeout: float) -> None:
        self.name = name
        self.context_window = context_window
        self._pool = pool
        self._read_timeout = read_timeout

    def stream(self, request: ChatRequest) -> Iterator[ChatChunk]:
        estimate = self._checked(request)
        lease, answer = self._pool.run(
            self.name, lambda host: _Answer(self._open(host, request), host, self, estimate)
        )
        try:
            try:
                yield from answer
            except Exception as error:
                translated = translate(error, host=lease.host.label, model=self.name)
                self._pool.note(lease.host, translated)
                if translated is error:
                    raise
                raise translated from None  # the original quotes what was said
        finally:
            answer.close()
            lease.leave()

    def _checked(self, request: ChatRequest) -> int:
        """An estimate of the prompt's tokens; raises where it cannot be sent."""
        if not request.messages:
            raise InvalidInput("A chat request needs at least one message.")
        estimate = sum(count_tokens(message.content) + MESSAGE_OVERHEAD for message in request.messages)
        if estimate > CERTAINLY_TOO_LONG * self.context_window:
            raise ContextTooLong(
                f"The prompt takes about {estimate} tokens, and the model's window is {self.context_window}.",
                estimate=estimate,
                window=self.context_window,
            )
        return estimate

    def _open(self, host: Host, request: ChatRequest) -> Parts:
        options: dict[str, Any] = {
            "num_ctx": self.context_window,
            "num_predict": max(1, min(request.max_tokens, self.context_window)),
        }
        if request.temperature is not None:
            options["temperature"] = request.temperature
        # A model that can think does so unless told not to, and the thoughts eat up the answer's tokens. Telling one that cannot
        # is an error on some servers.
        able = host.capabilities(self.name) or ()
        thinks = "thinking" in able
        return host.client(self._read_timeout).chat(
            model=self.name,
            messages=[_message(message) for message in request.messages],
            tools=[dict(tool) for tool in request.tools] if request.tools and "tools" in able else None,
            stream=True,
            think=False if thinks else None,
            format=dict(request.response_schema) if request.response_schema is not None else None,
            options=options,
        )

    def count_tokens(self, text: str) -> int:
        return count_tokens(text)

    def takes_tools(self) -> bool:
        return self._pool.is_able(self.name, "tools")

    def check(self) -> Mapping[str, Any]:
        return {**self._pool.check(self.name), "context_window": self.context_window}


def _message(message: ChatMessage) -> ollama.Message:
    return ollama.Message(
        role=message.role,
        content=clean(message.content),
        # As bytes: the client would read a text that looks like a path from the disk.
        images=[ollama.Image(value=bytes(image)) for image in message.images] or None,
        tool_name=message.name or None if message.role == "tool" else None,
        # Neither calls nor results have an id here: they are matched by name and order.
        tool_calls=[
            ollama.Message.ToolCall(
                function=ollama.Message.ToolCall.Function(name=call.name, arguments=dict(call.arguments))
            )
            for call in message.tool_calls
        ]
        or None,
    )


def _calls(message: ollama.Message) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall(call.function.name, dict(call.function.arguments)) for call in message.tool_calls or ()
    )


class _Answer:
    """A stream that has begun: made when the first visible piece is there, so that until then another host can be tried."""

    def __init__(self, parts: Parts, host: Host, model: OllamaChat, estimate: int) -> None:
        self._parts = parts
        self._host = host.label
        self._model = model
        self._estimate = estimate
        self._filter = ThinkingFilter()
        self._began = time.monotonic()
        self._first_ms = 0.0
        try:
            self._first = self._next()
        except BaseException:
            self.close()
            raise
        self._first_ms = (time.monotonic() - self._began) * 1000

    def __iter__(self) -> Iterator[ChatChunk]:
        chunks = self._first
        while True:
            yield from chunks
            if chunks[-1].done:
                return
            chunks = self._next()

    def _next(self) -> list[ChatChunk]:
        """The next piece of text, or the rest with the figures."""
        for part in self._parts:
            text = self._filter.feed(part.message.content or "")
            calls = _calls(part.message)
            if part.done:
                text += self._filter.finish()
            found = [self._chunk(text, calls)] if text or calls else []
            if part.done:
                return [*found, self._last(part)]
            if found:
                return found
        raise ModelReplyInvalid(
            f"The answer of {self._model.name} at {self._host} broke off.", host=self._host
        )

    def _chunk(self, text: str, calls: tuple[ToolCall, ...] = ()) -> ChatChunk:
        return ChatChunk(text=text, tool_calls=calls, host=self._host, model=self._model.name)

    def _last(self, part: ollama.ChatResponse) -> ChatChunk:
        prompt_tokens = part.prompt_eval_count or 0
        figures = {
            "first_ms": self._first_ms or (time.monotonic() - self._began) * 1000,
            "total_ms": (time.monotonic() - self._began) * 1000,
            "load_ms": (part.load_duration or 0) / 1e6,
            "prompt_ms": (part.prompt_eval_duration or 0) / 1e6,
            "reply_ms": (part.eval_duration or 0) / 1e6,
        }
        # What does not fit is cut away silently; only this count shows it.
        if self._estimate > self._model.context_window and 0 < prompt_tokens < 0.6 * self._estimate:
            figures["prompt_cut"] = float(self._estimate - prompt_tokens)
        return ChatChunk(
            done=True,
            done_reason=part.done_reason or "stop",
            host=self._host,
            model=self._model.name,
            prompt_tokens=prompt_tokens,
            reply_tokens=part.eval_count or 0,
            figures=figures,
        )

    def close(self) -> None:
        """Closes the connection, which stops the model."""
        close = getattr(self._parts, "close", None)
        if close:
            close()
