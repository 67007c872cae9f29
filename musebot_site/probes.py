"""Answers for load balancers and supervisors."""

from __future__ import annotations

from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe


@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """The process answers. It reads nothing."""
    return JsonResponse({"status": "ok"}, headers={"Cache-Control": "no-store"})


@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """The process can serve: its database answers and has its tables."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1 FROM memory_installationstate LIMIT 1")
        ready = True
    except DatabaseError:
        ready = False
    return JsonResponse(
        {"status": "ready" if ready else "unavailable", "database": ready},
        status=200 if ready else 503,
        headers={"Cache-Control": "no-store"},
    )
