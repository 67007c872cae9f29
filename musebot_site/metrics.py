"""Counts for Prometheus, in its text format. Nothing in them is of a person, a server or a text."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator, Mapping

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe

from memory import outbox, selectors
from memory.access import check_key

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
PASSED_ON = ("HTTP_FORWARDED", "HTTP_VIA", "HTTP_X_FORWARDED_FOR", "HTTP_X_REAL_IP")
"""Headers of proxies: behind one, everybody seems to be on this machine."""

Sample = tuple[Mapping[str, str], int]


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """For this machine, and for keys that may read."""
    if not _is_local(request):
        scheme, _, key = request.headers.get("Authorization", "").partition(" ")
        access = check_key(key.strip()) if scheme.lower() == "bearer" else None
        if access is None:
            return _refusal(401, "unauthorized", "Send a valid key: Authorization: Bearer KEY.")
        if not access.allows("read"):
            return _refusal(403, "forbidden", "This key does not have the scope 'read'.")
    return HttpResponse(
        "\n".join(_lines()) + "\n", content_type=CONTENT_TYPE, headers={"Cache-Control": "no-store"}
    )


def _refusal(status: int, error: str, message: str) -> JsonResponse:
    """As the API refuses."""
    response = JsonResponse({"error": error, "message": message, "details": {}}, status=status)
    response["Cache-Control"] = "no-store"
    if status == 401:
        response["WWW-Authenticate"] = "Bearer"
    return response


def _is_local(request: HttpRequest) -> bool:
    if settings.SECURE_PROXY_SSL_HEADER or any(name in request.META for name in PASSED_ON):
        return False
    # A proxy that hands on the name it was called by, or a page that has its own name point here.
    name = request.get_host().rsplit(":", 1)[0].strip("[]")
    return _is_loopback(request.META.get("REMOTE_ADDR", "")) and (name == "localhost" or _is_loopback(name))


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def _lines() -> Iterator[str]:
    figures = selectors.figures()
    work: list[Sample] = [
        ({"kind": str(row["kind"]), "state": str(row["state"])}, int(str(row["count"])))
        for row in outbox.summary()
    ]
    replies: list[Sample] = [({"kind": kind}, count) for kind, count in selectors.reply_counts().items()]
    yield from _gauge("memories", "Messages that are remembered.", [({}, figures.memories)])
    yield from _gauge("members", "People who have opted in.", [({}, figures.members)])
    pending: list[Sample] = [({}, selectors.pending_embeddings())]
    yield from _gauge("embeddings_pending", "Memories that wait for their vector.", pending)
    yield from _gauge("outbox", "Work that waits, runs or failed.", work)
    yield from _gauge("replies", "Replies whose trace is kept.", replies)


def _gauge(name: str, explanation: str, samples: Iterable[Sample]) -> Iterator[str]:
    yield f"# HELP musebot_{name} {explanation}"
    yield f"# TYPE musebot_{name} gauge"
    for labels, value in samples:
        inside = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
        yield f"musebot_{name}{{{inside}}} {value}" if inside else f"musebot_{name} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
