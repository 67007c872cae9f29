"""Every list of the dashboard over many memories: first page, filters, search, and the thousandth page, which OFFSET is compared with.

Measured is a whole request on the server: middleware, permission, audit, queries, template.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Model
from django.test import Client
from django.urls import reverse

from memory.benchmarks.installation import Installation, Progress, installation
from memory.benchmarks.timing import Stopwatch, load, percentiles
from memory.models import Channel, Document, Fact, Member, MemoryBlock, Message, Reply
from memory.selectors.paging import cursor_at
from musebot_site import serving
from musebot_site.dashboard.paging import PAGE_SIZE

ROWS = 20_000
TIMES = 12
"""Requests of each page, after one that is not counted."""
THOUSANDTH = 999
MOST = 50.0
"""Milliseconds of the slowest twentieth, at most."""
ACCOUNT = "benchmark"


@dataclass(frozen=True, slots=True)
class Listing:
    """A list with pages, and the order that they go by."""

    model: type[Model]
    moment: str
    key: str


LISTINGS = {
    "memories": Listing(Message, "sent_at", "key"),
    "members": Listing(Member, "consented_at", "user_id"),
    "facts": Listing(Fact, "updated_at", "id"),
    "core-memory": Listing(MemoryBlock, "updated_at", "id"),
    "documents": Listing(Document, "updated_at", "id"),
    "replies": Listing(Reply, "created_at", "id"),
}
OTHERS = (
    "overview",
    "servers",
    "jobs",
    "erasures",
    "evaluation",
    "playground",
    "audit",
    "accounts",
    "tokens",
    "settings",
)
"""Those without pages of their own; what this version of the dashboard does not have is left out."""


def run(
    *, rows: int = ROWS, keep: Path | None = None, progress: Progress = lambda message: None
) -> dict[str, Any]:
    """Milliseconds by page, the pages that are too slow, and what OFFSET takes for the thousandth page of each list."""
    with installation(rows, keep=keep, progress=progress) as found:
        serving.prepare()
        client = _signed_in()
        result: dict[str, Any] = {"rows": found.size.rows, "at_most_ms": MOST, "load_before": load()}
        pages: dict[str, dict[str, Any]] = {}
        for label, address in _addresses(found):
            progress(f"asking for {label}")
            pages[label] = _measure(client, address)
        result["pages"] = pages
        result["slow"] = sorted(label for label, one in pages.items() if one["p95"] > MOST)
        result["slowest_p95"] = max(one["p95"] for one in pages.values())
        result["all_p95"] = percentiles([each for one in pages.values() for each in one.pop("each")])["p95"]
        progress("comparing with OFFSET")
        result["offset"] = {name: _offset(one) for name, one in LISTINGS.items()}
        User.objects.filter(username=ACCOUNT).delete()
        return result | {"load_after": load()}


def _signed_in() -> Client:
    account, _ = User.objects.get_or_create(
        username=ACCOUNT, defaults={"is_staff": True, "is_superuser": True}
    )
    client = Client(headers={"host": "localhost"})
    client.force_login(account)
    return client


def _measure(client: Client, address: str) -> dict[str, Any]:
    watch = Stopwatch()
    for turn in range(TIMES + 1):
        if turn == 1:
            watch = Stopwatch()
        response = watch.time(lambda: client.get(address))
        assert response.status_code == 200, f"{address}: {response.status_code}"
    return watch.result() | {"each": watch.clock}


def _addresses(found: Installation) -> Iterator[tuple[str, str]]:
    """What each page is called in the result, and its address."""
    for name in OTHERS:
        if address := _reversed(name):
            yield name, address
    guild = found.guilds()[0]
    yield "server", reverse("dashboard:server", args=[guild.discord_id])
    for name in LISTINGS:
        address = reverse(f"dashboard:{name}")
        yield name, address
        for label, query in _filters(name, found).items():
            yield f"{name}: {label}", f"{address}?{query}"
        if cursor := _cursor(LISTINGS[name]):
            yield f"{name}: page 1,000", f"{address}?cursor={cursor}"


def _reversed(name: str) -> str:
    from django.urls import NoReverseMatch

    try:
        return reverse(f"dashboard:{name}")
    except NoReverseMatch:
        return ""


def _filters(name: str, found: Installation) -> dict[str, str]:
    guild, small = found.guilds()[0], found.guilds()[-1]
    message = Message.objects.filter(guild=guild).order_by("key").select_related("member")[0]
    channel = Channel.objects.filter(guild=guild).order_by("-message_count")[0]
    member = message.member.username
    words = [word for word in message.text.split() if len(word) > 4]
    rare = "+".join(words[-2:]) or "harbour"
    day = message.sent_at.date()
    late = day + timedelta(days=300)
    in_memories = {
        "of a server": f"guild={guild.discord_id}",
        "of a small server": f"guild={small.discord_id}",
        "of a channel": f"guild={guild.discord_id}&channel={channel.discord_id}",
        "of a member": f"member={member}",
        "of a member in a server": f"guild={guild.discord_id}&member={member}",
        "of some days": f"since={late}&until={late + timedelta(days=3)}",
        "of some days in a server": f"guild={guild.discord_id}&since={late}&until={late + timedelta(days=3)}",
        "of a source": "source=live",
        "of a source that nothing has": "source=import",
        "that failed": "embedding=failed",
        "search": f"q={rare}",
        "search for a common word": "q=harbour",
        "search in a server": f"q={rare}&guild={guild.discord_id}",
        "search in a channel": f"q={rare}&guild={guild.discord_id}&channel={channel.discord_id}",
        "search of a member": f"q={rare}&member={member}",
    }
    return {
        "memories": in_memories,
        "members": {
            "of a server": f"guild={guild.discord_id}",
            "search": f"q={member}",
            "search that finds nobody": "q=nobodyofthatname",
            "of an origin": "origin=sample",
        },
        "facts": {
            "in quarantine": "tab=quarantined",
            "of a member": f"member={member}",
            "search": f"q={rare}",
            "of a server": f"guild={guild.discord_id}",
        },
        "core-memory": {"search": f"q={member}", "of a kind": "label=human"},
        "documents": {"search": "q=document-7", "that failed": "state=failed"},
        "replies": {
            "of a server": f"guild={guild.discord_id}",
            "of a member": f"member={member}",
            "of a kind": "kind=model",
            "of a kind that nothing has": "kind=error",
        },
    }[name]


def _cursor(listing: Listing) -> str:
    """Where the thousandth page begins, or the last of a shorter list."""
    rows = listing.model._default_manager.order_by(f"-{listing.moment}", f"-{listing.key}")
    place = min(THOUSANDTH * PAGE_SIZE, rows.count() - PAGE_SIZE)
    row = rows.values_list(listing.moment, listing.key)[place : place + 1].first() if place > 0 else None
    return cursor_at(*row) if row else ""


def _offset(listing: Listing) -> dict[str, float]:
    """Milliseconds of the query for the thousandth page as OFFSET finds it, and for the same rows by the cursor; queries alone."""
    rows = listing.model._default_manager.order_by(f"-{listing.moment}", f"-{listing.key}")
    place = max(min(THOUSANDTH * PAGE_SIZE, rows.count() - PAGE_SIZE), 0)
    began = time.perf_counter()
    some = list(rows[place : place + PAGE_SIZE])
    by_offset = (time.perf_counter() - began) * 1000
    after = {f"{listing.moment}__lte": getattr(some[0], listing.moment)} if some else {}
    began = time.perf_counter()
    list(rows.filter(**after)[:PAGE_SIZE])
    return {
        "offset_ms": round(by_offset, 2),
        "keyset_ms": round((time.perf_counter() - began) * 1000, 2),
        "rows_before": place,
    }


def lines(result: Mapping[str, Any]) -> Iterator[str]:
    yield f"{result['rows']:,} memories; a page has to be there within {result['at_most_ms']:.0f} ms (p95)"
    yield f"{'milliseconds on the server':44}{'p50':>9}{'p95':>9}{'cpu':>9}"
    for label, one in result["pages"].items():
        mark = "  too slow" if label in result["slow"] else ""
        yield f"  {re.sub('-', ' ', label):42}{one['p50']:>9.2f}{one['p95']:>9.2f}{one['cpu_p50']:>9.2f}{mark}"
    yield f"{'rows of page 1,000 alone':44}{'OFFSET':>9}{'keyset':>9}"
    for name, one in result["offset"].items():
        yield f"  {name:42}{one['offset_ms']:>9.2f}{one['keyset_ms']:>9.2f}"
