"""Memories: one row a message."""

from __future__ import annotations

from django.db import models

from memory.models.embedding import EmbeddingSpace
from memory.models.fields import RowKeyField
from memory.models.guild import Channel, Guild
from memory.models.member import Member


def _newest_of_few(embedding: str) -> list[models.Index]:
    """For what few messages are: without them a page of these would look through all others."""
    condition = models.Q(embedding=embedding)
    return [
        models.Index(fields=["-sent_at", "-key"], condition=condition, name=f"message_{embedding}_newest"),
        models.Index(
            fields=["guild", "-sent_at", "-key"], condition=condition, name=f"message_guild_{embedding}"
        ),
    ]


class Message(models.Model):
    """A message of a member who has opted in, or a reply that the bot gave to one.

    ``key`` is the guild's ordinal in the high bits and a running number in the low 40: the same key serves the vector index and
    the full-text index, and constrains both to one guild. ``member`` is the owner, whose consent it hangs on; the author of a
    reply is the bot.
    """

    class Embedding(models.TextChoices):
        PENDING = "pending"
        DONE = "done"
        FAILED = "failed"
        NONE = "none", "nothing to embed"

    key = RowKeyField(primary_key=True)
    guild = models.ForeignKey(Guild, on_delete=models.CASCADE, related_name="messages", db_index=False)
    channel = models.ForeignKey(Channel, on_delete=models.CASCADE, related_name="messages", db_index=False)
    member = models.ForeignKey(Member, on_delete=models.CASCADE, related_name="messages", db_index=False)
    author_id = models.BigIntegerField()
    author_name = models.CharField(max_length=200, help_text="As shown when it was written.")
    is_bot = models.BooleanField(default=False)
    discord_id = models.BigIntegerField(null=True, blank=True)
    reply_to = models.BigIntegerField(
        null=True, blank=True, help_text="Discord's id of the message it answers."
    )
    text = models.TextField(help_text="As written, less mentions of the bot.")
    captions = models.TextField(blank=True, help_text="What its images show; indexed with the text.")
    content = models.JSONField(default=dict, help_text="The full record in the specification's shape.")
    sent_at = models.DateTimeField()
    edited_at = models.DateTimeField(null=True, blank=True)
    stored_at = models.DateTimeField(auto_now_add=True)
    source = models.CharField(max_length=12, default="live")
    paused = models.BooleanField(default=False, help_text="Kept, but not recalled.")
    embedding = models.CharField(max_length=8, choices=Embedding, default=Embedding.PENDING)
    space = models.ForeignKey(
        EmbeddingSpace, null=True, blank=True, on_delete=models.SET_NULL, db_index=False, related_name="+"
    )
    times_used = models.PositiveIntegerField(default=0)
    last_used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["discord_id"],
                condition=models.Q(discord_id__isnull=False),
                name="message_discord_id_once",
            )
        ]
        # One index for each order that a page offers; the key makes each order total.
        indexes = [
            models.Index(fields=["-sent_at", "-key"], name="message_newest"),
            models.Index(fields=["guild", "-sent_at", "-key"], name="message_guild_newest"),
            models.Index(fields=["channel", "-sent_at", "-key"], name="message_channel_newest"),
            models.Index(fields=["member", "-sent_at", "-key"], name="message_member_newest"),
            models.Index(fields=["key"], condition=models.Q(embedding="pending"), name="message_pending"),
            models.Index(fields=["key"], condition=models.Q(embedding="failed"), name="message_failed"),
            models.Index(fields=["source", "-sent_at", "-key"], name="message_source_newest"),
            models.Index(fields=["guild", "source", "-sent_at", "-key"], name="message_guild_source"),
            *_newest_of_few("pending"),
            *_newest_of_few("failed"),
            *_newest_of_few("none"),
        ]

    def __str__(self) -> str:
        return f"message {self.key}"


class MessagePart(models.Model):
    """A further message on Discord that a long answer went on in; the answer is stored once, under the id of its first part."""

    discord_id = models.BigIntegerField(primary_key=True)
    message = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="parts")

    def __str__(self) -> str:
        return f"part {self.discord_id} of message {self.message_id}"
