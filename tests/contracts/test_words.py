"""Words as both storages make them: what FTS5's tokenizer makes of a text, ``words`` makes of it as well."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.index import terms, words

ROOT = Path(__file__).resolve().parents[2]
TOKENIZER = "porter unicode61 remove_diacritics 2"


def by_fts5(text: str) -> list[str]:
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute(f"CREATE VIRTUAL TABLE words USING fts5(body, tokenize='{TOKENIZER}')")
        connection.execute("CREATE VIRTUAL TABLE seen USING fts5vocab(words, 'instance')")
        connection.execute("INSERT INTO words (body) VALUES (?)", (terms.split_cjk(text),))
        return [row[0] for row in connection.execute("SELECT term FROM seen ORDER BY offset")]
    finally:
        connection.close()


@pytest.mark.parametrize(
    "text",
    [
        "relational conditional rationally valency hesitancy digitizer conformably radically differently vilely",
        "operator feudalism decisiveness hopefulness callousness formality sensitivity sensibility triplicate",
        "formative formalize electricity electrical hopeful goodness revival allowance inference airliner gyroscopic",
        "adjustable defensible irritant replacement adjustment dependent adoption homologou communism activate angularity",
        "homologous effective bowdlerize probate rate cease controll roll sky happy flies dies mules denied agreed owned",
        "plastered bled motoring sing conflated troubled sized hopping tanned falling hissing fizzed failing filing",
        "A B ab yes syzygy cry crying 2026 v2.0.7 snake_case it's über café naïve Straße ΑΘΗΝΑ Привет",
        "明日は東京タワーに行きます 我昨天买了一只猫 우리는 부산에 갔다",
        "",
    ],
)
def test_the_same_stems_in_the_same_order(text: str) -> None:
    assert words.stems(text) == by_fts5(text)


def test_the_same_of_this_project() -> None:
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), Path(terms.__file__)]:
        text = path.read_text()
        assert words.stems(text) == by_fts5(text), path.name


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet=st.characters(max_codepoint=0x17F, exclude_characters="\0"), max_size=60))
def test_the_same_of_any_text_in_latin_letters(text: str) -> None:
    assert words.stems(text) == by_fts5(text)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=200))
def test_no_text_is_an_error(text: str) -> None:
    found, count = words.terms(text)
    assert count <= len(found) and all(term and "\0" not in term for term in found)
    "".join(found).encode()  # what is stored has to be a text


def test_neighbours_in_scripts_without_spaces_are_found_as_pairs() -> None:
    found, count = words.terms("東京タワー")
    assert count == 5 and found[5:] == ["東 京", "京 タ", "タ ワ", "ワ ー"]
    assert words.wanted(terms.tokens("東京に")) == {"東 京": 1, "京 に": 1}


def test_a_word_that_is_asked_for_twice_counts_twice() -> None:
    assert words.wanted(["running", "runs", "harbour"]) == {"run": 2, "harbour": 1}
