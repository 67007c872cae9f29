"""Core memory: blocks of text that stand in every prompt, the archive beside them, and how far a session was gone through."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils import timezone

from memory.models.embedding import EmbeddingSpace
from memory.models.guild import Guild
from memory.models.member import Member
from memory.models.message import Message
from memory.models.reply import Reply


class Scope(models.TextChoices):
    """Whose a block or an entry is. The server derives it from the event; a tool's arguments never name one."""

    GLOBAL = "global", "everywhere"
    GUILD = "guild", "one server"
    USER = "user", "one member"
    SESSION = "session", "one channel"


class MemoryBlock(models.Model):
    """A block of text with a version. Its text changes only together with the version and a revision."""

    class Label(models.TextChoices):
        PERSONA = "persona"
        HUMAN = "human"
        WORKING_CONTEXT = "working_context"

    scope = models.CharField(max_length=8, choices=Scope)
    scope_key = models.BigIntegerField(
        default=0, help_text="Discord's id of the server, member or channel; 0 for everywhere."
    )
    private = models.BooleanField(
        default=False, help_text="Learned in private conversations, and used only there."
    )
    label = models.CharField(max_length=20, choices=Label)
    member = models.ForeignKey(
        Member, null=True, blank=True, on_delete=models.CASCADE, related_name="memory_blocks"
    )
    description = models.CharField(max_length=300, blank=True)
    value = models.TextField(blank=True)
    limit = models.PositiveIntegerField(help_text="Characters that it may hold.")
    read_only = models.BooleanField(default=False, help_text="No tool may change it.")
    version = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["scope", "scope_key", "label", "private"], name="memory_block_once"
            )
        ]
        indexes = [models.Index(fields=["-updated_at", "-id"], name="memory_block_newest")]

    def __str__(self) -> str:
        return f"{self.label} {self.pk} (version {self.version})"


class BlockRevision(models.Model):
    """What a block held from one version on. Append-only; the oldest go when there are too many."""

    class Actor(models.TextChoices):
        MODEL = "model", "the model"
        USER = "user", "the member"
        ADMIN = "admin", "an admin"
        CONSOLIDATION = "consolidation", "consolidation"
        UNDO = "undo", "an undo"
        ERASURE = "erasure", "an erasure"

    block = models.ForeignKey(MemoryBlock, on_delete=models.CASCADE, related_name="revisions")
    version = models.PositiveIntegerField()
    value = models.TextField(blank=True)
    action = models.CharField(
        max_length=12, help_text="append, replace, rethink, edit, clear, undo, merge, approve, erase"
    )
    actor_kind = models.CharField(max_length=13, choices=Actor)
    actor = models.BigIntegerField(
        null=True,
        blank=True,
        help_text="Discord's id of the member whose turn it was; an admin's account number.",
    )
    reason = models.CharField(max_length=300, blank=True)
    source_message = models.ForeignKey(
        Message, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    source_channel_id = models.BigIntegerField(
        null=True, blank=True, help_text="The session that was gone through, where it came from one."
    )
    source_first = models.BigIntegerField(null=True, blank=True, help_text="Key of its first message.")
    source_last = models.BigIntegerField(null=True, blank=True, help_text="Key of its last message.")
    tool_call_id = models.CharField(max_length=120, null=True, blank=True, unique=True)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["block", "version"], name="block_revision_once")]
        indexes = [models.Index(fields=["actor", "actor_kind"], name="block_revision_actor")]

    def __str__(self) -> str:
        return f"version {self.version} ({self.action})"


