"""The benchmark of reading histories runs, and what it reads is complete."""

import pytest

from memory.benchmarks import backfill

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def test_a_small_run(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # whoever calls it may be anywhere
    for name, value in (("CHANNELS", 3), ("THREADS", 4), ("SINGLE", 20)):
        monkeypatch.setattr(backfill, name, value)
    result = backfill.run(rows=600)
    for kind in ("everybody_is_a_member", "with_strangers"):
        assert result[kind]["complete"]
        assert result[kind]["scanned"] == 600
    assert result["everybody_is_a_member"]["stored"] == 600
    assert 0 < result["with_strangers"]["stored"] < 600
    assert len(backfill.lines(result)) == 5
