"""What a full-text index promises; above all, that no text whatsoever makes a query fail."""

from __future__ import annotations

import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.backends import text_index
from memory.index.base import TextIndex
from memory.index.pg_fulltext import POSTINGS
from memory.index.terms import tokens
from memory.models import Channel, Guild, Message
from tests.factories import ChannelFactory, GuildFactory, MessageFactory


@pytest.fixture
def index(db: None) -> TextIndex:
    return text_index()


@pytest.fixture
def channel(db: None) -> Channel:
    return ChannelFactory()


def said(index: TextIndex, text: str, channel: Channel, **values: object) -> Message:
    message = MessageFactory(text=text, channel=channel, **values)
    index.add([message.key])
    return message


def found(index: TextIndex, guild: Guild, text: str, k: int = 10, **filters: object) -> list[int]:
    return [hit.key for hit in index.search(guild.ordinal, tokens(text), k, **filters)]  # type: ignore[arg-type]


def stored_words_with(text: str) -> bool:
    """Whether a word stands anywhere in the index's own tables."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT count(*) FROM memory_message_postings WHERE strpos(term, %s) > 0", [text])
            return bool(cursor.fetchone()[0])
        cursor.execute("SELECT block FROM memory_message_fts_data")
        return text.encode() in b"".join(row[0] for row in cursor.fetchall())


def check_against_rows(rank: int) -> None:
    """The index's own check of itself; with rank 1 also against the rows."""
    if connection.vendor == "postgresql":
        assert POSTINGS.is_sound()
        assert not POSTINGS.strays("SELECT key FROM memory_message", 10)
        return
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO memory_message_fts(memory_message_fts, rank) VALUES ('integrity-check', {rank})"
        )


def test_finds_any_of_the_words_in_any_form_best_first(index: TextIndex, channel: Channel) -> None:
    one = said(index, "The dogs were running along the harbour", channel)
    both = said(index, "A dog in the rain", channel)
    said(index, "Nothing of the kind", channel)
    assert found(index, channel.guild, "Did the dog run in the rain?") == [both.key, one.key]


def test_scores_are_higher_for_better(index: TextIndex, channel: Channel) -> None:
    for text in ("rain and snow", "rain", "sunshine", "more sunshine"):
        said(index, text, channel)
    hits = index.search(channel.guild.ordinal, ["rain", "snow"], 10)
    assert [hit.fielded for hit in hits] == sorted((hit.fielded for hit in hits), reverse=True)
    assert all(hit.fielded > 0 and hit.body > 0 for hit in hits)


def test_date_and_author_count_for_the_fielded_score_alone(index: TextIndex, channel: Channel) -> None:
    message = said(index, "we met at last", channel, author_name="Quendolin")
    said(index, "something else", channel)
    [hit] = index.search(channel.guild.ordinal, ["quendolin"], 10)
    assert hit.key == message.key
    assert hit.fielded > hit.body == pytest.approx(0.0, abs=1e-5)


def test_words_of_captions_are_found(index: TextIndex, channel: Channel) -> None:
    message = said(index, "look", channel, captions="a heron on a jetty")
    assert found(index, channel.guild, "heron") == [message.key]


def test_other_guilds_take_no_places(index: TextIndex, channel: Channel) -> None:
    other = ChannelFactory(guild=GuildFactory())
    for _ in range(20):
        said(index, "lighthouse lighthouse", other)
    mine = said(index, "a long story in which at some point a lighthouse comes into sight", channel)
    assert found(index, channel.guild, "lighthouse", k=5) == [mine.key]
    assert len(index.search(None, ["lighthouse"], 50)) == 21


def test_filters_by_channel_before_it_ranks(index: TextIndex, channel: Channel) -> None:
    loud = ChannelFactory(guild=channel.guild)
    for _ in range(20):
        said(index, "lighthouse", loud)
    quiet = said(index, "one lighthouse among many other words", channel)
    assert found(index, channel.guild, "lighthouse", k=1, channels={channel.discord_id}) == [quiet.key]
    assert found(index, channel.guild, "lighthouse", channels=set()) == []


def test_excluded_messages_leave_their_places_to_others(index: TextIndex, channel: Channel) -> None:
    keys = [said(index, "lighthouse", channel).key for _ in range(4)]
    assert found(index, channel.guild, "lighthouse", k=2, exclude=set(keys[:2])) == keys[2:]


def test_removed_messages_are_not_found_and_leave_no_words(index: TextIndex, channel: Channel) -> None:
    message = said(index, "xylophone", channel)
    kept = said(index, "violin", channel)
    index.remove([message.key, message.key + 1000])
    Message.objects.filter(key=message.key).delete()
    index.optimize()
    assert found(index, channel.guild, "xylophone violin") == [kept.key]
    assert not stored_words_with("xylophon")
    check_against_rows(1)


def test_adding_or_removing_twice_does_no_harm(index: TextIndex, channel: Channel) -> None:
    message = said(index, "violin", channel)
    index.add([message.key, message.key])
    assert found(index, channel.guild, "violin") == [message.key]
    index.remove([message.key])
    index.remove([message.key])
    assert found(index, channel.guild, "violin") == []
    check_against_rows(0)


def test_an_edit_is_a_removal_and_an_addition(index: TextIndex, channel: Channel) -> None:
    message = said(index, "violin", channel)
    index.remove([message.key])
    Message.objects.filter(key=message.key).update(text="cello")
    index.add([message.key])
    assert found(index, channel.guild, "violin") == []
    assert found(index, channel.guild, "cello") == [message.key]


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("明日は東京タワーに行きます", "東京"),
        ("我昨天买了一只猫", "猫"),
        ("우리는 부산에 갔다", "부산"),
        ("Der Kühlschrank ist kaputt", "kuhlschrank"),
        ("un café crème", "cafe\u0301"),
        ("Привет из Москвы", "москвы"),
        ("v2.0.7 is out", "v2.0"),
        ("so happy 🎉 party", "party🎉"),
    ],
)
def test_finds_words_of_many_scripts(index: TextIndex, channel: Channel, text: str, question: str) -> None:
    message = said(index, text, channel)
    said(index, "something else altogether", channel)
    assert found(index, channel.guild, question) == [message.key]


@pytest.mark.parametrize(
    "text",
    [
        '"',
        "'",
        "AND",
        "OR NOT",
        "NEAR(a b, 3)",
        "body:",
        "who : x",
        "*",
        "a*",
        "^a",
        "(",
        ")",
        "-",
        "--",
        "\0",
        "a\0b",
        "\ud800",
        "🎉",
        "？！。",
        "%s",
        "; DROP TABLE memory_message",
        "字" * 5000,
        "again " * 10_000,
        "x" * 100_000,
        " ".join(f"w{n}" for n in range(10_000)),
        "\u200b\u200e\ufeff",
        "²½Ⅷ",
    ],
)
def test_odd_texts_are_no_error(index: TextIndex, channel: Channel, text: str) -> None:
    said(index, "ordinary words", channel)
    assert index.search(channel.guild.ordinal, tokens(text), 5) == []


@pytest.mark.django_db
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=200), words=st.lists(st.text(max_size=20), max_size=30))
def test_no_text_makes_a_query_fail(text: str, words: list[str]) -> None:
    index = text_index()
    index.search(1, tokens(text), 5)
    # Not even words that no tokenizer made.
    index.search(1, words, 5, channels={1, 2}, exclude={3})
