"""Reads for the dashboard and the API. Nothing here writes, and nothing counts the whole message table."""

from memory.selectors.erasures import erasure, erasures
from memory.selectors.guilds import GuildRow, channels, guild, guilds
from memory.selectors.members import (
    MemberFilters,
    find_member,
    member,
    member_inventory,
    member_origins,
    member_places,
    member_suggestions,
    members,
)
from memory.selectors.memories import (
    MemoryFilters,
    count_matching,
    keys_matching,
    memories,
    memories_by_key,
    memory,
    uses,
)
from memory.selectors.overview import Figures, activity, figures, rail_counts, state
from memory.selectors.paging import Page
from memory.selectors.replies import ReplyFilters, replies, reply, reply_memories

__all__ = [
    "Figures",
    "GuildRow",
    "MemberFilters",
    "MemoryFilters",
    "Page",
    "ReplyFilters",
    "activity",
    "channels",
    "count_matching",
    "erasure",
    "erasures",
    "figures",
    "find_member",
    "guild",
    "guilds",
    "keys_matching",
    "member",
    "member_inventory",
    "member_origins",
    "member_places",
    "member_suggestions",
    "members",
    "memories",
    "memories_by_key",
    "memory",
    "rail_counts",
    "replies",
    "reply",
    "reply_memories",
    "state",
    "uses",
]
