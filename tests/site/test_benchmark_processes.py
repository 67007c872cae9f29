"""``benchmark startup`` and ``benchmark idle`` start the real processes, and a bot that signs in."""

from __future__ import annotations

import pytest
from django.db import connection

from memory.benchmarks import installation_rows
from musebot_site.benchmarks import idle, startup

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.flow,
    pytest.mark.slow,
    pytest.mark.skipif(connection.vendor != "sqlite", reason="it measures in a database of its own"),
]


@pytest.fixture(autouse=True)
def small(monkeypatch) -> None:
    monkeypatch.setattr(installation_rows, "GUILDS", 2)


def test_everything_becomes_ready(monkeypatch) -> None:
    monkeypatch.setattr(startup, "TIMES", 1)
    monkeypatch.setattr(startup, "FEW", 60)
    result = startup.run(rows=80)
    for kind in ("many", "few"):
        assert min(result[kind].values()) > 0 and result[kind]["all"] == max(result[kind].values())
    assert len(list(startup.lines(result))) == 4


def test_everything_is_watched(monkeypatch) -> None:
    monkeypatch.setattr(idle, "SETTLE_SECONDS", 0.5)
    monkeypatch.setattr(idle, "WATCHED_SECONDS", 1.0)
    result = idle.run(rows=80)
    assert set(result["parts"]) == {"dashboard", "worker", "bot"}
    assert all(one["pss"] > 10 for one in result["parts"].values())
    assert result["memory_mb"] <= result["if_nothing_were_shared_mb"]
    assert len(list(idle.lines(result))) == 6
