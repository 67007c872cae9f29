"""What each loader makes of a well-meant file."""

import pytest

from memory.rag.errors import RagError
from memory.rag.loaders import load
from memory.rag.types import Section


def sections(text: str | bytes, name: str) -> tuple[Section, ...]:
    return load(text if isinstance(text, bytes) else text.encode(), name).sections


def test_markdown_goes_by_headings_and_knows_code():
    found = sections("# Shop\n\n## Hours\n\n```\n# no heading\n```\n\nOpen\n====\nDaily.\n", "a.md")
    assert [section.heading_path for section in found] == [("Shop",), ("Shop", "Hours"), ("Open",)]


def test_front_matter_gives_the_title_and_no_prose():
    document = load(b'---\ntitle: "House rules"\nsecret: 7788\n---\nBe kind.', "rules.md")
    assert document.title == "House rules" and document.sections[0].text == "Be kind."


def test_questions_of_components_are_headings():
    text = 'import { Q } from "x";\n\n<Q>\n  Is it free?\n  <A>\n    Yes.\n  </A>\n</Q>\n'
    assert sections(text, "faq.mdx")[-1].heading_path == ("Is it free?",)


def test_plain_text_shows_its_headings():
    text = "Manual\n======\n\nIntro.\n\n1. Is it fast?\n\n   Yes.\n\nINSTALLING\n\nRun it.\n"
    assert [section.heading_path[-1] for section in sections(text, "a.txt")] == [
        "Manual",
        "1. Is it fast?",
        "INSTALLING",
    ]


def test_json_has_a_record_for_each_element():
    found = sections(
        '[{"title": "Pets", "body": "Dogs only."}, {"title": "Food", "body": "None."}]', "a.json"
    )
    assert [(section.row, section.heading_path) for section in found] == [(1, ("Pets",)), (2, ("Food",))]


def test_json_of_questions_as_keys_has_a_record_for_each():
    assert sections('{"Is it free?": "Yes.", "Where?": "Here."}', "a.json")[0].heading_path == (
        "Is it free?",
    )


def test_json_errors_name_the_place():
    with pytest.raises(RagError, match="line 2 column 1"):
        load(b'["a"\n"b"]', "a.json")


def test_csv_rows_carry_their_header():
    found = sections("sku;product_name;price\nP-1;Boots;49,57\n", "a.csv")
    assert found == (Section("sku: P-1\nproduct_name: Boots\nprice: 49,57", ("Boots",), row=1),)


def test_html_is_read_as_seen():
    page = "<h1>Pool</h1><p>25 m<br>long</p><p style='display:none'>99 m</p><script>x()</script><h2>Fee</h2><td>3 €"
    found = sections(page, "a.html")
    assert [section.heading_path for section in found] == [("Pool",), ("Pool", "Fee")]
    assert "99" not in found[0].text and "x()" not in found[0].text


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("utf-16", "Abre a las 10:15 los sábados"),
        ("utf-16-be", "Abre a las 10:15 los sábados"),
        ("cp1252", "“VIP” costs €9 – cancel any time"),
        ("shift_jis", "営業時間は午前十時から午後六時までです。駐車場は無料です。"),
        ("cp1251", "Магазин открыт с десяти до семи часов, кроме воскресенья."),
    ],
)
def test_encodings_are_found_out(encoding, text):
    assert sections(text.encode(encoding), "a.txt")[0].text == text


def test_invisible_characters_do_not_split_or_hide_words():
    assert (
        sections("Ad\u200bmin pass\u00adword\u202e \U000e0041policy", "a.txt")[0].text
        == "Admin password policy"
    )


@pytest.mark.parametrize(
    ("data", "name", "code", "reason"),
    [
        (b"", "a.md", "LOAD_FAILED", "empty"),
        (b" \n\t ", "a.txt", "LOAD_FAILED", "no_text"),
        (b"\x7fELF" + bytes(200), "a.csv", "UNSUPPORTED_FORMAT", "binary"),
        (b"<html>", "a.pdf", "UNSUPPORTED_FORMAT", "mismatch"),
        (b"words", "a.exe", "UNSUPPORTED_FORMAT", "format"),
    ],
)
def test_what_is_not_a_document_is_refused(data, name, code, reason):
    with pytest.raises(RagError) as error:
        load(data, name)
    assert (error.value.code, error.value.reason) == (code, reason)
