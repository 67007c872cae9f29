"""What was asked to be forgotten, and the proof that it was."""

from __future__ import annotations

import uuid

from django.db import models


class SubjectEpoch(models.Model):
    """How often a person's data was erased. Work that began under an older epoch is refused when it writes."""

    subject = models.CharField(max_length=32, primary_key=True, help_text="Keyed hash of the member's id.")
    epoch = models.PositiveIntegerField(default=0)

    def __str__(self) -> str:
        return f"epoch {self.epoch}"


class ErasureRequest(models.Model):
    """A request to forget a member. Once done it is the receipt: counts and a hash, no content and no id."""

    class State(models.TextChoices):
        RUNNING = "running"
        VERIFYING = "verifying"
        DONE = "done"
        FAILED = "failed"

    class Origin(models.TextChoices):
        MEMBER = "member", "the member"
        ADMIN = "admin", "an admin"
        API = "api", "the API"
        COMMAND = "command", "the command line"
        RETENTION = "retention", "the time to keep was over"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    subject = models.CharField(max_length=32, db_index=True)
    user_id = models.BigIntegerField(null=True, help_text="Cleared when the erasure is done.")
    epoch = models.PositiveIntegerField()
    origin = models.CharField(max_length=10, choices=Origin)
    state = models.CharField(max_length=10, choices=State, default=State.RUNNING)
    stage = models.CharField(max_length=40, blank=True)
    total = models.BigIntegerField(default=0)
    done = models.BigIntegerField(default=0)
    counts = models.JSONField(default=dict, help_text="Rows erased by store.")
    remains = models.JSONField(default=dict, help_text="What the re-scan found, by store; empty if nothing.")
    digest = models.CharField(max_length=64, blank=True, help_text="SHA-256 of the receipt.")
    received_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    error = models.CharField(max_length=300, blank=True)

    class Meta:
        indexes = [models.Index(fields=["-received_at"], name="erasure_newest")]

    def __str__(self) -> str:
        return f"erasure {self.id} ({self.state})"
