"""``benchmark recall`` runs, compares in the same run, and its method has all the right answers."""

from __future__ import annotations

import io
import json

import pytest
from django.core.management import CommandError, call_command

from memory.benchmarks import recall
from memory.models import Message


@pytest.mark.django_db(transaction=True)
def test_the_method_has_all_the_right_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recall, "QUESTIONS", 5)
    out = io.StringIO()
    call_command("benchmark", "recall", "--rows", "400", "--json", stdout=out, stderr=io.StringIO())
    found = json.loads(out.getvalue())
    assert found["rows"] == 400
    for kind in ("mix", "biggest"):
        assert found[kind]["method"]["right"] == 1.0
        assert found[kind]["original"]["right"] <= 1.0
        assert set(found[kind]["method"]) == {"p50", "p95", "right"}
    assert not Message.objects.exists()
    assert "servers drawn by size" in "\n".join(recall.lines(found))


def test_names_and_numbers_are_checked() -> None:
    with pytest.raises(CommandError):
        call_command("benchmark", "nothing")
    with pytest.raises(CommandError, match="at least 1"):
        call_command("benchmark", "recall", "--rows", "0")
