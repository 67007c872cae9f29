"""What a change to another embedding model would take: measured on sentences of ours, never on what members wrote."""

from __future__ import annotations

import time
from dataclasses import dataclass

from django.db.models import Sum

from memory import backends
from memory.conf import ModelRef
from memory.embedding.keeping import size_of
from memory.errors import ModelReplyInvalid
from memory.models import Chunk, Guild

MEASURED_SECONDS = 3.0
BATCH = 16
MOST_BATCHES = 8
_SENTENCES = (
    "See you at the harbour at nine, bring a warm jacket.",
    "Does anybody know whether the library is open on Sunday, or only the café beside it?",
    "I have uploaded the new drawings; the second sheet shows how the frame is joined, and where the cable goes.",
    "Thanks!",
    "El martes no puedo, ¿qué tal el miércoles a las seis?",
    "The release went out an hour ago. Please report what breaks, with the version and what you did before it broke.",
    "I prefer tea to coffee, and trains to planes.",
    "Wer hat den Schlüssel für den Schuppen? Ich brauche die Leiter.",
)


@dataclass(frozen=True, slots=True)
class Estimate:
    """Times are seconds, sizes bytes."""

    model: str
    dimension: int
    rate: float
    """Messages a second."""
    messages: int
    passages: int
    """Of documents; they are embedded anew as well."""
    seconds: float
    bytes: int
    """What the new vectors take; the older ones stay beside them until they are dropped."""


def estimate(reference: ModelRef) -> Estimate:
    """Asks the model for some vectors and counts how long that takes. Raises ``ModelError`` where it does not answer."""
    embedder = backends.embedder_for(reference)
    embedder.embed_documents([_SENTENCES[0]])  # loads the model, which is no part of the rate
    done, began = 0, time.monotonic()
    while done < BATCH * MOST_BATCHES and (not done or time.monotonic() - began < MEASURED_SECONDS):
        # A different ending each time, or a server's cache would be measured.
        texts = [f"{_SENTENCES[n % len(_SENTENCES)]} {done + n}" for n in range(BATCH)]
        if len(embedder.embed_documents(texts)) != len(texts):
            raise ModelReplyInvalid("The model did not return one vector for each text.")
        done += len(texts)
    rate = done / max(time.monotonic() - began, 1e-6)
    messages = Guild.objects.aggregate(total=Sum("message_count"))["total"] or 0
    passages = Chunk.objects.count()
    dimension = embedder.identity().dimension
    return Estimate(
        model=str(reference),
        dimension=dimension,
        rate=rate,
        messages=messages,
        passages=passages,
        seconds=(messages + passages) / rate,
        bytes=size_of(messages + passages, dimension),
    )
