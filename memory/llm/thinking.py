"""Takes a model's thinking out of its answer, where the server leaves it in the text."""

from __future__ import annotations

OPEN, CLOSE = "<think>", "</think>"


class ThinkingFilter:
    """Fed with pieces of an answer as they come, gives back what is no thinking.

    Only a block at the very start is thinking: an answer may talk about such tags later on.
    """

    def __init__(self) -> None:
        self._held = ""
        self._state = "start"

    def feed(self, piece: str) -> str:
        """The part of what came so far that can be shown now."""
        if self._state == "answer":
            return piece
        self._held += piece
        if self._state == "start":
            begun = self._held.lstrip()
            if OPEN.startswith(begun[: len(OPEN)]) and len(begun) < len(OPEN):
                return ""  # may yet become a tag
            self._state = "thinking" if begun.startswith(OPEN) else "answer"
        if self._state == "thinking":
            _, found, rest = self._held.partition(CLOSE)
            if not found:
                return ""
            self._held, self._state = rest, "after"
        if self._state == "after":
            self._held = self._held.lstrip()
            if not self._held:
                return ""
            self._state = "answer"
        shown, self._held = self._held, ""
        return shown

    def finish(self) -> str:
        """What was held back and is no thinking after all."""
        held, self._held = self._held, ""
        return held if self._state == "start" else ""
