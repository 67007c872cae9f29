"""A JSON object read from a stream, so that a file of any size takes little memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import IO, Any

CHUNK = 1 << 16
DELIMITERS = frozenset(" \t\r\n,:]}")
MAX_ITEM = 16 << 20
"""Characters of one message at most; more is no chat export."""


class ObjectReader:
    """Members of one JSON object from a stream; the list ``messages`` comes as an iterator, everything else as a value."""

    def __init__(self, file: IO[str], *, chunk: int = CHUNK) -> None:
        self._file = file
        self._chunk = chunk
        self._buffer = ""
        self._at = 0
        self._decoder = json.JSONDecoder()

    def members(self) -> Iterator[tuple[str, Any]]:
        self._expect("{")
        if self._peek() == "}":
            return
        while True:
            key = self._value()
            if not isinstance(key, str):
                raise ValueError("a key is not text")
            self._expect(":")
            if key == "messages" and self._peek() == "[":
                items = self._items()
                yield key, items
                for _ in items:  # what the caller left
                    pass
            else:
                yield key, self._value()
            if self._separator("}"):
                return

    def _items(self) -> Iterator[Any]:
        self._expect("[")
        if self._peek() == "]":
            self._at += 1
            return
        while True:
            yield self._value()
            if self._separator("]"):
                return

    def _separator(self, closing: str) -> bool:
        found = self._peek()
        if found not in {",", closing}:
            raise ValueError(f"a comma or {closing} is missing")
        self._at += 1
        return found == closing

    def _expect(self, character: str) -> None:
        if self._peek() != character:
            raise ValueError(f"{character} is missing")
        self._at += 1

    def _peek(self) -> str:
        """The next character that is not white space."""
        while True:
            while self._at < len(self._buffer):
                if not self._buffer[self._at].isspace():
                    return self._buffer[self._at]
                self._at += 1
            if not self._more():
                raise ValueError("it ends too early")

    def _value(self) -> Any:
        self._peek()
        wanted = self._chunk
        while True:
            try:
                value, end = self._decoder.raw_decode(self._buffer, self._at)
            except RecursionError as error:
                raise ValueError("it is nested too deeply") from error
            except ValueError:
                if len(self._buffer) - self._at > MAX_ITEM or not self._more(wanted):
                    raise
            else:
                if self._is_whole(value, end) or not self._more(wanted):
                    self._at = end
                    return value
            wanted *= 2

    def _is_whole(self, value: Any, end: int) -> bool:
        """A number may go on in the next piece: of ``12.5``, ``12`` alone can be read."""
        if isinstance(value, str | list | dict) or value is None:
            return True
        return self._buffer[end : end + 1] in DELIMITERS and end < len(self._buffer)

    def _more(self, wanted: int = 0) -> bool:
        piece = self._file.read(wanted or self._chunk)
        if piece:
            self._buffer = self._buffer[self._at :] + piece
            self._at = 0
        return bool(piece)
