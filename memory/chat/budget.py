"""What fits into the model's window. Servers cut over-long prompts without a word, so nothing is left to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from memory.llm.base import ChatMessage, ChatModel

MESSAGE_OVERHEAD = 8
"""Tokens that a message costs besides its text: role and separators of the model's template."""

CUT = " [… cut …] "


@dataclass(frozen=True, slots=True)
class Budget:
    """Tokens that a prompt may take, and how they are counted."""

    count: Callable[[str], int]
    tokens: int
    reply_tokens: int
    """Tokens left for the answer."""

    @classmethod
    def of(cls, model: ChatModel, *, max_reply_tokens: int) -> Budget:
        """The model's window less the answer and a margin."""
        return cls.for_window(
            model.count_tokens, window=model.context_window, max_reply_tokens=max_reply_tokens
        )

    @classmethod
    def for_window(cls, count: Callable[[str], int], *, window: int, max_reply_tokens: int) -> Budget:
        reply = max(1, min(max_reply_tokens, window // 2))
        margin = max(32, window // 50)
        return cls(count, max(16, window - reply - margin), reply)

    def less_than(self, messages: Iterable[ChatMessage]) -> Budget:
        """Half of what this prompt took, which the model found too long whatever was counted here."""
        taken = sum(self.message(message.content) for message in messages)
        return replace(self, tokens=max(16, min(self.tokens, taken) // 2))

    def without(self, tokens: int) -> Budget:
        """What is left for messages where something else takes ``tokens`` of the window."""
        return replace(self, tokens=max(16, self.tokens - tokens)) if tokens else self

    def message(self, text: str) -> int:
        """Tokens of one message of the conversation."""
        return self.count(text) + MESSAGE_OVERHEAD

    def cut_middle(self, text: str, limit: int) -> str:
        """The text, or its beginning and its end around a mark, in at most ``limit`` tokens."""
        if self.count(text) <= limit:
            return text
        return self._longest(
            len(text), limit, lambda n: text[: n - n // 2] + CUT + text[len(text) - n // 2 :]
        )

    def cut_end(self, text: str, limit: int) -> str:
        """The text, or its beginning with a mark, in at most ``limit`` tokens."""
        if self.count(text) <= limit:
            return text
        return self._longest(len(text), limit, lambda n: text[:n] + CUT.rstrip())

    def _longest(self, length: int, limit: int, build: Callable[[int], str]) -> str:
        low, high = 0, length
        while low < high:
            middle = (low + high + 1) // 2
            if self.count(build(middle)) <= limit:
                low = middle
            else:
                high = middle - 1
        return build(low)

    def newest(self, texts: Sequence[str], limit: int) -> int:
        """How many of these messages, oldest first, fit when they are taken from the end."""
        kept = 0
        for text in reversed(texts):
            limit -= self.message(text)
            if limit < 0:
                break
            kept += 1
        return kept

    def each_that_fits(self, lines: Sequence[str], limit: int) -> set[int]:
        """Positions of the lines that fit, best first; one that is too long does not keep shorter ones out."""
        kept: set[int] = set()
        for position, line in enumerate(lines):
            tokens = self.count(line) + 1
            if tokens <= limit:
                kept.add(position)
                limit -= tokens
        return kept
