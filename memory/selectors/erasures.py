"""Requests to forget somebody, and their receipts."""

from __future__ import annotations

import uuid

from memory.models import ErasureRequest


def erasures(*, limit: int = 100) -> list[ErasureRequest]:
    """The latest first."""
    return list(ErasureRequest.objects.order_by("-received_at", "-id")[:limit])


def erasure(request_id: uuid.UUID) -> ErasureRequest | None:
    return ErasureRequest.objects.filter(id=request_id).first()
