"""Reading what was said before: scans, the channels of each, who waits for them, and how far each channel was ever seen."""

from __future__ import annotations

from django.db import models

from memory.models.guild import Guild
from memory.models.member import Member


class Scan(models.Model):
    """One reading of a server's history, shared by all members who wait for it; or one catch-up after an absence.

    A catch-up is for everybody who has opted in and may touch several servers; it has neither members nor a server.
    """

    class Kind(models.TextChoices):
        BACKFILL = "backfill"
        CATCH_UP = "catch-up"

    class State(models.TextChoices):
        GATHERING = "gathering", "waiting for others who opt in"
        LISTING = "listing", "listing the channels"
        RUNNING = "running", "reading"
        PAUSED = "paused"
        DONE = "done"
        CANCELLED = "cancelled"
        FAILED = "failed"

    kind = models.CharField(max_length=10, choices=Kind)
    guild = models.ForeignKey(Guild, null=True, blank=True, on_delete=models.CASCADE, related_name="scans")
    state = models.CharField(max_length=10, choices=State, default=State.GATHERING)
    paused_from = models.CharField(max_length=10, blank=True, help_text="The state to go on in.")
    opened_at = models.DateTimeField(auto_now_add=True)
    begins_at = models.DateTimeField(
        help_text="Until then members join this scan; later ones get one of their own."
    )
    due_at = models.DateTimeField(help_text="Not before then: Discord asked to wait, or did not answer.")
    failures = models.PositiveIntegerField(default=0, help_text="In a row, while the channels are listed.")
    last_page_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    active_seconds = models.FloatField(default=0, help_text="Time spent reading, without pauses.")
    pages = models.PositiveIntegerField(default=0)
    scanned = models.BigIntegerField(default=0)
    stored = models.BigIntegerField(default=0)
    skipped = models.JSONField(default=dict, help_text="Messages that were not stored, by reason.")
    since = models.JSONField(
        default=dict,
        help_text="Catch-up: by server, after which message its unknown channels are read; listed or not.",
    )
    error_code = models.CharField(max_length=40, blank=True)

    class Meta:
        indexes = [models.Index(fields=["state", "kind"], name="scan_state")]

    def __str__(self) -> str:
        return f"{self.kind} {self.pk} ({self.state})"


class ScanMember(models.Model):
    """A member who waits for a scan, and how much it has found of theirs."""

    scan = models.ForeignKey(Scan, on_delete=models.CASCADE, related_name="members")
    member = models.ForeignKey(Member, on_delete=models.CASCADE, related_name="scans")
    epoch = models.PositiveIntegerField(help_text="Their epoch when they asked: an erasure since ends it.")
    stored = models.BigIntegerField(default=0)
    joined_at = models.DateTimeField(auto_now_add=True)
    told_at = models.DateTimeField(null=True, blank=True, help_text="When they learnt the result.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["scan", "member"], name="scan_member_once")]

    def __str__(self) -> str:
        return f"scan {self.scan_id}: {self.stored}"


class ScanChannel(models.Model):
    """One channel of a scan. ``cursor`` is committed with the page that it describes."""

    class State(models.TextChoices):
        WAITING = "waiting"
        DONE = "done"
        UNREADABLE = "unreadable", "may not be read"
        GONE = "gone"

    scan = models.ForeignKey(Scan, on_delete=models.CASCADE, related_name="channels")
    guild = models.ForeignKey(Guild, on_delete=models.CASCADE, related_name="+")
    channel_id = models.BigIntegerField()
    name = models.CharField(max_length=200, blank=True)
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    cursor = models.BigIntegerField(
        null=True, help_text="Backfill: the oldest message seen. Catch-up: the newest. Null: nothing yet."
    )
    window_read = models.BooleanField(
        default=False, help_text="Catch-up: the messages before the mark were compared."
    )
    requested = models.PositiveIntegerField(default=0, help_text="How often a catch-up was asked for.")
    newest_at = models.DateTimeField(null=True, blank=True)
    oldest_at = models.DateTimeField(null=True, blank=True)
    pages = models.PositiveIntegerField(default=0)
    scanned = models.BigIntegerField(default=0)
    stored = models.BigIntegerField(default=0)
    failures = models.PositiveIntegerField(
        default=0, help_text="In a row; a page that failed is asked for again."
    )
    due_at = models.DateTimeField()
    error_code = models.CharField(max_length=40, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["scan", "channel_id"], name="scan_channel_once")]
        indexes = [
            models.Index(fields=["scan", "state", "due_at"], name="scan_channel_due"),
            models.Index(
                fields=["channel_id"], condition=models.Q(state="waiting"), name="scan_channel_open"
            ),
        ]

    def __str__(self) -> str:
        return f"#{self.name} ({self.state})"


class HeldReply(models.Model):
    """A reply of the bot whose trigger Discord did not send along; looked up once the trigger is seen. Ids only."""

    channel = models.ForeignKey(ScanChannel, on_delete=models.CASCADE, related_name="held")
    reply_id = models.BigIntegerField()
    trigger_id = models.BigIntegerField()
    trigger_seen = models.BooleanField(
        default=False, help_text="It is of a member: the reply is to be fetched."
    )

    class Meta:
        verbose_name_plural = "held replies"
        constraints = [models.UniqueConstraint(fields=["channel", "reply_id"], name="held_reply_once")]

    def __str__(self) -> str:
        return str(self.reply_id)


class ChannelMark(models.Model):
    """Up to which message a channel was seen, whoever wrote it. What comes after it is caught up."""

    channel_id = models.BigIntegerField(primary_key=True)
    guild = models.ForeignKey(Guild, on_delete=models.CASCADE, related_name="marks")
    seen_id = models.BigIntegerField()

    def __str__(self) -> str:
        return str(self.seen_id)


class TouchedMessage(models.Model):
    """A message that was deleted or edited while scans were open: a page fetched before then must not bring back what it was."""

    discord_id = models.BigIntegerField(primary_key=True)
    deleted = models.BooleanField(default=False)
    at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return str(self.discord_id)
