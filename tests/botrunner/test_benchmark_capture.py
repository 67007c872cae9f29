"""``benchmark capture`` stores while replies stream, and sees when each was shown first."""

from __future__ import annotations

import pytest
from django.db import connection

from botrunner.benchmarks import capture

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "sqlite", reason="it measures in a database of its own"),
]


def test_a_small_run(monkeypatch) -> None:
    for name, value in {"REPLIES": 2, "CHANNELS": 5, "PIECES": 3, "PIECE_SECONDS": 0.01}.items():
        monkeypatch.setattr(capture, name, value)
    monkeypatch.setattr("memory.benchmarks.storing.SINGLE", 3)
    result = capture.run(rows=40)
    assert result["messages_per_second"] > 0 and result["one_transaction_each_per_second"] > 0
    assert result["replies"] >= 2
    assert result["first_edit_ms"]["most"] > 0
    assert len(list(capture.lines(result))) > 5