class ArchivalEntry(models.Model):
    """One thing to remember, in full. Deleted ones stay for an undo until the member's data or the place goes."""

    class Embedding(models.TextChoices):
        PENDING = "pending"
        DONE = "done"
        FAILED = "failed"

    scope = models.CharField(max_length=8, choices=Scope, default=Scope.USER)
    scope_key = models.BigIntegerField()
    private = models.BooleanField(
        default=False, help_text="Learned in private conversations, and found only there."
    )
    member = models.ForeignKey(
        Member, null=True, blank=True, on_delete=models.CASCADE, related_name="archival_entries"
    )
    guild = models.ForeignKey(
        Guild, null=True, blank=True, on_delete=models.CASCADE, related_name="+", help_text="Learned there."
    )
    channel_id = models.BigIntegerField(null=True, blank=True, help_text="Learned there.")
    text = models.TextField()
    content_hash = models.CharField(max_length=64)
    tags = models.JSONField(default=list)
    event_time = models.DateTimeField(default=timezone.now)
    created_at = models.DateTimeField(default=timezone.now)
    embedding = models.CharField(max_length=8, choices=Embedding, default=Embedding.PENDING)
    space = models.ForeignKey(
        EmbeddingSpace, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    source_message = models.ForeignKey(
        Message, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    source_channel_id = models.BigIntegerField(
        null=True, blank=True, help_text="The session that was gone through, where it came from one."
    )
    source_first = models.BigIntegerField(null=True, blank=True, help_text="Key of its first message.")
    source_last = models.BigIntegerField(null=True, blank=True, help_text="Key of its last message.")
    tool_call_id = models.CharField(max_length=120, null=True, blank=True, unique=True)
    deleted_at = models.DateTimeField(null=True, blank=True)
    delete_reason = models.CharField(max_length=300, blank=True)

    class Meta:
        verbose_name_plural = "archival entries"
        constraints = [
            models.UniqueConstraint(
                fields=["scope", "scope_key", "private", "content_hash"],
                condition=Q(deleted_at__isnull=True),
                name="archival_live_once",
            )
        ]
        indexes = [
            models.Index(fields=["scope", "scope_key", "-event_time", "-id"], name="archival_of_scope"),
            models.Index(fields=["id"], condition=Q(embedding="pending"), name="archival_pending"),
        ]

    def __str__(self) -> str:
        return f"archival entry {self.pk}"


class Consolidation(models.Model):
    """How far what one member said in one session was gone through. The mark moves only when that succeeded."""

    member = models.ForeignKey(Member, on_delete=models.CASCADE, related_name="consolidations")
    channel_id = models.BigIntegerField(
        help_text="The session: a channel, a thread or a private conversation."
    )
    watermark_key = models.BigIntegerField(
        default=0,
        help_text="Key of the last message that was gone through; what was stored later is still to do.",
    )
    until = models.DateTimeField(
        null=True, blank=True, help_text="End of the session that is to be gone through."
    )
    done_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["member", "channel_id"], name="consolidation_once")]

    def __str__(self) -> str:
        return f"consolidation {self.pk}"


class PersonaProposal(models.Model):
    """A change of the persona that somebody other than an admin wants. It does nothing until an admin approves it."""

    class State(models.TextChoices):
        OPEN = "open"
        APPROVED = "approved"
        REJECTED = "rejected"

    scope = models.CharField(max_length=8, choices=Scope)
    scope_key = models.BigIntegerField(default=0)
    member = models.ForeignKey(
        Member,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="persona_proposals",
        help_text="Whose conversation it came from.",
    )
    value = models.TextField()
    reason = models.CharField(max_length=300, blank=True)
    base_version = models.PositiveIntegerField(default=0)
    state = models.CharField(max_length=8, choices=State, default=State.OPEN)
    created_at = models.DateTimeField(default=timezone.now)
    decided_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [models.Index(fields=["state", "-created_at"], name="persona_proposal_open")]

    def __str__(self) -> str:
        return f"proposal {self.pk} ({self.state})"


class ReplyBlock(models.Model):
    """A block that was in the prompt of a reply."""

    reply = models.ForeignKey(Reply, on_delete=models.CASCADE, related_name="blocks")
    block = models.ForeignKey(MemoryBlock, on_delete=models.CASCADE, related_name="uses")
    version = models.PositiveIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["reply", "block"], name="reply_block_once")]

    def __str__(self) -> str:
        return f"{self.reply_id}: {self.block_id}"
