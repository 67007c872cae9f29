"""The benchmark of erasing runs, everything of the member is gone, and the kept database serves the next run."""

import pytest
from django.db import connection

from memory.benchmarks import erase

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.slow,
    pytest.mark.skipif(connection.vendor != "sqlite", reason="it measures a file of SQLite"),
]


def test_a_small_run_and_another_on_what_it_kept(monkeypatch, tmp_path):
    first = erase.run(rows=600, keep=tmp_path / "kept")
    kept = tmp_path / "kept" / "erase-600.db"
    before = kept.read_bytes()
    assert b"quixotarium" in before
    monkeypatch.setattr(erase, "fill", None)
    second = erase.run(rows=600, keep=tmp_path / "kept")
    for result in (first, second):
        assert (result["state"], result["left"], result["files_with_their_words"]) == ("done", {}, 0)
        assert result["erased"] >= 60 and result["exactly_as_previewed"]
        assert any("lock" in line for line in erase.lines(result))
    assert kept.read_bytes() == before
