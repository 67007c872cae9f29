"""``benchmark ingest`` makes passages of files, embeds them, and searches among as many as it was told to."""

from __future__ import annotations

import pytest
from django.db import connection

from memory.benchmarks import ingest
from memory.models import Chunk

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "sqlite", reason="it measures in a database of its own"),
]


def test_a_small_run(monkeypatch) -> None:
    for name, value in {"EMBEDDED": 4, "SINGLE": 1, "QUESTIONS": 2, "VOCABULARY": 200}.items():
        monkeypatch.setattr(ingest, name, value)
    result = ingest.run(rows=30)
    assert result["passages"] == 30
    assert result["ingest"]["passages"] >= 4
    assert result["ingest"]["ratio"] > 0
    for one in result["search"].values():
        assert one["p50"] > 0 and one["stages"]
    assert not Chunk.objects.exists()
    assert "search among 30 passages" in "\n".join(ingest.lines(result))
