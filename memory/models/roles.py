"""Which account of the dashboard has which role, and where."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils import timezone


class Role(models.TextChoices):
    """What an account is there for. What each may do stands in ``musebot_site.dashboard.permissions``."""

    OWNER = "owner", "Owner"
    MODERATOR = "moderator", "Moderator"
    PRIVACY = "privacy", "Privacy officer"
    VIEWER = "viewer", "Viewer"


class RoleGrant(models.Model):
    """One role of one account, on one server or on all. An account may have several."""

    class Origin(models.TextChoices):
        HAND = "hand", "given by hand"
        DISCORD = "discord", "from Discord's permissions"

    account = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="role_grants"
    )
    role = models.CharField(max_length=10, choices=Role)
    server = models.BigIntegerField(default=0, help_text="Discord's id of the server; 0 for all.")
    origin = models.CharField(max_length=8, choices=Origin, default=Origin.HAND)
    granted_by = models.CharField(max_length=60, blank=True, help_text="An actor as the audit writes it.")
    granted_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["account", "role", "server", "origin"], name="role_grant_once")
        ]

    def __str__(self) -> str:
        return f"{self.role} of {self.server or 'all'}"
