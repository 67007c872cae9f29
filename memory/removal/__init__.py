"""Taking messages out of everything that was made from them: words, vectors, traces, queued work, kept counts, notes, rows."""

from memory.removal.batches import delete, listed
from memory.removal.messages import BATCH, remove, remove_core_memory, vector_indexes
from memory.removal.notes import noted_in, strike, strike_turns

__all__ = [
    "BATCH",
    "delete",
    "listed",
    "noted_in",
    "remove",
    "remove_core_memory",
    "strike",
    "strike_turns",
    "vector_indexes",
]
