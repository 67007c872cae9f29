"""Memories that are kept, but not recalled."""

from __future__ import annotations

from collections.abc import Sequence

from memory.models import Message


def set_paused(*, keys: Sequence[int], paused: bool) -> int:
    """Holds messages back from recall, or takes them up again; returns how many were changed."""
    changed = 0
    for start in range(0, len(keys), 500):
        rows = Message.objects.filter(key__in=keys[start : start + 500], paused=not paused)
        changed += rows.update(paused=paused)
    return changed
