"""``benchmark pages`` asks for every list of the dashboard, and no list is forgotten."""

from __future__ import annotations

import pytest
from django.db import connection
from django.urls import get_resolver

from memory.benchmarks import installation_rows
from musebot_site.benchmarks import pages

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "sqlite", reason="it measures in a database of its own"),
]
NO_LISTS = {
    "sandbox", "prompt-preview", "persona", "sign-in", "sign-out", "theme", "sample", "documents-same", "documents-upload",
}  # fmt: skip
"""Pages without arguments that show no list, or only take what is sent to them."""


def test_a_small_run(monkeypatch) -> None:
    monkeypatch.setattr(installation_rows, "GUILDS", 2)
    monkeypatch.setattr(pages, "TIMES", 1)
    result = pages.run(rows=200)
    assert {"memories", "memories: search", "members: search", "memories: page 1,000"} <= set(result["pages"])
    assert set(result["offset"]) == set(pages.LISTINGS)
    assert result["slowest_p95"] >= result["all_p95"] > 0
    assert len(list(pages.lines(result))) > len(result["pages"])


def test_every_list_of_the_dashboard_is_asked_for() -> None:
    names = {
        pattern.name
        for pattern in get_resolver("musebot_site.dashboard.urls").url_patterns
        if not pattern.pattern.converters and hasattr(pattern.callback, "gate")
    }
    lists = {name for name in names if "-" not in name or name in pages.LISTINGS} - NO_LISTS
    assert lists <= set(pages.LISTINGS) | set(pages.OTHERS)
