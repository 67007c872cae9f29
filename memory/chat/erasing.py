"""Taking back a reply: its trace, and the answer as it is remembered."""

from __future__ import annotations

import uuid

from memory import erasure
from memory.models import Reply


def erase_reply(trace_id: uuid.UUID) -> bool:
    """Erases a reply's trace and its stored answer, with later answers that leaned on that; False if there is none.

    The message on Discord stays where it is.
    """
    rows = Reply.objects.filter(id=trace_id)
    answer = rows.values_list("answer_id", flat=True).first()
    there = rows.exists()
    if answer is not None:
        erasure.erase_messages([answer])
    rows.delete()
    return there
