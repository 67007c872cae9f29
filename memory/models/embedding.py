"""Which vectors there are."""

from __future__ import annotations

from django.db import models


class EmbeddingSpace(models.Model):
    """One model's vectors. Those of different spaces are never compared; each has an index of its own."""

    class State(models.TextChoices):
        BUILDING = "building"
        ACTIVE = "active"
        KEPT = "kept"
        """Served before; kept for a while, so that one can go back to it."""
        RETIRED = "retired"

    provider = models.CharField(max_length=20)
    name = models.CharField(max_length=200, blank=True)
    digest = models.CharField(max_length=100, blank=True)
    dimension = models.PositiveIntegerField()
    state = models.CharField(max_length=10, choices=State, default=State.BUILDING)
    kept_until = models.DateTimeField(
        null=True, blank=True, help_text="When vectors that served before are dropped."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["provider", "name", "digest", "dimension"], name="embedding_space_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.provider}:{self.name}" if self.name else self.provider
