"""Every reply the bot gave, and what it leaned on. Memories are named by key, never copied."""

from __future__ import annotations

import uuid

from django.db import models

from memory.models.guild import Guild
from memory.models.message import Message


class Reply(models.Model):
    """The trace of one turn. It holds no text: question and answer are messages, and only of members who opted in."""

    class State(models.TextChoices):
        PENDING = "pending"
        DONE = "done"
        FAILED = "failed"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    guild = models.ForeignKey(Guild, null=True, on_delete=models.CASCADE, related_name="replies")
    channel_id = models.BigIntegerField(null=True)
    asker_id = models.BigIntegerField(null=True, help_text="Null for somebody who has not opted in.")
    trigger_id = models.BigIntegerField(
        null=True,
        unique=True,
        help_text="Discord's id of the message being answered: one message, one reply.",
    )
    question = models.ForeignKey(Message, null=True, on_delete=models.SET_NULL, related_name="+")
    answer = models.ForeignKey(Message, null=True, on_delete=models.SET_NULL, related_name="+")
    state = models.CharField(max_length=8, choices=State, default=State.PENDING)
    kind = models.CharField(max_length=12, blank=True, help_text="model, extractive, error")
    origin = models.CharField(max_length=12, default="discord", help_text="discord, dashboard, api, command")
    model = models.CharField(max_length=200, blank=True)
    host = models.CharField(max_length=200, blank=True)
    prompt_tokens = models.PositiveIntegerField(default=0)
    reply_tokens = models.PositiveIntegerField(default=0)
    timings = models.JSONField(default=dict, help_text="Milliseconds by stage.")
    cut = models.JSONField(default=dict)
    degraded = models.CharField(max_length=40, blank=True)
    error = models.CharField(max_length=40, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "replies"
        indexes = [
            models.Index(fields=["-created_at", "-id"], name="reply_newest"),
            models.Index(fields=["guild", "-created_at", "-id"], name="reply_guild_newest"),
            models.Index(fields=["asker_id"], name="reply_asker"),
            models.Index(
                fields=["state", "created_at"], condition=models.Q(state="pending"), name="reply_pending"
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)


class ReplyMemory(models.Model):
    """A memory that a turn considered: injected, or why not."""

    reply = models.ForeignKey(Reply, on_delete=models.CASCADE, related_name="memories")
    message = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="uses")
    rank = models.PositiveIntegerField()
    score = models.FloatField()
    scores = models.JSONField(default=dict)
    injected = models.BooleanField(default=True)
    why_excluded = models.CharField(max_length=20, blank=True)

    class Meta:
        verbose_name_plural = "reply memories"
        constraints = [models.UniqueConstraint(fields=["reply", "message"], name="reply_memory_once")]

    def __str__(self) -> str:
        return f"{self.rank}. {self.message_id}"


class ReplyContext(models.Model):
    """A message that stood in the conversation before the question, in the prompt of a reply."""

    id = models.BigAutoField(primary_key=True)
    reply = models.ForeignKey(Reply, on_delete=models.CASCADE, related_name="context", db_index=False)
    message = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["reply", "message"], name="reply_context_once")]

    def __str__(self) -> str:
        return f"{self.reply_id}: {self.message_id}"
