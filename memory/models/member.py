"""People who opted in. A row exists while the consent does: no row, no consent."""

from __future__ import annotations

from django.db import models

from memory.models.guild import Guild


class Member(models.Model):
    """A person who has opted in, on all servers. Withdrawing removes the row; their epoch stays (``SubjectEpoch``)."""

    ORIGINS = ("discord", "import", "sample", "sandbox")

    user_id = models.BigIntegerField(primary_key=True, help_text="Discord's id.")
    username = models.CharField(max_length=100, blank=True)
    display_name = models.CharField(max_length=200, blank=True)
    consented_at = models.DateTimeField()
    notice_version = models.CharField(max_length=20)
    origin = models.CharField(max_length=20, default="discord", help_text="discord, import, sample, sandbox")
    epoch = models.PositiveIntegerField(default=0)
    paused_at = models.DateTimeField(null=True, blank=True, help_text="Nothing new is stored while set.")
    withdrawn_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text="Set by an erasure's first step: nothing of theirs is written or recalled.",
    )
    message_count = models.BigIntegerField(default=0)
    last_message_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [models.Index(fields=["consented_at", "user_id"], name="member_consented")]

    def __str__(self) -> str:
        return self.display_name or self.username or str(self.user_id)


class GuildMember(models.Model):
    """How a member is called in one server (recall finds people by these names), with their count of messages there."""

    guild = models.ForeignKey(Guild, on_delete=models.CASCADE, related_name="members")
    member = models.ForeignKey(Member, on_delete=models.CASCADE, related_name="guilds")
    username = models.CharField(max_length=100, blank=True)
    display_name = models.CharField(max_length=200, blank=True)
    message_count = models.BigIntegerField(default=0)
    left_at = models.DateTimeField(null=True, blank=True, help_text="When they left the server, if they did.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["guild", "member"], name="guild_member_once")]

    def __str__(self) -> str:
        return self.display_name or self.username


class DailyCount(models.Model):
    """Messages of a member in a server on one day (UTC), kept in the transaction that writes."""

    guild = models.ForeignKey(Guild, on_delete=models.CASCADE, related_name="+")
    member = models.ForeignKey(Member, on_delete=models.CASCADE, related_name="+")
    day = models.DateField()
    count = models.IntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["day", "guild", "member"], name="daily_count_once")]

    def __str__(self) -> str:
        return f"{self.day}: {self.count}"


class ConsentEvent(models.Model):
    """Append-only. The person is a keyed hash, so the record can outlive their data."""

    class Action(models.TextChoices):
        GIVEN = "given"
        WITHDRAWN = "withdrawn"
        PAUSED = "paused"
        RESUMED = "resumed"

    subject = models.CharField(max_length=32, db_index=True)
    action = models.CharField(max_length=10, choices=Action)
    at = models.DateTimeField()
    notice_version = models.CharField(max_length=20, blank=True)
    origin = models.CharField(max_length=20)

    def __str__(self) -> str:
        return f"{self.action} {self.at:%Y-%m-%d}"
