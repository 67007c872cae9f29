"""One module per noun: fields, constraints and query-set methods only."""

from memory.models.access import ApiKey
from memory.models.embedding import EmbeddingSpace
from memory.models.erasure import ErasureRequest, SubjectEpoch
from memory.models.guild import Audience, Channel, Guild
from memory.models.member import ConsentEvent, DailyCount, GuildMember, Member
from memory.models.message import Message
from memory.models.outbox import OutboxEntry
from memory.models.reply import Reply, ReplyMemory
from memory.models.state import InstallationState

__all__ = [
    "ApiKey",
    "Audience",
    "Channel",
    "ConsentEvent",
    "DailyCount",
    "EmbeddingSpace",
    "ErasureRequest",
    "Guild",
    "GuildMember",
    "InstallationState",
    "Member",
    "Message",
    "OutboxEntry",
    "Reply",
    "ReplyMemory",
    "SubjectEpoch",
]
