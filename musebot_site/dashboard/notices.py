"""What the overview says of changes that are under way: another embedding model, a memory of the original."""

from __future__ import annotations

from typing import Literal

from memory import embedding
from memory.capture.importing import imported_files
from memory.conf import get_config
from musebot_site import earlier_memory

Notice = tuple[Literal["ok", "busy", "attention", "failed", "off"], str, str, str]
"""State, what, why, and where to look."""


def earlier_memories() -> list[Notice]:
    """Memories of the original that were set aside: to be imported, or to be deleted once they are."""
    found: list[Notice] = []
    imported = imported_files()
    for path in earlier_memory.found(get_config().database_path):
        if path.name in imported:
            why = "It still holds what people said, and an erasure does not reach it: delete it once all is well."
            found.append(("attention", f"{path.name} was imported and is still there", why, ""))
        else:
            why = f"Take it over with: python manage.py import_musebot {path}"
            found.append(("attention", f"A memory of Musebot waits to be imported ({path.name})", why, ""))
    return found


def embedding_change() -> list[Notice]:
    """Another embedding model, whose vectors are being built or were declined."""
    change = embedding.change()
    if change is None or change.state == "finishing":
        return []
    what = f"The embedding model was changed from {change.older} to {change.newer}"
    if change.state == "declined":
        return [("attention", what, f"That was cancelled: {change.older} is still used.", "/jobs/")]
    serves = (
        "Words alone serve until it is done." if change.words_only else f"{change.older} serves meanwhile."
    )
    done = f"{change.done:,} of {change.total:,} messages are embedded anew. {serves}"
    return [("attention" if change.words_only or change.error else "busy", what, done, "/jobs/")]
