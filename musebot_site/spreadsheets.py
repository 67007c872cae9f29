"""Rows as CSV that a spreadsheet shows and never runs: the one place that writes any."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence

FORMULA = frozenset("=+-@\t\r\n＝＋－＠")
"""What a cell begins with that a spreadsheet takes for a formula, or that moves what follows to where one may begin."""
QUOTE = "'"


class _Echo:
    """A file that gives back what is written to it."""

    def write(self, value: str) -> str:
        return value


def csv_lines(rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Each row as a line; None is an empty cell. Numbers stay numbers, also negative ones."""
    writer = csv.writer(_Echo())
    for row in rows:
        yield writer.writerow([_cell(value) for value in row])


def _cell(value: object) -> object:
    """Text that could run gets an apostrophe in front, which spreadsheets take for "this is text"."""
    if value is None:
        return ""
    if isinstance(value, int | float):
        return value
    text = str(value)
    could_run = text[:1] in FORMULA or text.lstrip()[:1] in FORMULA
    return QUOTE + text if text and could_run else text
