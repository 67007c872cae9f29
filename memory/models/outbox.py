"""Durable work: a row is written with the data that needs it, and goes when it is done."""

from __future__ import annotations

from django.db import models


class OutboxEntry(models.Model):
    """One piece of work. ``queued`` and due, or ``running`` under a lease, or ``failed`` with a reason to look at."""

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        FAILED = "failed"
        PAUSED = "paused"

    kind = models.CharField(max_length=20, help_text="Which handler does it: embed, erase, …")
    subject = models.BigIntegerField(
        default=0, help_text="What it is about: a message's key, a request's id."
    )
    user_id = models.BigIntegerField(null=True, blank=True, help_text="Whose data it touches.")
    epoch = models.PositiveIntegerField(default=0, help_text="That member's epoch when it was written.")
    state = models.CharField(max_length=8, choices=State, default=State.QUEUED)
    attempts = models.PositiveIntegerField(default=0)
    due_at = models.DateTimeField()
    lease_until = models.DateTimeField(null=True, blank=True)
    lease = models.CharField(max_length=32, blank=True, help_text="Who is doing it.")
    error_code = models.CharField(max_length=40, blank=True)
    error = models.CharField(max_length=300, blank=True, help_text="Why the last attempt failed; no content.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["kind", "subject"], name="outbox_once")]
        indexes = [
            models.Index(fields=["kind", "state", "due_at", "id"], name="outbox_due"),
            models.Index(fields=["user_id"], name="outbox_user"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.subject} ({self.state})"
