"""From stored messages to vectors."""

from memory.embedding.spaces import MIGRATE, active_space, migrate_entries
from memory.embedding.work import embed_entries, embedded_text

__all__ = ["MIGRATE", "active_space", "embed_entries", "embedded_text", "migrate_entries"]
