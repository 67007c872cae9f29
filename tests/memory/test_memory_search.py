"""The operator's search: by words and by meaning, filtered, in pages that stay where they are."""

from __future__ import annotations

from datetime import timedelta

import pytest

from memory import backends, retrieval
from memory.errors import InvalidInput, ModelUnavailable
from memory.llm.base import Vectors
from memory.llm.hashing import HashEmbedder
from memory.models import Message
from tests.factories import START, ChannelFactory, snowflake
from tests.memory.recall_support import Town

pytestmark = pytest.mark.django_db


@pytest.fixture
def town() -> Town:
    return Town()


@pytest.mark.parametrize("mode", ["keyword", "semantic"])
def test_finds_in_one_server_and_in_all(town: Town, mode: str) -> None:
    here = town.say("Maren", "the lighthouse is white")
    other = Town()
    there = other.say("Ada", "the lighthouse is red")
    hits, following = retrieval.search(text="lighthouse white", mode=mode, guild_id=town.guild.discord_id)
    assert [hit.key for hit in hits] == [here.key] and following is None
    hits, _ = retrieval.search(text="lighthouse white", mode=mode)
    assert [hit.key for hit in hits] == [here.key, there.key]
    assert hits[0].score > hits[1].score


@pytest.mark.parametrize("mode", ["keyword", "semantic"])
def test_filters(town: Town, mode: str) -> None:
    side = ChannelFactory(guild=town.guild)
    first = town.say("Maren", "lighthouse one", sent_at=START)
    second = town.say("Tobias", "lighthouse two", sent_at=START + timedelta(days=1))
    third = town.say("Tobias", "lighthouse three", sent_at=START + timedelta(days=2), channel=side)

    def keys(**filters: object) -> set[int]:
        hits, _ = retrieval.search(text="lighthouse", mode=mode, **filters)  # type: ignore[arg-type]
        return {hit.key for hit in hits}

    assert keys(channel_id=side.discord_id) == {third.key}
    assert keys(user_id=town.people["Tobias"].user_id) == {second.key, third.key}
    assert keys(since=START + timedelta(days=1)) == {second.key, third.key}
    assert keys(until=START + timedelta(days=1)) == {first.key}
    assert keys(user_id=town.people["Tobias"].user_id, until=START + timedelta(days=2)) == {second.key}
    assert keys(guild_id=snowflake()) == set()
    assert keys(user_id=snowflake()) == set()


def test_wide_filters_use_the_index(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memory.retrieval.operator_search.FEW", 1)
    for n in range(5):
        town.say("Maren", f"lighthouse {n}")
    kept = town.say("Tobias", "lighthouse 9")
    town.say("Tobias", "mill")
    hits, _ = retrieval.search(text="lighthouse", mode="semantic", user_id=town.people["Tobias"].user_id)
    assert hits[0].key == kept.key and len(hits) == 2


@pytest.mark.parametrize("mode", ["keyword", "semantic"])
@pytest.mark.parametrize("erase", [False, True])
def test_pages_show_everything_once_even_while_rows_are_erased(town: Town, mode: str, erase: bool) -> None:
    said = {town.say("Maren", f"lighthouse {'again ' * (n % 3)}").key for n in range(11)}
    seen: list[int] = []
    cursor = None
    for _ in range(10):
        hits, cursor = retrieval.search(text="lighthouse", mode=mode, limit=4, offset_cursor=cursor)
        seen += [hit.key for hit in hits]
        if (
            erase and mode == "semantic" and hits
        ):  # word statistics change with each erasure, distances do not
            from tests.memory.recall_support import space

            backends.vector_index(space()).remove([hits[0].key])
        if cursor is None:
            break
    assert len(seen) == len(set(seen)) == 11 and set(seen) == said


@pytest.mark.parametrize("cursor", ["x", "%%%", "AAAA", "é"])
def test_a_damaged_cursor_is_an_error(town: Town, cursor: str) -> None:
    with pytest.raises(InvalidInput):
        retrieval.search(text="lighthouse", mode="keyword", offset_cursor=cursor)


def test_words_that_recall_leaves_out_can_be_searched(town: Town) -> None:
    message = town.say("Maren", "who are you")
    town.say("Maren", "nothing")
    hits, _ = retrieval.search(text="who", mode="keyword")
    assert [hit.key for hit in hits] == [message.key]


@pytest.mark.parametrize("text", ["", "  ", '"', "*", "\0"])
def test_nothing_to_look_for_finds_nothing(town: Town, text: str) -> None:
    town.say("Maren", "lighthouse")
    assert retrieval.search(text=text, mode="keyword") == ([], None)


def test_paused_memories_are_found_here(town: Town) -> None:
    message = town.say("Maren", "lighthouse", paused=True)
    hits, _ = retrieval.search(text="lighthouse", mode="keyword")
    assert [hit.key for hit in hits] == [message.key]


def test_an_embedder_that_is_down_is_an_error_the_page_can_show(town: Town) -> None:
    class Down(HashEmbedder):
        def embed_query(self, text: str) -> Vectors:
            raise ModelUnavailable()

    town.say("Maren", "lighthouse")
    with backends.override(embedder=Down()), pytest.raises(ModelUnavailable):
        retrieval.search(text="lighthouse", mode="semantic")


def test_semantic_search_without_vectors_finds_nothing() -> None:
    Town(vectors=False).say("Maren", "lighthouse")
    assert retrieval.search(text="lighthouse", mode="semantic") == ([], None)
    assert Message.objects.count() == 1
