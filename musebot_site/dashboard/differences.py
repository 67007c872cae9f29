"""What changed between two texts, word by word."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher

_WORDS = re.compile(r"[\w'’]+\s*|[^\w\s]\s*|\s+")
MOST_WORDS = 12_000
"""Beyond that, comparing takes too long for a page; then the whole text counts as changed."""


@dataclass(frozen=True, slots=True)
class Part:
    kind: str
    """same, added or removed."""
    text: str


def differences(before: str, after: str) -> list[Part]:
    """The parts of both texts in their order."""
    old, new = _WORDS.findall(before), _WORDS.findall(after)
    if len(old) + len(new) > MOST_WORDS:
        return [part for part in (Part("removed", before), Part("added", after)) if part.text]
    found: list[Part] = []
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            found.append(Part("same", "".join(old[a:b])))
            continue
        if a < b:
            found.append(Part("removed", "".join(old[a:b])))
        if c < d:
            found.append(Part("added", "".join(new[c:d])))
    return found
