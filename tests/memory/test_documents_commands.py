"""``import_documents`` and ``evaluate_documents`` as people call them."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from memory.models import Document, DocumentVersion
from memory.rag import documents
from tests.factories import GuildFactory
from tests.memory.document_support import SHIPPING, find

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("documents_folder")]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "in" / "below").mkdir(parents=True)
    (tmp_path / "in" / "faq.md").write_text(SHIPPING)
    (tmp_path / "in" / "below" / "prices.csv").write_text("item,price\nrope,3\nanchor,40\n")
    (tmp_path / "in" / "picture.png").write_bytes(b"\x89PNG")
    (tmp_path / "in" / ".hidden.md").write_text("# Secret")
    return tmp_path / "in"


def run(*arguments):
    out = StringIO()
    code = 0
    try:
        call_command("import_documents", *map(str, arguments), stdout=out, stderr=StringIO())
    except SystemExit as end:
        code = end.code
    return code, out.getvalue()


def test_what_is_odd_about_a_file_stands_in_its_line(tmp_path):
    (tmp_path / "odd.txt").write_bytes("The café opens at nine in the morning – bring €5.".encode("cp1252"))
    code, out = run(tmp_path / "odd.txt")
    assert code == 0 and len(out.splitlines()) == 1
    assert "odd.txt: ready" in out and "not UTF-8" in out


def test_a_folder_is_taken_in_with_a_line_a_file(folder):
    code, out = run(folder)
    assert code == 0 and len(out.splitlines()) == 3
    assert "faq.md: ready" in out and "prices.csv: ready" in out
    assert "picture.png: skipped" in out and ".hidden.md" not in out
    assert find("price of the anchor")[0].citation.startswith("prices.csv")


def test_what_is_refused_says_why_and_ends_with_one(folder):
    (folder / "broken.json").write_text("{")
    code, out = run(folder, folder / "nowhere.md")
    assert code == 1
    line = next(line for line in out.splitlines() if line.startswith("broken.json"))
    assert "refused, LOAD_FAILED" in line
    assert "faq.md: ready" in out and "nowhere.md: refused, LOAD_FAILED (missing)" in out


def test_what_is_named_itself_and_not_read_is_refused(folder):
    code, out = run(folder / "picture.png")
    assert code == 1 and "picture.png: refused, UNSUPPORTED_FORMAT" in out
    (folder / "notes.exe").write_text("words")
    code, out = run(folder / "notes.exe", folder / "faq.md")
    assert code == 1 and "notes.exe: refused, UNSUPPORTED_FORMAT" in out and "faq.md: ready" in out


def test_again_nothing_changes_and_what_changed_needs_replace(folder):
    run(folder)
    code, out = run(folder)
    assert code == 0 and "faq.md: unchanged" in out
    (folder / "faq.md").write_text(SHIPPING.replace("three", "nine"))
    code, out = run(folder)
    assert code == 1 and "--replace" in out and "three" in find("parcels")[0].text
    code, out = run(folder, "--replace")
    assert code == 0 and "version 2" in out and "nine" in find("parcels")[0].text
    assert DocumentVersion.objects.filter(document__name="faq.md").count() == 2


def test_documents_of_a_server(folder):
    guild = GuildFactory()
    code, out = run(folder / "faq.md", "--guild", guild.discord_id)
    assert code == 0 and not Document.objects.get().everywhere
    assert find("parcels", guild_id=guild.discord_id) and not find("parcels")
    code, out = run(folder / "faq.md", "--guild", 77)
    assert code == 1 and "no such server" in out


def test_evaluate_gives_the_three_methods_as_json(folder, tmp_path):
    questions = tmp_path / "dev.jsonl"
    lines = [
        {
            "question": "How many business days do parcels take?",
            "file": "faq.md",
            "contains": "three  business\ndays",
        },
        {"question": "price of the anchor", "file": "prices.csv", "contains": "anchor"},
        {"question": "zebra", "file": "", "contains": None},
    ]
    questions.write_text("\n".join(json.dumps(line) for line in lines))
    documents.upload(name="mine.md", data=b"# Mine\n\nNot part of it.")
    out = StringIO()
    call_command(
        "evaluate_documents",
        str(questions),
        "--documents",
        str(folder),
        "--json",
        stdout=out,
        stderr=StringIO(),
    )
    found = json.loads(out.getvalue())
    trade = found.pop("trade_off")
    assert trade["min_score"] in [one["min_score"] for one in trade["steps"]]
    first, last = trade["steps"][0], trade["steps"][-1]
    assert (first["min_score"], first["hit@5"], first["silent"]) == (0, 1.0, 0.0)
    assert last["hit@5"] < 1 and last["silent"] == 1.0
    used = next(one for one in trade["steps"] if one["min_score"] == trade["min_score"])
    assert {name: used[name] for name in found["method"]} == found["method"]
    assert set(found) == {"method", "plain", "keyword"}
    for values in found.values():
        assert set(values) == {"hit@1", "hit@3", "hit@5", "silent"}
    assert found["method"]["hit@5"] == 1.0
    assert list(Document.objects.values_list("name", flat=True)) == ["mine.md"]


def test_a_file_of_questions_that_is_wrong_says_where(tmp_path):
    questions = tmp_path / "dev.jsonl"
    questions.write_text('{"question": "x", "contains": null}\n{"question": 5}\n')
    with pytest.raises(CommandError, match="line 2"):
        call_command("evaluate_documents", str(questions), stderr=StringIO())
