"""One module per noun: fields, constraints and query-set methods only."""

from memory.models.access import ApiKey
from memory.models.audit import AuditEntry, AuditHead
from memory.models.blocks import (
    ArchivalEntry,
    BlockRevision,
    Consolidation,
    MemoryBlock,
    PersonaProposal,
    ReplyBlock,
    Scope,
)
from memory.models.documents import (
    Chunk,
    Document,
    DocumentVersion,
    DocumentWord,
    EvaluationQuestion,
    EvaluationResult,
    EvaluationRun,
    ReplyChunk,
)
from memory.models.embedding import EmbeddingSpace
from memory.models.erasure import ErasedMessage, ErasedRange, ErasureRequest, SubjectEpoch
from memory.models.facts import Fact, FactBook, FactVersion, ReplyFact
from memory.models.guild import Audience, Channel, Guild
from memory.models.history import ChannelMark, HeldReply, Scan, ScanChannel, ScanMember, TouchedMessage
from memory.models.member import ConsentEvent, DailyCount, GuildMember, Member
from memory.models.message import Message, MessagePart
from memory.models.outbox import OutboxEntry
from memory.models.reply import Reply, ReplyContext, ReplyMemory
from memory.models.roles import Role, RoleGrant
from memory.models.state import InstallationState

__all__ = [
    "ApiKey",
    "ArchivalEntry",
    "Audience",
    "AuditEntry",
    "AuditHead",
    "BlockRevision",
    "Channel",
    "ChannelMark",
    "Chunk",
    "ConsentEvent",
    "Consolidation",
    "DailyCount",
    "Document",
    "DocumentVersion",
    "DocumentWord",
    "EmbeddingSpace",
    "ErasedMessage",
    "ErasedRange",
    "ErasureRequest",
    "EvaluationQuestion",
    "EvaluationResult",
    "EvaluationRun",
    "Fact",
    "FactBook",
    "FactVersion",
    "Guild",
    "GuildMember",
    "HeldReply",
    "InstallationState",
    "Member",
    "MemoryBlock",
    "Message",
    "MessagePart",
    "OutboxEntry",
    "PersonaProposal",
    "Reply",
    "ReplyBlock",
    "ReplyChunk",
    "ReplyContext",
    "ReplyFact",
    "ReplyMemory",
    "Role",
    "RoleGrant",
    "Scan",
    "ScanChannel",
    "ScanMember",
    "Scope",
    "SubjectEpoch",
    "TouchedMessage",
]
