"""Blocks of data in the system message: persona, blocks, archive, facts, passages, what is attached. Each is fenced and named as what it is.

The order in the prompt is always that, with memories between facts and passages. Which of them gets room first where there is little
is another order: ``PRIORITY``. What does not fit is counted by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from memory.chat.budget import Budget
from memory.chat.quoting import Fence

ORDER = (
    "persona",
    "human_shared",
    "human",
    "working_context",
    "archive",
    "facts",
    "memories",
    "passages",
    "attached",
)
PRIORITY = ("persona", "human", "working_context", "attached", "facts", "passages", "human_shared", "archive")
SHARE = 0.6
"""Of the room beside operator's words and question, what all sections together may take; the rest is for memories and conversation."""


@dataclass(frozen=True, slots=True)
class Section:
    """One block of data that wants to be in the prompt."""

    name: str
    """One of ``ORDER``."""
    intro: str
    """What it is, and that it is data."""
    lines: tuple[str, ...] = ()
    """None: the introduction alone says that there is nothing."""
    whole: bool = False
    """All of it or nothing; otherwise as many lines as fit."""
    newest: bool = False
    """Lines are taken from the end; otherwise from the beginning, and one that is too long does not keep others out."""
    fence: Fence = field(default_factory=Fence)

    def text(self, kept: Sequence[int]) -> str:
        """As it stands in the prompt, with the lines at these positions."""
        lines = [self.lines[position] for position in kept]
        return f"{self.intro}\n{self.fence.around(lines)}" if self.lines else self.intro

    def fit(self, budget: Budget, room: int) -> frozenset[int]:
        """Positions of the lines that fit into ``room`` tokens."""
        everything = range(len(self.lines))
        if budget.count(self.text(everything)) + 2 <= room:
            return frozenset(everything)
        if self.whole or not self.lines:
            return frozenset()
        left = room - budget.count(self.text([])) - 4
        if self.newest:
            kept: set[int] = set()
            for position in reversed(everything):
                left -= budget.count(self.lines[position]) + 1
                if left < 0:
                    break
                kept.add(position)
            return frozenset(kept)
        return frozenset(budget.each_that_fits(self.lines, left))

    def fits_empty(self, budget: Budget, room: int) -> bool:
        return not self.lines and budget.count(self.intro) + 2 <= room


@dataclass(frozen=True, slots=True)
class Fitted:
    """The sections as text: those before the memories and those after them."""

    before: str = ""
    after: str = ""
    used: Mapping[str, frozenset[int]] = field(default_factory=dict)
    """Of each section that is in the prompt: positions of its lines."""
    cut: Mapping[str, int] = field(default_factory=dict)
    """Lines that did not fit, by name."""


def fit(sections: Sequence[Section], budget: Budget, left: int) -> Fitted:
    """As many of the sections as fit into a share of the ``left`` tokens, the more important ones first."""
    room = int(max(0, left) * SHARE)
    used: dict[str, frozenset[int]] = {}
    cut: dict[str, int] = {}
    for section in sorted(sections, key=lambda one: PRIORITY.index(one.name)):
        kept = section.fit(budget, room)
        cut[section.name] = len(section.lines) - len(kept)
        if kept or section.fits_empty(budget, room):
            used[section.name] = kept
            room -= budget.count(section.text(sorted(kept))) + 2
    shown = sorted((one for one in sections if one.name in used), key=lambda one: ORDER.index(one.name))
    middle = ORDER.index("memories")
    return Fitted(
        _joined([one for one in shown if ORDER.index(one.name) < middle], used),
        _joined([one for one in shown if ORDER.index(one.name) > middle], used),
        used,
        cut,
    )


def _joined(sections: Sequence[Section], used: Mapping[str, frozenset[int]]) -> str:
    return "\n\n".join(section.text(sorted(used[section.name])) for section in sections)
