"""Hostile and broken files end with their text or a clear refusal, each in a process of its own."""

import io
import json
import zipfile
import zlib
from pathlib import Path

import pytest

from memory.rag.errors import RagError
from memory.rag.sandbox import load_safely

FOLDER = Path(__file__).parents[1] / "data" / "nasty"
EXPECTED = [json.loads(line) for line in (FOLDER / "expected.jsonl").read_text("utf-8").splitlines()]
CODES = {"LOAD_FAILED", "UNSUPPORTED_FORMAT", "MISSING_DEPENDENCY"}


def outcome(data: bytes, name: str) -> tuple[str, str]:
    """(accept or refuse, its text or its reason)."""
    try:
        document = load_safely(data, name)
    except RagError as error:
        clear = error.code in CODES and error.message and error.reason not in ("crash", "parser")
        return ("refuse" if clear else "unclear"), error.reason
    return "accept", "\n".join(section.text for section in document.sections)


@pytest.mark.parametrize("case", EXPECTED, ids=lambda case: case["file"])
def test_a_file_ends_as_expected(case):
    action, text = outcome((FOLDER / case["file"]).read_bytes(), case["file"])
    assert case["action"] in (action, "either")
    if action == "accept":
        assert text.strip() and "\0" not in text
        text.encode("utf-8")  # nothing that a database or Discord could not take
        assert all(wanted in text for wanted in case["must_contain"])
        assert not any(unwanted in text for unwanted in case["must_not_contain"])


def pdf_with(stream: bytes, filters: str) -> bytes:
    parts = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 100 100] /Contents 4 0 R >>",
        b"<< /Length %d /Filter %s >>\nstream\n%s\nendstream" % (len(stream), filters.encode(), stream),
    ]
    body, places = b"%PDF-1.7\n", []
    for number, part in enumerate(parts, start=1):
        places.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, part)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    start = len(body)
    return (
        body
        + b"xref\n0 5\n0000000000 65535 f \n"
        + table
        + b"trailer << /Size 5 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % start
    )


def docx_of(document: bytes, *, entries: int = 0) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", document)
        for number in range(entries):
            archive.writestr(f"word/media/{number}.txt", "")
    return target.getvalue()


def zeros(size: int) -> bytes:
    packer = zlib.compressobj(9)
    block = b"0 0 m " * 10_000
    return b"".join(packer.compress(block) for _ in range(size // len(block))) + packer.flush()


@pytest.mark.parametrize(
    ("data", "name", "reason"),
    [
        (pdf_with(zeros(256 << 20), "/FlateDecode"), "bomb.pdf", "size"),
        (pdf_with(zlib.compress(zeros(400 << 20), 9), "[/FlateDecode /FlateDecode]"), "twice.pdf", "size"),
        (docx_of(b"<w:document/>" + b" " * (256 << 20)), "bomb.docx", "archive_size"),
        (docx_of(b"<w:document/>", entries=6000), "entries.docx", "archive_entries"),
        (b"[" * 100_000 + b"]" * 100_000, "deep.json", "depth"),
        (b'[{"n": ' + b"9" * 100_000 + b"}]", "number.json", "number"),
        (b"<table><tr><td>" * 10_000 + b"1717" + b"</td></tr></table>" * 10_000, "deep.html", "depth"),
        (b",".join(b"c%d" % n for n in range(10_000)) + b"\n1", "wide.csv", "columns"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_bomb_is_refused_by_name_of_the_limit(data, name, reason):
    assert outcome(data, name) == ("refuse", reason)


def test_markdown_that_is_slow_for_parsers_is_read():
    data = (b"*a **a " * 12_000) + (b"[" * 20_000) + b"\n\nOpens 14:14."
    assert "14:14" in outcome(data, "emphasis.md")[1]
