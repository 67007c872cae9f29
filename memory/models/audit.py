"""Who saw or changed what: entries that are only ever added, each sealed by the hash of all before it."""

from __future__ import annotations

from typing import Any, NoReturn

from django.db import models


class AppendOnly(models.QuerySet["AuditEntry"]):
    """Refuses what would change or remove an entry."""

    def update(self, **values: Any) -> NoReturn:
        raise TypeError("An entry of the audit is never changed.")

    def delete(self) -> NoReturn:
        raise TypeError("An entry of the audit is never removed.")

    bulk_update = update  # type: ignore[assignment]


class AuditEntry(models.Model):
    """One act. Written by ``memory.audit.record`` alone.

    It holds no content, no name and no id of Discord's that stands for a person: a member is named by the keyed pseudonym of
    ``memory.pseudonyms``, whose key is not in the database.
    """

    number = models.BigIntegerField(primary_key=True, help_text="1, 2, 3 and so on without a gap.")
    at = models.DateTimeField()
    actor = models.CharField(max_length=60, help_text="admin:3, member:PSEUDONYM, key:4, command")
    action = models.CharField(max_length=40, help_text="What was done, as a stable code.")
    kind = models.CharField(max_length=30, help_text="What it was done to.")
    object_id = models.CharField(max_length=64, blank=True)
    guild = models.BigIntegerField(
        null=True, help_text="Discord's id of the server; empty for all, and for private conversations."
    )
    result = models.CharField(max_length=20, default="ok")
    counts = models.JSONField(default=dict)
    hash = models.CharField(max_length=64, help_text="SHA-256 over the entry before and this one.")

    objects = AppendOnly.as_manager()

    class Meta:
        verbose_name_plural = "audit entries"
        indexes = [
            models.Index(fields=["actor", "-number"], name="audit_actor"),
            models.Index(fields=["action", "-number"], name="audit_action"),
            models.Index(fields=["object_id", "-number"], name="audit_object"),
            models.Index(fields=["guild", "-number"], name="audit_guild"),
            models.Index(fields=["result", "-number"], name="audit_result"),
        ]

    def __str__(self) -> str:
        return f"{self.number}. {self.action}"

    def save(self, **options: Any) -> None:
        super().save(**{**options, "force_insert": True})

    def delete(self, *args: Any, **options: Any) -> NoReturn:
        raise TypeError("An entry of the audit is never removed.")


class AuditHead(models.Model):
    """The one row that says where the chain ends. Writers take turns by locking it."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    number = models.BigIntegerField(default=0)
    hash = models.CharField(max_length=64, blank=True)
    seal = models.CharField(max_length=64, blank=True, help_text="Keyed hash over number and hash.")
    doubted_at = models.BigIntegerField(
        null=True, help_text="Number of the entry before which the head was lost or forged."
    )

    def __str__(self) -> str:
        return f"entry {self.number}"
