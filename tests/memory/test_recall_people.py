"""Members' names in questions become authors and leave the text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.models import GuildMember
from memory.retrieval import people
from memory.retrieval.people import KnownMember, distance, find_people
from tests.factories import GuildFactory, MemberFactory

CAROLINE, MELANIE, MARK, JEAN, YUKI = 1, 2, 3, 4, 5
MEMBERS = [
    KnownMember(CAROLINE, ("Caroline", "caro_99")),
    KnownMember(MELANIE, ("melanie", "Melanie B.")),
    KnownMember(MARK, ("Mark",)),
    KnownMember(JEAN, ("Jean Luc", "jeanluc")),
    KnownMember(YUKI, ("田中雪",)),
]


@pytest.mark.parametrize(
    ("question", "authors", "text"),
    [
        ("When did Caroline move?", (CAROLINE,), "When did move?"),
        ("what is caroline's favourite colour", (CAROLINE,), "what is favourite colour"),
        ("What is Caroline’s cat called", (CAROLINE,), "What is cat called"),
        ("Did Melanie tell Caroline about it?", (MELANIE, CAROLINE), "Did tell about it?"),
        ("When did Carolin move?", (CAROLINE,), "When did move?"),
        ("When did Carolnie move?", (CAROLINE,), "When did move?"),
        ("Where does Mel work?", (MELANIE,), "Where does work?"),
        ("What does Melany like", (MELANIE,), "What does like"),
        ("What did caro_99 say?", (CAROLINE,), "What did say?"),
        ("What did Melanie B. cook", (MELANIE,), "What did . cook"),
        ("What does Jean Luc drink?", (JEAN,), "What does drink?"),
        ("Where is <@3> from?", (MARK,), "Where is from?"),
        ("Ask @Mark about it", (MARK,), "Ask about it"),
        ("What did Mark buy?", (MARK,), "What did buy?"),
        ("What mark did I get?", (), "What mark did I get?"),
        ("When is the market?", (), "When is the market?"),
        ("Which carol did we sing?", (), "Which carol did we sing?"),
        ("Where is it?", (), "Where is it?"),
        ("Melancholy songs?", (), "Melancholy songs?"),
        ("<@999> said what", (), "said what"),
        ("田中雪さんは何が好きですか", (YUKI,), "さんは何が好きですか"),
    ],
)
def test_names_become_authors(question: str, authors: tuple[int, ...], text: str) -> None:
    people = find_people(question, MEMBERS)
    assert people.authors == authors
    assert people.text == text


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("What did I say about the wedding?", True),
        ("Who has my spare key?", True),
        ("What's mine?", True),
        ("i'm looking for the recipe", True),
        ("Was habe ich über den Urlaub gesagt?", True),
        ("Où est mon vélo ?", True),
        ("我昨天说了什么", True),
        ("Tell me what the plan is", False),
        ("Remind me when the concert is", False),
        ("What is the plan?", False),
    ],
)
def test_i_is_the_one_who_asks(question: str, found: bool) -> None:
    assert (CAROLINE in find_people(question, MEMBERS, CAROLINE).authors) is found


def test_somebody_unknown_who_asks_is_nobody() -> None:
    assert find_people("What did I say?", MEMBERS, 77).authors == ()


def test_a_name_shared_by_many_stands_for_a_few_at_most() -> None:
    alexes = [KnownMember(n, (f"Alex {n}th", "Alex")) for n in range(1, 10)]
    assert len(find_people("What did Alex say?", alexes).authors) <= 3


def test_months_are_no_people_but_people_may_be_called_so() -> None:
    members = [KnownMember(1, ("May",))]
    assert find_people("What happened in May?", members).authors == ()
    assert find_people("What did May say?", members).authors == (1,)
    assert find_people("That may be right", members).authors == ()


@pytest.mark.parametrize(
    ("one", "other", "expected"), [("maren", "maren", 0), ("maren", "marne", 1), ("ab", "", 2)]
)
def test_distance(one: str, other: str, expected: int) -> None:
    assert distance(one, other) == distance(other, one) == expected


@given(st.text(max_size=60), st.lists(st.text(max_size=12), max_size=4))
def test_any_text_and_any_names(text: str, names: list[str]) -> None:
    people = find_people(text, [KnownMember(n, (name,)) for n, name in enumerate(names) if name], asker_id=0)
    assert len(people.text) <= len(text)


@pytest.mark.django_db
def test_in_a_large_server_who_comes_and_goes_counts_at_once(monkeypatch) -> None:
    monkeypatch.setattr(people, "LARGE", 1)
    guild = GuildFactory()

    def joins(name: str) -> GuildMember:
        return GuildMember.objects.create(guild=guild, member=MemberFactory(), username=name)

    first, second = joins("quendolin"), joins("barnabas")
    assert {one.user_id for one in people.known_members(guild.ordinal)} == {first.member_id, second.member_id}
    third = joins("theodora")
    names = {one.user_id: one.names[0] for one in people.known_members(guild.ordinal)}
    assert names[third.member_id] == "theodora" and len(names) == 3
    GuildMember.objects.filter(guild=guild, member=first.member).update(username="gwendolyn")
    assert people.known_members(guild.ordinal) is people.known_members(guild.ordinal)
    monkeypatch.setattr(people, "KEPT_SECONDS", -1.0)
    people._large.clear()
    names = {one.user_id: one.names[0] for one in people.known_members(guild.ordinal)}
    assert names[first.member_id] == "gwendolyn"
    third.delete()
    assert len(people.known_members(guild.ordinal)) == 2


_NAMES = st.text(alphabet="abcdeéлж", min_size=3, max_size=9)


@given(st.lists(_NAMES, min_size=1, max_size=8, unique=True), _NAMES, st.booleans())
def test_letters_rule_out_no_name_that_is_close(names: list[str], word: str, capital: bool) -> None:
    written = word.capitalize() if capital else word
    members = people.KnownMembers(KnownMember(number, (name,)) for number, name in enumerate(names))
    [match] = people._WORD.finditer(written)
    close = {
        number
        for number, name in enumerate(names)
        if name[0] == word[0]
        and (allowed := people._slips_allowed(name, word, capital=capital))
        and name not in people._PLAIN
        and 0 < distance(name, word) <= allowed
    }
    if close and word not in people._PLAIN:
        assert people._close(match, written, members) == close
