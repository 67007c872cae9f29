"""Candidates become passages: what counts, how far they grow, what is left out and why."""

import numpy as np

from memory.rag.context import citation, context
from memory.rag.coverage import Frequencies, cover, question_words, spelled_alike
from memory.rag.passages import Piece
from memory.rag.ranking import Candidate, rank

FREQUENCIES = Frequencies(lambda word: 2, 100)


def candidate(key: int, text: str, *, cosine: float = 0.2, bm25: float = 0.0, document: int = 1) -> Candidate:
    return Candidate(
        Piece(key, document, key, key, 0, len(text), text), "faq › Shipping", cosine, cosine, bm25
    )


def ranked(question: str, *candidates: Candidate, **options):
    return rank(question, candidates, frequencies=FREQUENCIES, **options)


def test_nothing_comes_of_nothing():
    assert ranked("anything?") == []


def test_nearer_in_meaning_comes_first():
    first, _ = ranked(
        "q", candidate(1, "Far away.", document=1), candidate(5, "Close by.", cosine=0.6, document=2)
    )
    assert first.head.key == 5 and first.scores["cosine"] == 0.6


def test_covering_the_question_counts():
    first, *_ = ranked(
        "refund deadline",
        candidate(1, "We ship.", document=1),
        candidate(5, "The refund deadline is May.", document=2),
    )
    assert first.head.key == 5


def test_a_passage_takes_its_neighbours_in_up_to_the_limit():
    chunks = [candidate(n, f"Sentence {n}. " * 40, cosine=0.9 if n == 3 else 0.1) for n in range(1, 6)]
    first, *_ = ranked("q", *chunks)
    assert first.head.key == 3 and len(first.pieces) > 1 and len(first.text) <= 1500


def test_what_neighbours_share_stands_once():
    text = "Alpha beta. Gamma delta. Epsilon zeta."
    one = Candidate(Piece(1, 1, 0, 0, 0, 24, text[:24]), "", 0.5, 0.5)
    two = Candidate(Piece(2, 1, 1, 0, 12, 38, text[12:]), "", 0.4, 0.4)
    assert [passage.text for passage in ranked("q", one, two)] == [text]


def test_the_same_text_twice_is_one_passage():
    text = "The deposit is forty coins and is given back when the key is returned."
    assert len(ranked("deposit", candidate(1, text, document=1), candidate(7, text, document=2))) == 1


def test_what_is_left_out_says_why():
    passages = ranked("q", *(candidate(n * 10, f"Text number {n}.", document=n) for n in range(4)), top_k=2)
    assert [passage.left_out for passage in passages] == ["", "", "top_k", "top_k"]
    assert {passage.left_out for passage in ranked("q", candidate(1, "Text."), min_score=1.0)} == {
        "min_score"
    }


def test_scores_fall_from_first_to_last():
    passages = ranked("q", *(candidate(n * 10, f"Text {n}.", cosine=n / 10, document=n) for n in range(8)))
    scores = [passage.score for passage in passages]
    assert scores == sorted(scores, reverse=True) and all(0 <= score <= 1 for score in scores)


def test_slips_and_inflections_cover_a_word():
    assert spelled_alike("permision", "permission") > 0.7 and spelled_alike("плавать", "плавании") > 0.7
    assert spelled_alike("cat", "car") == 0


def test_words_alike_in_meaning_cover_each_other():
    meanings = {"botas": [1.0, 0.0], "boots": [0.9, 0.436]}

    def vectors(words):
        return np.array([meanings.get(word, [0.0, 0.0]) for word in words], dtype=np.float32)

    texts = ["Winter boots cost 49.", "Nothing of the kind."]
    near = cover("botas", texts, FREQUENCIES, vectors)
    assert near.share([0]) > 0.5 > near.share([1]) and cover("botas", texts, FREQUENCIES).share([0]) == 0


def test_text_without_spaces_is_covered_by_pairs():
    assert cover("参加費の返金", ["参加費の返金はできません"], FREQUENCIES).share([0]) == 1
    assert question_words("what is the refund") == ["refund"]


def test_names_of_a_source():
    assert citation("faq.md", ("Help", "Shipping")) == "faq.md › Shipping"
    assert citation("manual.pdf", ("Intro",), page=12) == "manual.pdf › p. 12"
    assert context("server-rules.de.md", "Rules", ("rules", "Names")) == "server rules de › Rules › Names"


def test_nothing_is_like_a_number_but_itself():
    """46 is not 45, and its vector may be as near as it likes."""

    def vectors(words):
        return np.ones((len(words), 2), dtype=np.float32) / np.sqrt(2)

    texts = ["Sizes 45 and 47 are sold out.", "Size 46 is there."]
    coverage = cover("46", texts, FREQUENCIES, vectors)
    assert coverage.each().tolist() == [0, 1]


def test_words_of_a_text_do_not_depend_on_how_they_are_found():
    """Plain and other letters take different ways; a text of both has the words of both."""
    from memory.rag.coverage import _words

    assert _words("FAQ › Café\nThe fee is €5. Straße, foo_bar, x1") == {
        "faq",
        "café",
        "the",
        "fee",
        "is",
        "5",
        "straße",
        "foo",
        "bar",
        "x1",
    }
    assert _words(f"Long\n{'a' * 40} {'b' * 39}") == {"long", "b" * 39}
