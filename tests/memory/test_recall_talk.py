"""Threads of talk: who answers whom in a channel, also where several talk at once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from memory import retrieval
from memory.models import Guild
from memory.retrieval import candidates
from memory.retrieval.candidates import Row
from memory.retrieval.talk import Talk
from tests.memory.recall_support import Town

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
ADA, BEN, CLEO = 1, 2, 3
NAMES = {ADA: "Ada", BEN: "Ben Ito", CLEO: "Cleo"}


def talk(*said: tuple[int, str], reply: dict[int, int] | None = None, minutes: float = 1) -> Talk:
    """One channel; keys count from 1, Discord's ids from 101; ``reply`` names keys."""
    rows = []
    for key, (author, text) in enumerate(said, 1):
        following = tuple(other if other <= len(said) else None for other in (key + 1, key + 2))
        rows.append(
            Row(
                key,
                100 + key,
                9,
                "general",
                author,
                NAMES[author],
                text,
                "",
                START + timedelta(minutes=minutes * key),
                (following[0], following[1]),
                reply_to=100 + reply[key] if reply and key in reply else None,
            )
        )
    return Talk(rows)


def test_without_a_sign_the_message_before_is_what_is_answered() -> None:
    found = talk((ADA, "tea?"), (BEN, "yes"), (ADA, "good"))
    assert (found.before(1), found.before(2), found.before(3)) == (None, 1, 2)
    assert found.two_before(3) == 1


def test_a_reply_goes_to_what_it_names_and_on_from_there() -> None:
    found = talk((ADA, "tea?"), (BEN, "which?"), (CLEO, "football!"), (ADA, "green"), reply={2: 1, 4: 2})
    assert (found.before(4), found.two_before(4)) == (2, 1)


def test_a_reply_to_what_is_not_there_falls_back_to_the_message_before() -> None:
    assert talk((ADA, "tea?"), (BEN, "yes"), reply={2: 77}).before(2) == 1


@pytest.mark.parametrize("text", ["Ada, green please", "@Ada: green", "<@1> green", "ada! green"])
def test_who_is_addressed_is_who_is_answered(text: str) -> None:
    assert talk((ADA, "which tea?"), (BEN, "football"), (CLEO, text)).before(3) == 1


def test_a_first_name_is_enough_and_ones_own_name_says_nothing() -> None:
    assert talk((BEN, "which tea?"), (ADA, "football"), (CLEO, "Ben, green")).before(3) == 1
    assert talk((ADA, "which tea?"), (BEN, "football"), (ADA, "Ada, that is me")).before(3) == 2


def test_nobody_is_addressed_over_a_long_pause() -> None:
    assert talk((ADA, "which?"), (BEN, "football"), (CLEO, "Ada, green"), minutes=31).before(3) == 2


def test_what_is_answered_is_near_wherever_it_stands() -> None:
    said = talk((ADA, "tea?"), (BEN, "a"), (CLEO, "b"), (BEN, "c"), (CLEO, "d"), (ADA, "green"), reply={6: 1})
    one, _ = said.best_near({1: 0.9, 2: 0.0, 3: 0.0, 4: 0.0, 5: 0.0, 6: 0.1})
    assert (one[6], one[1]) == (0.9, 0.1)


@pytest.mark.django_db
def test_the_answer_in_the_other_thread_of_a_busy_channel_is_found() -> None:
    town = Town()
    town.member("Ilse")
    asked = town.say("Maren", "which bakery has the good rye bread?", on="2026-03-01T12:00")
    town.say("Tobias", "did anybody watch the match?", on="2026-03-01T12:01")
    town.say("Ilse", "only the second half", on="2026-03-01T12:02")
    answer = town.say("Ilse", "the one by the canal", on="2026-03-01T12:03", reply_to=asked.discord_id)
    town.say("Tobias", "the end was wild", on="2026-03-01T12:04")
    town.say("Ilse", "the one on the hill", on="2026-04-01T12:04")
    recall = retrieval.recall(town.ask("Which bakery has good rye bread?"))
    ranked = [memory.key for memory in recall.memories]
    assert ranked[0] == answer.key


@pytest.mark.django_db
def test_each_of_several_pieces_of_evidence_is_found_in_its_own_time() -> None:
    town = Town()
    keys = []
    for month in range(1, 5):
        keys.append(town.say("Maren", f"went climbing, take {month}", on=f"2026-0{month}-03T18:00").key)
        for n in range(6):
            town.say("Tobias", f"something else {month} {n}", on=f"2026-0{month}-03T18:0{n + 1}")
    recall = retrieval.recall(town.ask("How many times did Maren go climbing?"))
    assert set(keys) == {memory.key for memory in recall.memories[:4]}


@pytest.mark.django_db
def test_what_follows_is_known_within_an_episode_and_not_beyond() -> None:
    town = Town()
    first = town.say("Maren", "rye bread one", on="2026-03-01T12:00")
    between = town.say("Tobias", "nothing of it", on="2026-03-01T12:01")
    second = town.say("Maren", "rye bread two", on="2026-03-01T12:02")
    late = town.say("Maren", "rye bread three", on="2026-03-01T18:00")
    rows = {row.key: row for row in candidates_of("rye bread")}
    assert rows[first.key].following == (between.key, second.key)
    assert rows[second.key].following == (None, None) == rows[late.key].following
    found = Talk(list(rows.values()))
    assert found.before(second.key) == (between.key if between.key in rows else None)
    assert found.two_before(second.key) == first.key and found.before(late.key) is None


def candidates_of(text: str) -> list[Row]:
    """Found by words alone, so that what has none of them is no candidate."""
    guild = Guild.objects.get()
    scope = candidates.Scope(guild.ordinal)
    found = candidates.by_words(scope, text.split())
    return list(candidates.gather(found, candidates.NO_NEIGHBOURS, None, None).rows)
