"""What comes in from Discord or an import, and what leaves it again. The consent gate stands before everything."""

from memory.capture.edits import edit_message
from memory.capture.enrich import enrich_entries, interpretations, supply_refresher
from memory.capture.forgetting import (
    continue_forgetting_channels,
    continue_forgetting_guilds,
    forget_channel,
    forget_guild,
    forget_messages,
    leave_guild,
    purge_guild,
)
from memory.capture.places import remember_guild
from memory.capture.services import (
    RecordResult,
    record_message,
    record_messages,
    record_reply,
    record_together,
)

__all__ = [
    "RecordResult",
    "continue_forgetting_channels",
    "continue_forgetting_guilds",
    "edit_message",
    "enrich_entries",
    "forget_channel",
    "forget_guild",
    "forget_messages",
    "leave_guild",
    "purge_guild",
    "interpretations",
    "record_message",
    "record_messages",
    "record_reply",
    "record_together",
    "remember_guild",
    "supply_refresher",
]
