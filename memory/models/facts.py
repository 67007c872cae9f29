"""What is known of a member in short sentences, and which replies leaned on it."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from memory.models.guild import Guild
from memory.models.member import Member
from memory.models.message import Message
from memory.models.reply import Reply


class Fact(models.Model):
    """One sentence about one member. It goes with the message that it came from, and with the member."""

    class Source(models.TextChoices):
        AUTO = "auto", "found in a message"
        MANUAL = "manual", "written by hand"

    class State(models.TextChoices):
        ACTIVE = "active"
        SUPERSEDED = "superseded"
        EXPIRED = "expired"
        QUARANTINED = "quarantined"

    class Trust(models.IntegerChoices):
        MODEL = 1, "a model's reading of a message"
        MEMBER = 2, "the member"
        OPERATOR = 3, "an operator"

    class Audience(models.TextChoices):
        ANYWHERE = "any", "anywhere"
        GUILD = "guild", "one server"
        PRIVATE = "dm", "a private conversation"

    member = models.ForeignKey(Member, on_delete=models.CASCADE, related_name="facts")
    namespace = models.CharField(max_length=100)
    text = models.TextField(blank=True, help_text="Empty once it has expired.")
    normal = models.CharField(
        max_length=64, help_text="Hash of the text without case, punctuation and spaces."
    )
    source = models.CharField(max_length=6, choices=Source)
    trust = models.PositiveSmallIntegerField(choices=Trust, default=Trust.MODEL)
    state = models.CharField(max_length=11, choices=State, default=State.ACTIVE)
    reason = models.CharField(
        max_length=30, blank=True, help_text="Why it is in quarantine, as a stable code."
    )
    superseded_by = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.SET_NULL, related_name="supersedes"
    )
    rival = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="rivals",
        help_text="The fact that this one may contradict, until somebody decides.",
    )
    evidence = models.ForeignKey(
        Message, null=True, blank=True, on_delete=models.CASCADE, related_name="facts"
    )
    audience = models.CharField(max_length=5, choices=Audience, default=Audience.ANYWHERE)
    guild = models.ForeignKey(
        Guild, null=True, blank=True, on_delete=models.CASCADE, related_name="+", help_text="Learned there."
    )
    said_at = models.DateTimeField(help_text="When it was last stated.")
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["member", "namespace", "normal"],
                condition=models.Q(state="active"),
                name="fact_active_once",
            )
        ]
        indexes = [
            models.Index(fields=["member", "namespace", "state", "created_at"], name="fact_of_member"),
            models.Index(fields=["state", "-updated_at", "-id"], name="fact_newest"),
            models.Index(
                fields=["expires_at"], condition=models.Q(expires_at__isnull=False), name="fact_expiry"
            ),
        ]

    def __str__(self) -> str:
        return f"fact {self.pk} ({self.state})"


class FactVersion(models.Model):
    """One earlier or present wording or state of a fact. Append-only; it goes with its fact."""

    fact = models.ForeignKey(Fact, on_delete=models.CASCADE, related_name="versions")
    text = models.TextField(blank=True)
    action = models.CharField(max_length=12, help_text="created, edited, superseded, merged, approved, …")
    actor = models.CharField(max_length=10, help_text="model, member, operator, expiry")
    at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"{self.action} {self.at:%Y-%m-%d}"


class FactBook(models.Model):
    """One a member: how often everything was forgotten. What began before the last time is not written any more."""

    member = models.OneToOneField(
        Member, primary_key=True, on_delete=models.CASCADE, related_name="fact_book"
    )
    forgotten = models.PositiveIntegerField(default=0)

    def __str__(self) -> str:
        return f"forgotten {self.forgotten} times"


class ReplyFact(models.Model):
    """A fact that was in the prompt of a reply."""

    reply = models.ForeignKey(Reply, on_delete=models.CASCADE, related_name="facts")
    fact = models.ForeignKey(Fact, on_delete=models.CASCADE, related_name="uses")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["reply", "fact"], name="reply_fact_once")]

    def __str__(self) -> str:
        return f"{self.reply_id}: {self.fact_id}"
