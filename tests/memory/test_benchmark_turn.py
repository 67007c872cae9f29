"""``benchmark turn`` runs whole turns and leaves the installation as it was."""

from __future__ import annotations

import pytest
from django.db import connection
from django.utils import timezone

from memory.benchmarks import installation_rows, turn
from memory.benchmarks.installation import installation
from memory.models import Guild, Message, OutboxEntry, Reply

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "sqlite", reason="it is compared with the index of SQLite"),
]


def test_a_small_run(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(installation_rows, "GUILDS", 2)
    monkeypatch.setattr(turn, "TURNS", 3)
    monkeypatch.setattr(turn, "FEW", 1)

    def counts() -> tuple[int, int, int]:
        with installation(200, keep=tmp_path):
            return Message.objects.count(), Reply.objects.count(), OutboxEntry.objects.count()

    before = counts()
    with installation(200, keep=tmp_path):
        # As a bot leaves it that was started for another benchmark, on a Discord without these servers.
        Guild.objects.update(left_at=timezone.now())
    result = turn.run(rows=200, keep=tmp_path)
    for kind in ("mix", "biggest"):
        assert result[kind]["around_the_model"]["p50"] > 0
        assert {"question_stored", "turn", "turn: recall", "reply_stored"} <= set(result[kind]["stages"])
    assert result["originals_query"]["p50"] > 0
    assert counts() == before
    assert len(list(turn.lines(result))) > 8
