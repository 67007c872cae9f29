"""Keys of the API."""

from __future__ import annotations

from django.db import models


class ApiKey(models.Model):
    """A key of the API. Only its hash is stored; the key itself is shown once."""

    name = models.CharField(max_length=100)
    prefix = models.CharField(max_length=12, help_text="First characters, to tell keys apart.")
    digest = models.CharField(max_length=64, unique=True)
    scopes = models.JSONField(default=list)
    guilds = models.JSONField(
        null=True,
        blank=True,
        default=None,
        help_text="Ids of the servers that it is limited to; nothing for no limit.",
    )
    created_at = models.DateTimeField(auto_now_add=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"
