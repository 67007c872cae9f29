"""Messages whose vectors are made anew, because somebody asked for it."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from memory.embedding.building import queue_again

BATCH = 500


def embed_again(keys: Sequence[int]) -> int:
    """Queues messages for the embedder, those that it refused before included; returns how many.

    What is found by meaning until then is found by the vector that is there. One without anything to embed stays as it is.
    """
    queued = 0
    for start in range(0, len(keys), BATCH):
        with transaction.atomic():
            queued += queue_again(keys[start : start + BATCH])
    return queued
