"""How a person's id stands in text, in JSON and in the bytes of a file."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from typing import Any

LONG_ID = 10**14
"""Discord's ids are longer than this; a shorter number may stand in a text by chance, so only its marked forms count."""

ERASED = "@erased"


@dataclass(frozen=True, slots=True)
class Needle:
    """What to look for, for one person."""

    user_id: int

    @property
    def is_long(self) -> bool:
        return self.user_id >= LONG_ID

    @property
    def texts(self) -> tuple[str, ...]:
        """Strings of which any means that a text names the person."""
        if self.is_long:
            return (str(self.user_id),)
        marked = f"<@{self.user_id}>", f"<@!{self.user_id}>"
        return (*marked, f'"userId": "{self.user_id}"', f'"id": "{self.user_id}", "username"')

    @property
    def bytes(self) -> tuple[bytes, ...]:
        """The same in a file, with the eight bytes of the integer as SQLite stores it."""
        found = [text.encode() for text in self.texts]
        if self.user_id >= 1 << 47:
            found.append(struct.pack(">q", self.user_id))
        return tuple(found)

    def scrub_text(self, text: str) -> str:
        """The text without the person's id."""
        text = re.sub(rf"<@!?{self.user_id}>", ERASED, text)
        return text.replace(str(self.user_id), ERASED) if self.is_long else text

    def scrub_record(self, value: Any) -> Any:
        """A JSON value without entries of the person and without their id."""
        if isinstance(value, dict):
            return {name: self.scrub_record(one) for name, one in value.items()}
        if isinstance(value, list):
            return [self.scrub_record(one) for one in value if not self._is_person(one)]
        if isinstance(value, str):
            return "" if self.is_long and value == str(self.user_id) else self.scrub_text(value)
        return None if value == self.user_id and not isinstance(value, bool) and self.is_long else value

    def _is_person(self, value: Any) -> bool:
        return isinstance(value, dict) and "username" in value and str(value.get("id")) == str(self.user_id)
