"""From stored messages to vectors."""

from memory.embedding.building import migrate_entries
from memory.embedding.change import Change, cancel, change, pause, resume, start
from memory.embedding.spaces import MIGRATE, active_space, notice_change, serving, serving_space
from memory.embedding.work import embed_entries, embedded_text

__all__ = [
    "MIGRATE",
    "Change",
    "active_space",
    "cancel",
    "change",
    "embed_entries",
    "embedded_text",
    "migrate_entries",
    "notice_change",
    "pause",
    "resume",
    "serving",
    "serving_space",
    "start",
]
