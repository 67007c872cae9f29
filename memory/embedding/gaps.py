"""Messages that count as embedded and whose vector is not there. There should be none; recall would find them by words alone."""

from __future__ import annotations

from django.db import transaction

from memory import backends
from memory.embedding.building import PAGE, queue_again, without
from memory.embedding.spaces import serving_space
from memory.models import Message


def missing_vectors(*, mend: bool) -> int:
    """How many there are; with ``mend`` they are queued to be embedded again."""
    space = serving_space()
    if space is None:
        return 0
    index, after, count = backends.vector_index(space), -1, 0
    rows = Message.objects.filter(embedding=Message.Embedding.DONE, space=space).order_by("key")
    while page := list(rows.filter(key__gt=after).values_list("key", flat=True)[:PAGE]):
        missing = without(page, index, after)
        # One may have been embedded or erased between the two looks.
        missing = list(
            rows.filter(key__in=set(missing) - set(index.vectors(missing))).values_list("key", flat=True)
        )
        count += len(missing)
        if mend and missing:
            with transaction.atomic():
                queue_again(missing)
        after = page[-1]
    return count
