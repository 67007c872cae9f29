"""Events of one message can overtake each other: Discord sends them in order, but several threads handle them.

A message that is deleted before it is stored must not be stored after; an edit that comes before the row waits for it. Both are
kept in this process only, hold ids and nothing else, and are forgotten after some minutes. (A channel or guild that has a row is
closed there, which holds for all processes and for good.)
"""

from __future__ import annotations

import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

REMEMBERED_SECONDS = 600.0
MOST_REMEMBERED = 50_000
EDIT_WAITS_SECONDS = 10.0

_changed = threading.Condition()
_under_way: Counter[int] = Counter()
_deleted: OrderedDict[int, float] = OrderedDict()


def note_deleted(ids: Iterable[int]) -> None:
    """Remembers ids of messages, channels or guilds that are gone."""
    now = time.monotonic()
    with _changed:
        for one in ids:
            _deleted[one] = now
            _deleted.move_to_end(one)
        while _deleted and (
            len(_deleted) > MOST_REMEMBERED or next(iter(_deleted.values())) < now - REMEMBERED_SECONDS
        ):
            _deleted.popitem(last=False)


def note_returned(one: int) -> None:
    """The bot is back in a guild that it had left."""
    with _changed:
        _deleted.pop(one, None)


def is_deleted(one: int) -> bool:
    """Whether that message, channel or guild went a moment ago.

    Asked inside the transaction that stores: what is deleted later waits for its end, and finds the row.
    """
    with _changed:
        return one in _deleted


@contextmanager
def storing(ids: Iterable[int]) -> Iterator[None]:
    """Marks messages as being stored."""
    ids = list(ids)
    with _changed:
        _under_way.update(ids)
    try:
        yield
    finally:
        with _changed:
            _under_way.subtract(ids)
            for one in ids:
                if _under_way[one] <= 0:
                    del _under_way[one]
            _changed.notify_all()


def wait_until_stored(one: int) -> None:
    """Returns as soon as nobody is storing this message."""
    with _changed:
        _changed.wait_for(lambda: one not in _under_way, timeout=EDIT_WAITS_SECONDS)
