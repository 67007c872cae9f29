"""Messages, the message store of a channel, and a dict with attributes."""

from __future__ import annotations

import bisect


class Msg:
    """A message. x holds everything that is not at its default, so that 100k+ preloaded ones stay small."""

    __slots__ = ("id", "channel_id", "author_id", "content", "x")

    def __init__(self, id, channel_id, author_id, content, **x):
        self.id, self.channel_id, self.author_id, self.content = id, channel_id, author_id, content
        self.x = x or None

    def get(self, k, d=None):
        return d if self.x is None else self.x.get(k, d)

    def set(self, k, v):
        if self.x is None:
            self.x = {}
        self.x[k] = v


class Store:
    """Messages of one channel, ordered by snowflake."""

    __slots__ = ("ids", "by_id")

    def __init__(self):
        self.ids: list[int] = []
        self.by_id: dict[int, Msg] = {}

    def add(self, m: Msg):
        if not self.ids or m.id > self.ids[-1]:
            self.ids.append(m.id)
        else:
            bisect.insort(self.ids, m.id)
        self.by_id[m.id] = m

    def pop(self, mid: int) -> Msg | None:
        m = self.by_id.pop(mid, None)
        if m is not None:
            i = bisect.bisect_left(self.ids, mid)
            if i < len(self.ids) and self.ids[i] == mid:
                del self.ids[i]
        return m

    def page(self, limit, before=None, after=None, around=None) -> list[Msg]:
        """Newest first, always - also for `after`, which gives the `limit` messages that follow it."""
        ids = self.ids
        if around is not None:
            i = bisect.bisect_left(ids, around)
            half = limit // 2
            lo = max(0, i - half)
            sel = ids[lo : lo + limit]
        elif before is not None:
            i = bisect.bisect_left(ids, before)
            sel = ids[max(0, i - limit) : i]
        elif after is not None:
            i = bisect.bisect_right(ids, after)
            sel = ids[i : i + limit]
        else:
            sel = ids[-limit:]
        return [self.by_id[i] for i in reversed(sel)]


class Obj(dict):
    __getattr__ = dict.get

    def __setattr__(self, k, v):
        self[k] = v
