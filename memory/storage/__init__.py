"""Moving an installation to another storage: from SQLite to PostgreSQL and back."""

from memory.storage.move import Report, move

__all__ = ["Report", "move"]
