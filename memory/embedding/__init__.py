"""From stored messages to vectors."""

from memory.embedding.again import embed_again
from memory.embedding.building import migrate_entries
from memory.embedding.change import Change, cancel, change, pause, resume, start
from memory.embedding.estimate import Estimate, estimate
from memory.embedding.keeping import Kept, drop_expired, drop_kept, keep_for, kept, roll_back
from memory.embedding.preparing import PREPARE, note_large_guilds, prepare_entries
from memory.embedding.spaces import MIGRATE, active_space, notice_change, serving, serving_space
from memory.embedding.work import embed_entries, embedded_text

__all__ = [
    "MIGRATE",
    "PREPARE",
    "Change",
    "Estimate",
    "Kept",
    "active_space",
    "cancel",
    "change",
    "drop_expired",
    "drop_kept",
    "embed_again",
    "embed_entries",
    "embedded_text",
    "estimate",
    "keep_for",
    "kept",
    "migrate_entries",
    "note_large_guilds",
    "notice_change",
    "pause",
    "prepare_entries",
    "resume",
    "roll_back",
    "serving",
    "serving_space",
    "start",
]
