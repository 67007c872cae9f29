"""Chunks lose nothing, keep their size, and know where they stand."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.rag.chunking import ChunkOptions, chunk_document, join
from memory.rag.errors import RagError
from memory.rag.types import LoadedDocument, Section

TEXTS = st.text(alphabet=st.sampled_from("abc .\n!?。กเ่漢字😀\u200dé1-*|#"), max_size=1200)
THAI = "ร้านเปิดทุกวันตั้งแต่เก้าโมงเช้าถึงหกโมงเย็น" * 40


def document(text: str) -> LoadedDocument:
    return LoadedDocument((Section(text, ("Hours",), page=3, row=7),), "text")


@settings(max_examples=150, deadline=None)
@given(TEXTS, st.integers(5, 200), st.integers(0, 60))
def test_nothing_is_lost_and_no_chunk_is_too_large(text, size, overlap):
    chunks = chunk_document(document(text), ChunkOptions(size, overlap))
    covered = {place for chunk in chunks for place in range(chunk.start, chunk.end)}
    assert all(len(chunk.text) <= size and chunk.text == text[chunk.start : chunk.end] for chunk in chunks)
    assert all(place in covered or text[place].isspace() for place in range(len(text)))
    assert all(a.start < b.start and a.end < b.end for a, b in zip(chunks, chunks[1:], strict=False))
    assert all(a.end - b.start <= size // 4 for a, b in zip(chunks, chunks[1:], strict=False))
    assert "".join(join(chunks).split()) == "".join(text.split())


@settings(max_examples=50, deadline=None)
@given(TEXTS, st.integers(5, 60))
def test_the_size_may_be_counted_in_tokens(text, size):
    def tokens(part: str) -> int:
        return -(-len(part.encode()) // 3)

    chunks = chunk_document(document(text), ChunkOptions(size, size // 5, measure=tokens))
    assert "".join(join(chunks).split()) == "".join(text.split())


def test_a_chunk_keeps_heading_page_and_row():
    (chunk,) = chunk_document(document("Open daily."))
    assert (chunk.heading_path, chunk.page, chunk.row, chunk.index) == (("Hours",), 3, 7, 0)


def test_paragraphs_go_before_sentences():
    first, second = "One. " * 60, "Two. " * 60
    chunks = chunk_document(document(f"{first.strip()}\n\n{second.strip()}"), ChunkOptions(500, 0))
    assert chunks[0].text == first.strip() and chunks[1].text == second.strip()


def test_a_table_row_is_not_cut():
    rows = "\n".join(f"| Item {n} | {n} coins, paid on the day |" for n in range(80))
    chunks = chunk_document(document(rows))
    assert len(chunks) > 2 and all(
        line.count("|") == 3 for chunk in chunks for line in chunk.text.split("\n")
    )


@pytest.mark.parametrize("text", ["営業時間は十時から六時までです。" * 100, THAI, "A1b2" * 5000])
def test_text_without_spaces_is_cut_too(text):
    chunks = chunk_document(document(text))
    assert len(chunks) > 1 and all(0 < len(chunk.text) <= 1000 for chunk in chunks)
    assert not any(chunk.text[0] in "\u0e48\u0e49\u0e31" for chunk in chunks)  # no mark without its letter


def test_options_that_cannot_work_are_refused():
    with pytest.raises(RagError) as error:
        ChunkOptions(0)
    assert error.value.code == "INVALID_OPTIONS"
