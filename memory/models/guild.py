"""Servers, their channels, and who can read which channel."""

from __future__ import annotations

from django.db import models


class Guild(models.Model):
    """A scope of memories: a Discord server, a private conversation, or the dashboard's sandbox.

    ``ordinal`` stands in the high bits of the keys of its messages and is never used again.
    """

    class Kind(models.TextChoices):
        GUILD = "guild", "server"
        DM = "dm", "private conversation"
        SANDBOX = "sandbox", "sandbox"

    class RecallPolicy(models.TextChoices):
        AUDIENCE = "audience", "what everybody in the channel may read"
        MEMBER = "member", "what the person who asks may read"
        GUILD = "guild", "everything said in the server"

    class Recalls(models.TextChoices):
        """What of that is used where an answer is given."""

        READERS = "readers", "everything its readers can read"
        CHANNEL = "channel", "this channel only"
        NOTHING = "nothing", "nothing"

    ordinal = models.AutoField(primary_key=True)
    discord_id = models.BigIntegerField(unique=True, help_text="The server's id; for a DM, its channel's.")
    kind = models.CharField(max_length=8, choices=Kind, default=Kind.GUILD)
    name = models.CharField(max_length=200, blank=True)
    recall_policy = models.CharField(max_length=8, choices=RecallPolicy, default=RecallPolicy.AUDIENCE)
    enabled = models.BooleanField(
        default=True,
        help_text="Switched off, nothing is stored and nobody is answered, whatever else is set.",
    )
    capture_enabled = models.BooleanField(default=True, help_text="For channels that say nothing else.")
    reply_enabled = models.BooleanField(default=True, help_text="For channels that say nothing else.")
    mention_needed = models.BooleanField(
        null=True, blank=True, help_text="For channels that say nothing else; empty: as configured."
    )
    recalls = models.CharField(
        max_length=8,
        choices=Recalls,
        default=Recalls.READERS,
        help_text="For channels that say nothing else.",
    )
    policy_count = models.PositiveIntegerField(
        default=0, help_text="Changes of the policies here and in the channels; the version of the next one."
    )
    policy_version = models.PositiveIntegerField(
        default=0, help_text="Of the last change of the server's own."
    )
    is_sample = models.BooleanField(default=False, help_text="Invented people, to look at.")
    next_sequence = models.BigIntegerField(default=1, help_text="Low bits of the next message's key.")
    message_count = models.BigIntegerField(default=0, help_text="Kept in the transaction that writes.")
    snapshot_at = models.DateTimeField(null=True, blank=True, help_text="When the readers were last known.")
    left_at = models.DateTimeField(null=True, blank=True)
    keep_after_leaving_days = models.PositiveIntegerField(
        default=30,
        help_text="Days until what was said is purged once the bot, or its author, has left the server.",
    )
    max_age_days = models.PositiveIntegerField(
        null=True, blank=True, help_text="Older messages are purged daily; empty for no limit."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.name or str(self.discord_id)


class Audience(models.Model):
    """One set of people who can read some channels, as sorted keyed hashes: no id of anybody stands in it."""

    guild = models.ForeignKey(Guild, on_delete=models.CASCADE, related_name="audiences")
    digest = models.CharField(max_length=64)
    readers = models.BinaryField(help_text="Little-endian unsigned 64-bit integers, ascending.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["guild", "digest"], name="audience_once")]

    def __str__(self) -> str:
        return f"{len(self.readers) // 8} readers"


class Channel(models.Model):
    """A channel, thread, forum post or private conversation.

    A policy that is empty is inherited: a thread's from the channel it belongs to, a channel's from its category, and last from
    the server. A category is a row as well (kind ``category``); nothing is said in one.
    """

    CATEGORY = "category"

    discord_id = models.BigIntegerField(primary_key=True)
    guild = models.ForeignKey(Guild, on_delete=models.CASCADE, related_name="channels")
    parent = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.SET_NULL, related_name="threads"
    )
    category = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="channels_below",
        help_text="Whose policies count where the channel has none of its own.",
    )
    kind = models.CharField(max_length=20, default="text")
    name = models.CharField(max_length=200, blank=True)
    topic = models.TextField(blank=True)
    capture_enabled = models.BooleanField(null=True, blank=True)
    reply_enabled = models.BooleanField(null=True, blank=True)
    mention_needed = models.BooleanField(null=True, blank=True)
    recalls = models.CharField(max_length=8, choices=Guild.Recalls, blank=True)
    policy_version = models.PositiveIntegerField(
        default=0, help_text="Of the last change of its policies, by its server's count."
    )
    audience = models.ForeignKey(
        Audience,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        help_text="Unknown: what was said here is recalled here only.",
    )
    message_count = models.BigIntegerField(default=0)
    deleted_at = models.DateTimeField(null=True, blank=True)
    context_cleared_at = models.DateTimeField(
        null=True, blank=True, help_text="Messages before this are no longer part of the rolling context."
    )

    def __str__(self) -> str:
        mark = "" if self.kind == self.CATEGORY else "#"
        return f"{mark}{self.name}" if self.name else str(self.discord_id)
