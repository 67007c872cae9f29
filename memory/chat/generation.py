"""One call of the model: its pieces as they come, and what became of it."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator

from memory.chat.quoting import EchoFilter
from memory.errors import ModelReplyInvalid, MusebotError
from memory.llm.base import ChatChunk, ChatMessage, ChatModel, ChatRequest

logger = logging.getLogger(__name__)


class Generation:
    """Runs a model once. Afterwards ``text`` is everything it said and ``error`` why it stopped early, if it did."""

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
        self._space = ""
        self._started = time.perf_counter()

    def run(self, model: ChatModel, messages: tuple[ChatMessage, ...], max_tokens: int) -> Iterator[str]:
        """Pieces of the answer, without white space around it and without marks of the prompt. Never raises."""
        try:
            yield from self._pieces(model.stream(ChatRequest(messages, max_tokens=max_tokens)))
        except MusebotError as error:
            self.error = error.code
            logger.warning("the chat model failed: %s", error.code)
        except Exception as error:  # whatever a client library raises, the reply goes on
            self.error = MusebotError.code
            logger.warning("the chat model failed unexpectedly: %s", type(error).__name__)

    def _pieces(self, stream: Iterator[ChatChunk]) -> Iterator[str]:
        echoes = EchoFilter()
        ended = False
        try:
            for chunk in stream:
                if chunk.text and self.first_token is None:
                    self.first_token = (time.perf_counter() - self._started) * 1000
                if piece := self._accept(echoes.feed(chunk.text)):
                    yield piece
                self._note(chunk)
                ended = ended or chunk.done
            if piece := self._accept(echoes.flush()):
                yield piece
        finally:
            # Closing the stream is what stops the model when nobody reads on.
            if (close := getattr(stream, "close", None)) is not None:
                close()
        if not ended:
            raise ModelReplyInvalid()

    def _accept(self, piece: str) -> str:
        piece = self._space + piece if self.text else piece.lstrip()
        shown = piece.rstrip()
        self._space = piece[len(shown) :]  # shown once something follows it
        self.text += shown
        return shown

    def _note(self, chunk: ChatChunk) -> None:
        self.host = chunk.host or self.host
        self.model = chunk.model or self.model
        self.prompt_tokens = chunk.prompt_tokens or self.prompt_tokens
        self.reply_tokens = chunk.reply_tokens or self.reply_tokens
        self.cut_off = self.cut_off or chunk.done_reason == "length"
