"""What was asked to be forgotten, the proof that it was, and what of it must not come back."""

from __future__ import annotations

import uuid
from datetime import datetime

from django.db import models
from django.db.models import Q
from django.utils import timezone


class SubjectEpoch(models.Model):
    """How often a person's data was erased. Work that began under an older epoch is refused when it writes."""

    subject = models.CharField(max_length=32, primary_key=True, help_text="Keyed hash of the member's id.")
    epoch = models.PositiveIntegerField(default=0)

    def __str__(self) -> str:
        return f"epoch {self.epoch}"


class ErasureQuerySet(models.QuerySet["ErasureRequest"]):
    def to_do(self) -> ErasureQuerySet:
        """Requests that somebody still has to start."""
        return self.filter(state__in=[ErasureRequest.State.RECEIVED, ErasureRequest.State.PREVIEWED])

    def not_over(self) -> ErasureQuerySet:
        """Requests of which the person has no answer yet."""
        return self.exclude(state__in=[ErasureRequest.State.DONE, ErasureRequest.State.CLOSED])

    def overdue(self, now: datetime) -> ErasureQuerySet:
        return self.not_over().filter(due_at__lt=now)


class ErasureRequest(models.Model):
    """A request to forget a member, or a part of what is stored of one. Once done it is the receipt: counts and a hash, no content
    and no id.

    A part is narrowed by any of server, channel, span of time and one memory; the consent stays, and so does everything else.
    """

    class State(models.TextChoices):
        RECEIVED = "received"
        PREVIEWED = "previewed"
        RUNNING = "running"
        VERIFYING = "verifying"
        DONE = "done"
        FAILED = "failed"
        CLOSED = "closed", "closed without an erasure"

    class Origin(models.TextChoices):
        MEMBER = "member", "the member"
        MAIL = "mail", "a mail"
        ADMIN = "admin", "an admin"
        API = "api", "the API"
        COMMAND = "command", "the command line"
        RETENTION = "retention", "the time to keep was over"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    subject = models.CharField(max_length=32, db_index=True)
    user_id = models.BigIntegerField(null=True, help_text="Cleared when the erasure is done.")
    epoch = models.PositiveIntegerField(help_text="That the erasure began; 0 before.")
    origin = models.CharField(max_length=10, choices=Origin)
    state = models.CharField(max_length=10, choices=State, default=State.RUNNING)
    stage = models.CharField(max_length=40, blank=True)
    total = models.BigIntegerField(default=0)
    done = models.BigIntegerField(default=0)
    preview = models.JSONField(default=dict, help_text="Rows by store, as last counted before it began.")
    counts = models.JSONField(default=dict, help_text="Rows erased by store.")
    remains = models.JSONField(default=dict, help_text="What the re-scan found, by store; empty if nothing.")
    digest = models.CharField(max_length=64, blank=True, help_text="SHA-256 of the receipt.")
    received_at = models.DateTimeField(default=timezone.now)
    due_at = models.DateTimeField(null=True, blank=True)
    previewed_at = models.DateTimeField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    error = models.CharField(max_length=300, blank=True)
    partial = models.BooleanField(default=False)
    guild_id = models.BigIntegerField(null=True, help_text="Discord's id of the one server.")
    channel_id = models.BigIntegerField(null=True, help_text="Discord's id of the one channel.")
    since = models.DateTimeField(null=True, blank=True)
    until = models.DateTimeField(null=True, blank=True, help_text="Not included.")
    message_key = models.BigIntegerField(null=True, help_text="Key of the one memory.")
    message_id = models.BigIntegerField(null=True, help_text="Discord's id of the one memory.")
    sample = models.JSONField(
        default=list, help_text="Ids of some erased messages, to look for in the files; cleared when done."
    )

    objects = ErasureQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["-received_at"], name="erasure_newest"),
            models.Index(fields=["due_at"], condition=~Q(state__in=["done", "closed"]), name="erasure_due"),
        ]

    def __str__(self) -> str:
        return f"erasure {self.id} ({self.state})"


class ErasedRange(models.Model):
    """What of a member was erased although they did not withdraw: no history that is read later brings it back. No content.

    It covers what they wrote, and what the bot answered them, in that server or channel (empty: anywhere) in that span of time
    (empty: since ever), or one message alone.
    """

    id = models.BigAutoField(primary_key=True)
    subject = models.CharField(max_length=32, db_index=True, help_text="Keyed hash of the member's id.")
    request_id = models.UUIDField()
    guild_id = models.BigIntegerField(null=True)
    channel_id = models.BigIntegerField(null=True)
    since = models.DateTimeField(null=True)
    until = models.DateTimeField(null=True, help_text="Not included.")
    message_id = models.BigIntegerField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["request_id"], name="erased_range_once")]

    def __str__(self) -> str:
        return f"erased range {self.pk}"


class ErasedMessage(models.Model):
    """A single message that was erased although its owner did not withdraw: no history and no import brings it back. No content."""

    id = models.BigAutoField(primary_key=True)
    message_id = models.BigIntegerField(help_text="Discord's id.")
    subject = models.CharField(max_length=32, help_text="Keyed hash of the owner's id.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["message_id", "subject"], name="erased_message_once")]

    def __str__(self) -> str:
        return f"erased message {self.message_id}"
