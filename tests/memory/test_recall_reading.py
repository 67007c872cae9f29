"""How messages read against a question: its words in any form, questions and statements apart, whom they speak of."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.index.terms import tokens
from memory.retrieval.reading import Coverage, Reader, stem


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("run", "running"),
        ("story", "stories"),
        ("move", "moved"),
        ("move", "moving"),
        ("paint", "painting"),
        ("boss", "boss"),
        ("class", "classes"),
        ("happy", "happily"),
    ],
)
def test_forms_of_a_word_are_one(one: str, other: str) -> None:
    assert stem(one) == stem(other)


@pytest.mark.parametrize(("one", "other"), [("bus", "bu"), ("this", "thi"), ("car", "care"), ("new", "news")])
def test_other_words_stay_apart(one: str, other: str) -> None:
    assert stem(one) != stem(other) or len(one) <= 3


@given(st.from_regex(r"[a-zäé]{1,18}", fullmatch=True))
def test_a_stem_begins_as_its_word_does(word: str) -> None:
    found = stem(word)
    begins = found[:-1] if found.endswith("y") else found
    assert word.startswith(begins) and found


def found(question: str, text: str, captions: str = "") -> set[str]:
    words = tokens(question)
    bits = Reader(words).read(text, captions).found
    return {word for at, word in enumerate(words) if bits >> at & 1}


def test_words_of_the_question_are_found_in_any_form_and_in_captions() -> None:
    assert found("stories painted lighthouse", "I paint and tell a story") == {"stories", "painted"}
    assert found("lighthouse", "look", "a photo of two lighthouses") == {"lighthouse"}
    assert found("art", "a party") == set()


def test_chinese_is_found_by_pairs_of_characters() -> None:
    assert found("灯塔", "我们去了灯塔") == {"灯 塔"}
    assert found("灯塔", "塔和灯") == set()


def test_what_a_message_asks_is_kept_apart() -> None:
    reading = Reader(["tea", "coffee"]).read("I like tea. Do you drink coffee?", "")
    assert (reading.found, reading.asked) == (0b11, 0b10)
    assert 0.4 < reading.asks < 0.8
    assert Reader(["tea"]).read("I like tea.", "").asks == 0.0


def test_of_whom_it_speaks() -> None:
    own = Reader([]).read("I sold my car and we bought a boat", "")
    yours = Reader([]).read("your car looks like you", "")
    assert own.own > yours.own == 0.0
    assert yours.yours > own.yours == 0.0
    assert Reader([]).read("ich habe mein Auto verkauft", "").own > 0


def test_names_inside_a_sentence() -> None:
    assert Reader([]).read("we saw Oscar there", "").names
    assert Reader([]).read('I read "the sea" again', "").names
    assert not Reader([]).read("We saw it. Nice", "").names


def test_rare_words_count_more_than_frequent_ones() -> None:
    reader = Reader(["boat", "red"])
    texts = {1: "red boat", 2: "red", 3: "red car", 4: "a red house", 5: "nothing"}
    readings = {key: reader.read(text, "") for key, text in texts.items()}
    coverage = Coverage(reader.count, readings)
    assert coverage.of(readings[1].found) == pytest.approx(1.0)
    assert coverage.of(0b01) > 0.5 > coverage.of(0b10) > coverage.of(readings[5].found) == 0.0


@given(st.text(max_size=80), st.text(max_size=120))
def test_any_text(question: str, text: str) -> None:
    reader = Reader(tokens(question))
    reading = reader.read(text, text)
    assert 0 <= Coverage(reader.count, {1: reading}).of(reading.found) <= 1.000001
    assert 0.0 <= reading.asks <= 1.0
