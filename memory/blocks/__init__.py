"""Core, archival and recall memory: blocks in every prompt, an archive to search, and the conversation itself."""

from memory.blocks.consolidation import CONSOLIDATE, consolidate_entries, end_session
from memory.blocks.embedding import EMBED, embed_entries
from memory.blocks.errors import BlockConflict, BlockError, OverLimit
from memory.blocks.providers import provider
from memory.blocks.reading import blocks_for, get, persona_for
from memory.blocks.toolbox import Toolbox
from memory.blocks.types import (
    Actor,
    Block,
    BlockRef,
    Place,
    Written,
    channel_persona,
    human,
    persona,
    working_context,
)
from memory.blocks.writing import append, clear, edit, replace, restore, rethink, set_limit, undo

__all__ = [
    "CONSOLIDATE",
    "EMBED",
    "Actor",
    "Block",
    "BlockConflict",
    "BlockError",
    "BlockRef",
    "OverLimit",
    "Place",
    "Toolbox",
    "Written",
    "append",
    "blocks_for",
    "channel_persona",
    "clear",
    "consolidate_entries",
    "edit",
    "embed_entries",
    "end_session",
    "get",
    "human",
    "persona",
    "persona_for",
    "provider",
    "replace",
    "restore",
    "rethink",
    "set_limit",
    "undo",
    "working_context",
]
