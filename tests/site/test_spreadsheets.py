"""Exports that are opened in a spreadsheet: nothing in them runs."""

from __future__ import annotations

import ast
import csv
import io
from pathlib import Path

import pytest
from django.test import Client

from memory import audit
from musebot_site.spreadsheets import csv_lines
from tests.site import roles_world

PROJECT = Path(__file__).resolve().parents[2]
ATTACKS = (
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    '  =HYPERLINK("https://evil.example")',
    "＝1+1",
    "=cmd|' /C calc'!A0",
)


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_cell_that_could_run_is_text(attack: str) -> None:
    [[cell, after]] = csv.reader(io.StringIO("".join(csv_lines([[attack, "after"]])), newline=""))
    assert cell == "'" + attack
    assert after == "after"


def test_other_cells_are_as_they_were() -> None:
    row = ["plain", "a=b", "1-2", "", None, -5, -1.5, 'with "quotes", and commas', "line\nbreak"]
    [found] = csv.reader(io.StringIO("".join(csv_lines([row])), newline=""))
    assert found == ["plain", "a=b", "1-2", "", "", "-5", "-1.5", 'with "quotes", and commas', "line\nbreak"]


@pytest.mark.django_db
def test_the_audit_as_csv_runs_nothing() -> None:
    world = roles_world.build()
    for attack in ATTACKS:
        audit.record(actor=attack, action="memory.viewed", kind="memory", object_id=attack)
    client: Client = world.clients["owner"]
    body = b"".join(client.get("/audit/export/?format=csv").streaming_content).decode()  # type: ignore[attr-defined]
    cells = [cell for row in csv.reader(io.StringIO(body, newline="")) for cell in row]
    assert sum(cell.startswith("'") for cell in cells) >= 2 * len(ATTACKS)
    assert not [cell for cell in cells if cell.lstrip()[:1] in tuple("=+-@＝")]


def test_csv_is_written_in_one_place() -> None:
    used = []
    for path in (
        path for name in ("memory", "botrunner", "musebot_site") for path in (PROJECT / name).rglob("*.py")
    ):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            writes = isinstance(node, ast.Attribute) and node.attr in {"writer", "DictWriter"}
            if writes and isinstance(node.value, ast.Name) and node.value.id == "csv":
                used.append(path.relative_to(PROJECT).as_posix())
    assert used == ["musebot_site/spreadsheets.py"]
