"""What takes the place of what: decided by the attribute that two facts share."""

import pytest

from memory.facts.attributes import parse, relate

CHANGES = [
    ("Lives in Lima", "Lives in Bogotá"),
    ("Moved from Bogotá to Lima", "Lives in Bogotá"),
    ("Moved to Lima from Bogotá", "Lives in Bogotá"),
    ("Se mudó a Lima", "Vive en Bogotá"),
    ("Vive en Lima", "Lives in Bogotá"),
    ("Works as a baker at Globex", "Works as a nurse at General Hospital"),
    ("Is a baker", "Is a nurse"),
    ("Works as a baker", "Is a nurse"),
    ("Trabaja como panadera", "Trabaja como enfermera"),
    ("Works at Globex", "Works at Acme"),
    ("No longer works at Acme", "Works at Acme"),
    ("Name is Katherine", "Name is Catherine"),
    ("Is called Marcos", "Name is Marco"),
    ("Name is Katherine, not Catherine", "Name is Catherine"),
    ("Se llama Katia", "Name is Catia"),
    ("Uses they/them pronouns", "Pronouns are she/her"),
    ("Is 31 years old", "Is 30 years old"),
    ("Tiene 31 años", "Tiene 30 años"),
    ("Hates cilantro", "Likes cilantro"),
    ("Doesn't like cilantro", "Likes cilantro"),
    ("Likes cilantro", "Hates cilantro"),
    ("No longer has a dog", "Has a dog named Rex"),
    ("Favorite color is green", "Favourite colour is blue"),
    ("Timezone is UTC-5", "Time zone is UTC+1"),
    ("Prefers English", "Prefers Spanish"),
    ("Prefers tea over coffee", "Prefers coffee over tea"),
    ("Is no longer vegan", "Is vegan"),
    ("Vegan", "Vegetarian"),
    ("Doesn't drive", "Drives"),
    ("Drives", "Doesn't drive"),
]
NOTHING = [
    ("Likes tea", "Likes coffee"),
    ("Has a cat", "Has a dog"),
    ("Works at Globex", "No longer works at Acme"),
    ("Plays the violin", "Plays the piano"),
    ("Lives with two cats", "Lives in Lima"),
    ("Works from home", "Works at Acme"),
    ("Is a member of the chess club", "Is a baker"),
    ("Speaks Quechua", "Speaks Spanish"),
    ("Works night shifts", "Works as a nurse"),
    ("Vegan", "VIP customer"),
]


@pytest.mark.parametrize("new, old", CHANGES)
def test_a_new_value_takes_the_place_of_the_old(new, old):
    assert relate(new, old) == "changes"


@pytest.mark.parametrize("new, old", NOTHING)
def test_what_has_nothing_to_do_with_each_other_stays(new, old):
    assert relate(new, old) == ""


@pytest.mark.parametrize(
    "new, old",
    [
        ("Has a dog named Fido", "Has a dog named Rex"),
        ("Instrument of choice is oboe", "Instrument of choice is flute"),
    ],
)
def test_where_there_may_be_two_it_is_not_sure(new, old):
    assert relate(new, old) == "conflicts"


def test_more_of_the_same_refines_and_less_is_covered():
    assert relate("Has a dog named Rex", "Has a dog") == "refines"
    assert relate("Has a dog", "Has a dog named Rex") == "covered"


@pytest.mark.parametrize(
    "text",
    [
        "The user lives in Lima",
        "Ada lives in Lima",
        "They now live in Lima",
        "I live in Lima",
        "lives in Lima.",
    ],
)
def test_the_subject_does_not_matter(text):
    assert relate(text, "Lives in Lima", ("Ada",)) == "same"


@pytest.mark.parametrize("text", ["", "?", "x" * 5000, "lives in", "(" * 200, "name is", "has a dog named"])
def test_odd_texts_are_read_without_failing(text):
    assert isinstance(parse(text), tuple) and relate(text, text) in {"", "same"}
