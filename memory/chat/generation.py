"""Calls of the model for one answer: the pieces as they come, and what became of it."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memory.chat.links import LinkFilter
from memory.chat.quoting import EchoFilter, clean
from memory.chat.tools import CallFilter
from memory.errors import ModelReplyInvalid, MusebotError
from memory.llm.base import ChatChunk, ChatMessage, ChatModel, ChatRequest, ToolCall

logger = logging.getLogger(__name__)


BETWEEN_ROUNDS = "\n\n"


class Generation:
    """Runs a model, once or for each round of tool calls. Afterwards ``text`` is everything it said and ``error`` why it stopped
    early, if it did; ``calls`` is what it called in the last round."""

    def __init__(self) -> None:
        self.text = ""
        self.error = ""
        self.host = ""
        self.model = ""
        self.prompt_tokens = 0
        self.reply_tokens = 0
        self.cut_off = False
        """The answer reached its largest length."""
        self.first_token: float | None = None
        """Milliseconds to the first piece."""
        self.calls: tuple[ToolCall, ...] = ()
        self.broken_call = False
        """It wrote a call as text that cannot be read."""
        self.said = ""
        """What it said in the last round."""
        self._space = ""
        self._started = time.perf_counter()

    def run(
        self,
        model: ChatModel,
        messages: tuple[ChatMessage, ...],
        max_tokens: int,
        tools: Sequence[Mapping[str, Any]] = (),
    ) -> Iterator[str]:
        """Pieces of the answer, without white space around it, without marks of the prompt, and linking only to what stands in
        the prompt beside the question itself. Never raises."""
        self.calls, self.broken_call, self.said, self._space, self.error = (), False, "", "", ""
        request = ChatRequest(messages, max_tokens=max_tokens, tools=tuple(tools))
        written = CallFilter({str(tool["function"]["name"]) for tool in tools})
        try:
            yield from self._pieces(model.stream(request), written, LinkFilter(_retrieved(messages)))
        except MusebotError as error:
            self.error = error.code
            logger.warning("the chat model failed: %s", error.code)
        except Exception as error:  # whatever a client library raises, the reply goes on
            self.error = MusebotError.code
            logger.warning("the chat model failed unexpectedly: %s", type(error).__name__)

    def _pieces(self, stream: Iterator[ChatChunk], written: CallFilter, links: LinkFilter) -> Iterator[str]:
        echoes = EchoFilter()
        ended = False
        try:
            for chunk in stream:
                if chunk.text and self.first_token is None:
                    self.first_token = (time.perf_counter() - self._started) * 1000
                if piece := self._accept(links.feed(echoes.feed(written.feed(clean(chunk.text))))):
                    yield piece
                self.calls += chunk.tool_calls
                self._note(chunk)
                ended = ended or chunk.done
            rest, parsed = written.finish()
            self.calls, self.broken_call = self.calls or parsed.calls, parsed.broken
            if piece := self._accept(links.feed(echoes.feed(rest) + echoes.flush()) + links.flush()):
                yield piece
        finally:
            # Closing the stream is what stops the model when nobody reads on.
            if (close := getattr(stream, "close", None)) is not None:
                close()
        if not ended:
            raise ModelReplyInvalid()

    def _accept(self, piece: str) -> str:
        piece = self._space + piece if self.said else piece.lstrip()
        shown = piece.rstrip()
        self._space = piece[len(shown) :]  # shown once something follows it
        before = BETWEEN_ROUNDS if shown and self.text and not self.said else ""
        self.said += shown
        self.text += before + shown
        return before + shown

    def _note(self, chunk: ChatChunk) -> None:
        self.host = chunk.host or self.host
        self.model = chunk.model or self.model
        self.prompt_tokens = chunk.prompt_tokens or self.prompt_tokens
        self.reply_tokens = chunk.reply_tokens or self.reply_tokens
        self.cut_off = self.cut_off or chunk.done_reason == "length"


def _retrieved(messages: Sequence[ChatMessage]) -> list[str]:
    """What was found for the question: memories, documents, pages, notes, the conversation and results of tools."""
    question = max((place for place, one in enumerate(messages) if one.role == "user"), default=-1)
    return [one.content for place, one in enumerate(messages) if place != question]
