"""Pages by key: a cursor names the row where a page begins, so the thousandth page costs what the first does."""

from __future__ import annotations

import base64
import binascii
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from django.db.models import Model, Q, QuerySet

from memory.errors import InvalidInput

Row = TypeVar("Row", bound=Model)


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    """One page, newest first. The cursors are opaque; ``None`` where there is nothing on that side."""

    rows: tuple[Row, ...]
    next_cursor: str | None = None
    previous_cursor: str | None = None


def keyset_page(
    rows: QuerySet[Row],
    *,
    moment: str,
    key: str,
    limit: int,
    cursor: str | None,
    key_type: Callable[[str], Any] = int,
) -> Page[Row]:
    """A page of ``rows`` in the order of (``moment``, ``key``), descending. Raises ``InvalidInput`` for a bad cursor."""
    backwards = False
    if cursor:
        backwards, at, value = _decode(cursor, key_type)
        # The first condition alone is what an index can seek by; the second makes it exact.
        way = "gt" if backwards else "lt"
        rows = rows.filter(
            Q(**{f"{moment}__{way}e": at}) & (Q(**{f"{moment}__{way}": at}) | Q(**{f"{key}__{way}": value}))
        )
    order = (moment, key) if backwards else (f"-{moment}", f"-{key}")
    found = list(rows.order_by(*order)[: limit + 1])
    more = len(found) > limit
    found = found[:limit]
    if backwards:
        found.reverse()
    if not found:
        return Page(())

    def mark(direction: str, row: Row) -> str:
        return _encode(direction, getattr(row, moment), getattr(row, key))

    later = bool(cursor) if not backwards else more
    earlier = more if not backwards else True
    return Page(
        tuple(found),
        next_cursor=mark("n", found[-1]) if earlier else None,
        previous_cursor=mark("p", found[0]) if later else None,
    )


def cursor_at(at: datetime, value: int | uuid.UUID) -> str:
    """The cursor of the page behind a row."""
    return _encode("n", at, value)


def _encode(direction: str, at: datetime, value: int | uuid.UUID) -> str:
    return base64.urlsafe_b64encode(f"{direction}{at.isoformat()}|{value}".encode()).decode().rstrip("=")


def _decode(cursor: str, key_type: Callable[[str], Any]) -> tuple[bool, datetime, Any]:
    try:
        plain = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
        at, _, value = plain[1:].partition("|")
        moment = datetime.fromisoformat(at)
        if plain[0] not in "np" or moment.tzinfo is None:
            raise ValueError(cursor)
        return plain[0] == "p", moment, key_type(value)
    except (ValueError, IndexError, UnicodeDecodeError, binascii.Error) as error:
        raise InvalidInput("This page's address is damaged. Go back to the first page.") from error
