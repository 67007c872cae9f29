"""Figures for Prometheus, in its text format. Nothing in them is of a person, a server or a text.

What the database knows is read when it is asked for; what the processes of this machine did, they counted (``memory.measures``).
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from memory import outbox, selectors
from memory.access import check_key
from memory.conf import get_config

PASSED_ON = (
    "HTTP_FORWARDED",
    "HTTP_VIA",
    "HTTP_X_FORWARDED",
    "HTTP_X_REAL_IP",
    "HTTP_X_CLIENT_IP",
    "HTTP_TRUE_CLIENT_IP",
    "HTTP_CF_",
)
"""Beginnings of the headers of proxies: behind one, everybody seems to be on this machine."""


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """For this machine, and for keys that may read."""
    if not _is_local(request):
        scheme, _, key = request.headers.get("Authorization", "").partition(" ")
        access = check_key(key.strip()) if scheme.lower() == "bearer" else None
        if access is None:
            return _refusal(401, "unauthorized", "Send a valid key: Authorization: Bearer KEY.")
        if access.servers is not None:
            return _refusal(403, "forbidden", "This key is limited to servers, and these figures are of all.")
        if not access.allows("read"):
            return _refusal(403, "forbidden", "This key does not have the scope 'read'.")
    return HttpResponse(
        generate_latest(_registry()),
        content_type=CONTENT_TYPE_PLAIN_0_0_4,
        headers={"Cache-Control": "no-store"},
    )


def _refusal(status: int, error: str, message: str) -> JsonResponse:
    """As the API refuses."""
    response = JsonResponse({"error": error, "message": message, "details": {}}, status=status)
    response["Cache-Control"] = "no-store"
    if status == 401:
        response["WWW-Authenticate"] = "Bearer"
    return response


def _is_local(request: HttpRequest) -> bool:
    """Whether somebody on this machine asks, with no proxy in between, as far as that can be told. In doubt a key is needed."""
    if settings.SECURE_PROXY_SSL_HEADER or any(name.startswith(PASSED_ON) for name in request.META):
        return False
    # nginx that was told nothing hands on neither name nor address, but speaks HTTP/1.0, which nothing that measures does.
    if request.META.get("SERVER_PROTOCOL") == "HTTP/1.0":
        return False
    # Where people reach it by another name, there is a proxy.
    public = urlsplit(get_config().public_url).hostname
    # A proxy that hands on the name it was called by, or a page that has its own name point here.
    name = request.get_host().rsplit(":", 1)[0].strip("[]")
    names = [name] if public is None else [name, public]
    return _is_loopback(request.META.get("REMOTE_ADDR", "")) and all(map(_is_loopback, names))


def _is_loopback(address: str) -> bool:
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


class _Stored(Collector):
    """What the database knows: the same whichever process is asked."""

    def collect(self) -> Iterator[Metric]:
        figures = selectors.figures()
        yield _gauge("memories", "Messages that are remembered.", [((), figures.memories)])
        yield _gauge("members", "People who have opted in.", [((), figures.members)])
        yield _gauge(
            "embeddings_pending",
            "Memories that wait for their vector.",
            [((), selectors.pending_embeddings())],
        )
        rows = outbox.summary()
        work = [((str(row["kind"]), str(row["state"])), float(str(row["count"]))) for row in rows]
        yield _gauge("outbox", "Work that waits, runs or failed.", work, ["kind", "state"])
        waiting = [((kind,), seconds) for kind, seconds in outbox.waiting().items()]
        yield _gauge(
            "queue_age_seconds", "How long the oldest work that is due has waited.", waiting, ["kind"]
        )
        kinds = [((kind,), count) for kind, count in selectors.reply_counts().items()]
        yield _gauge("replies", "Replies whose trace is kept.", kinds, ["kind"])
        erasures = [((), figures.erasures_running + figures.erasures_failed)]
        yield _gauge("erasures_open", "Erasures that run or failed.", erasures)
        beats = [((name,), seconds) for name, seconds in selectors.heartbeat_ages().items()]
        yield _gauge(
            "heartbeat_age_seconds", "Since the bot and the worker last showed up.", beats, ["process"]
        )


def _registry() -> CollectorRegistry:
    registry = CollectorRegistry()
    # Files that a process left behind at its end count on: what was answered was answered.
    MultiProcessCollector(registry, path=os.environ["PROMETHEUS_MULTIPROC_DIR"])  # type: ignore[no-untyped-call]
    registry.register(_Stored())
    return registry


def _gauge(
    name: str,
    explanation: str,
    samples: Iterable[tuple[Sequence[str], float]],
    labels: Sequence[str] = (),
) -> Metric:
    family = GaugeMetricFamily(f"musebot_{name}", explanation, labels=labels)
    for values, value in samples:
        family.add_metric(values, value)
    return family
