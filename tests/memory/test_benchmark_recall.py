"""``benchmark recall`` runs, compares in the same run, and its method has all the right answers."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from memory.benchmarks import installation_rows, recall
from memory.management.commands import benchmark
from memory.models import Message

pytestmark = pytest.mark.skipif(connection.vendor != "sqlite", reason="it measures the index of SQLite")


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation_rows, "GUILDS", 3)
    monkeypatch.setattr(recall, "QUESTIONS", 4)
    monkeypatch.setattr(recall, "SLOW_QUESTIONS", 2)


def ask(*arguments: str) -> dict:
    out = io.StringIO()
    call_command("benchmark", "recall", *arguments, "--json", stdout=out, stderr=io.StringIO())
    return json.loads(out.getvalue())


@pytest.mark.django_db(transaction=True)
def test_the_method_has_all_the_right_answers_and_what_is_kept_serves_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = ask("--rows", "300", "--keep", str(tmp_path))
    assert found["rows"] == 300
    for kind in ("mix", "biggest"):
        assert found[kind]["vectors"]["right"] == 1.0
        assert found[kind]["original"]["right"] <= 1.0
        assert found[kind]["recall"]["degraded"] == 0
        assert (
            found[kind]["recall"]["recall_at_5"]
            == found[kind]["recall"]["recall_at_5_with_every_vector"]
            > 0.5
        )
    assert not Message.objects.exists()
    assert "servers drawn by size" in "\n".join(recall.lines(found))
    monkeypatch.setattr(installation_rows, "fill", None)  # nothing is built again
    assert ask("--rows", "300", "--keep", str(tmp_path))["rows"] == 300
    with pytest.raises(CommandError, match="another size"):
        ask("--rows", "301", "--keep", str(tmp_path))


def test_names_and_numbers_are_checked() -> None:
    with pytest.raises(CommandError):
        call_command("benchmark", "nothing")
    with pytest.raises(CommandError, match="at least 1"):
        call_command("benchmark", "recall", "--rows", "0")
    with pytest.raises(CommandError, match="keeps nothing"):
        call_command("benchmark", "backfill", "--keep", "somewhere")


def test_every_measurement_is_there() -> None:
    assert set(benchmark.modules()) == set(benchmark.KNOWN)


@pytest.mark.django_db(transaction=True)
def test_what_no_benchmark_made_is_left_alone(tmp_path: Path, settings) -> None:
    there = tmp_path / settings.MUSEBOT.database_path.relative_to(settings.MUSEBOT.home)
    there.parent.mkdir(parents=True)
    there.write_bytes(b"somebody's memory")
    with pytest.raises(CommandError, match="was not made by a benchmark"):
        ask("--rows", "300", "--keep", str(tmp_path))
    assert there.read_bytes() == b"somebody's memory"
