"""Small facts about the installation."""

from __future__ import annotations

from django.db import models


class InstallationState(models.Model):
    """A named value: heartbeats of the processes, health of the models, when something was last done."""

    name = models.CharField(max_length=60, primary_key=True)
    value = models.JSONField(default=dict)
    at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return self.name
