"""Recall: what is found for a question, what is left out, and that it never fails a reply."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.test import override_settings
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory import backends, retrieval, snapshots
from memory.conf import get_config
from memory.errors import ModelUnavailable
from memory.llm.base import EmbedderIdentity, Vectors
from memory.llm.hashing import HashEmbedder
from memory.models import Channel, EmbeddingSpace, Guild, Member, Message
from memory.types import GuildInfo, Recall
from tests.factories import ChannelFactory, snowflake
from tests.memory.recall_support import NOW, Town, space

pytestmark = pytest.mark.django_db


@pytest.fixture
def town() -> Town:
    return Town()


def texts(recall: Recall) -> list[str]:
    return [memory.text for memory in recall.memories]


def test_finds_what_answers_and_says_how(town: Town) -> None:
    answer = town.say("Maren", "I am allergic to hazelnuts, sadly", on="2026-02-03T18:00")
    town.say("Tobias", "Maren, what are you doing tonight?", on="2026-02-04T18:00")
    town.say("Tobias", "The boiler is broken again", on="2026-02-05T18:00")
    recall = retrieval.recall(town.ask("What is Maren allergic to?"))
    first = recall.memories[0]
    assert first.key == answer.key
    assert first.line == "[3 February 2026 Maren] I am allergic to hazelnuts, sadly"
    assert first.tokens > 5 and first.injected
    assert first.scores["bm25"] > 0 and first.scores["cosine"] > 0
    assert (first.author_name, first.channel_name, first.discord_message_id) == (
        "Maren",
        "general",
        answer.discord_id,
    )
    assert recall.degraded == ""
    assert recall.authors == (town.people["Maren"].user_id,)
    assert {"words", "embed", "vectors", "score", "total"} <= recall.timings.keys()


def test_a_message_by_the_named_member_comes_before_one_that_addresses_them(town: Town) -> None:
    town.member("Somebody Else")
    town.say("Tobias", "Maren, did you move to the new flat?", on="2026-04-01T18:00")
    mine = town.say("Maren", "I did move to the new flat on Saturday", on="2026-05-01T18:00")
    assert retrieval.recall(town.ask("When did Maren move to the new flat?")).memories[0].key == mine.key


def test_i_is_the_one_who_asks(town: Town) -> None:
    town.member("Ilse")
    town.say("Maren", "my spare key is with the neighbour", on="2026-04-01T18:00")
    own = town.say("Tobias", "my spare key is under the mat", on="2026-05-01T18:00")
    asker = town.people["Tobias"].user_id
    recall = retrieval.recall(town.ask("Where is my spare key?", asker_id=asker))
    assert recall.memories[0].key == own.key
    assert recall.authors == (asker,)


def test_the_date_of_the_question_counts(town: Town) -> None:
    town.say("Maren", "We had dinner with Ana", on="2023-04-02T18:00")
    there = town.say("Maren", "We had dinner with Rui", on="2023-05-03T18:00")
    recall = retrieval.recall(town.ask("Who did Maren have dinner with on May 3, 2023?"))
    assert recall.memories[0].key == there.key
    assert recall.memories[0].scores["exact_date"] > 0


def test_other_servers_are_never_in_it(town: Town) -> None:
    other = Town()
    other.say("Ada", "the lighthouse is red")
    town.say("Maren", "the lighthouse is white")
    assert texts(retrieval.recall(town.ask("What colour is the lighthouse?"))) == ["the lighthouse is white"]


def test_many_nearer_memories_of_other_servers_leave_it_whole(town: Town) -> None:
    other = Town()
    for n in range(30):
        other.say("Ada", f"what colour is the lighthouse {n}")
    town.say("Maren", "white")
    assert texts(retrieval.recall(town.ask("what colour is the lighthouse"))) == ["white"]


def test_only_what_the_readers_of_the_channel_may_read(town: Town) -> None:
    staff, public = ChannelFactory(guild=town.guild), town.channel
    town.say("Maren", "the secret lighthouse plan", channel=staff)
    town.say("Maren", "the public lighthouse plan", channel=public)
    Guild.objects.update(recall_policy=Guild.RecallPolicy.AUDIENCE)
    readers = {staff.discord_id: {1, 2}, public.discord_id: {1, 2, 3}}
    snapshots.record(guild=GuildInfo(town.guild.discord_id), readers=readers)
    ask = "What is the lighthouse plan?"
    assert texts(retrieval.recall(town.ask(ask, channel_id=public.discord_id))) == [
        "the public lighthouse plan"
    ]
    assert len(texts(retrieval.recall(town.ask(ask, channel_id=staff.discord_id)))) == 2
    assert len(texts(retrieval.recall(town.ask(ask)))) == 2  # the operator
    Guild.objects.update(snapshot_at=timezone.now() - timedelta(days=2))
    stale = retrieval.recall(town.ask(ask, channel_id=staff.discord_id))
    assert (texts(stale), stale.degraded) == (["the secret lighthouse plan"], "same_channel_only")


def test_without_what_is_already_in_the_prompt(town: Town) -> None:
    asked = town.say("Tobias", "Where is the lighthouse?")
    said = town.say("Maren", "The lighthouse is on the island")
    old = town.say("Maren", "A lighthouse needs a keeper")
    exclude = frozenset({asked.discord_id, said.discord_id, 12345})
    recall = retrieval.recall(town.ask("Where is the lighthouse?", exclude_discord_ids=exclude))
    assert [memory.key for memory in recall.memories + recall.left_out] == [old.key]


def test_paused_withdrawn_and_deleted_are_not_recalled(town: Town) -> None:
    gone = ChannelFactory(guild=town.guild, deleted_at=timezone.now())
    town.say("Maren", "lighthouse in a deleted channel", channel=gone)
    town.say("Maren", "lighthouse that is paused", paused=True)
    town.say("Ilse", "lighthouse of one who left")
    town.say("Tobias", "lighthouse to be found")
    Member.objects.filter(pk=town.people["Ilse"].pk).update(withdrawn_at=timezone.now())
    recall = retrieval.recall(town.ask("lighthouse"))
    assert [memory.text for memory in recall.memories + recall.left_out] == ["lighthouse to be found"]


def test_what_must_not_be_used_takes_no_places(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memory.retrieval.candidates.DEPTH", 4)
    monkeypatch.setattr("memory.retrieval.candidates.DEEPER", (64,))
    for n in range(12):
        town.say("Ilse", f"lighthouse {n}")
    town.say("Tobias", "the old lighthouse that stands on the island with many other things around it")
    Member.objects.filter(pk=town.people["Ilse"].pk).update(withdrawn_at=timezone.now())
    assert len(retrieval.recall(town.ask("lighthouse")).memories) == 1


def test_no_more_than_top_k_and_the_rest_is_told(town: Town) -> None:
    for n in range(6):
        town.say("Maren", f"lighthouse number {n}")
    recall = retrieval.recall(town.ask("lighthouse", top_k=2))
    assert len(recall.memories) == 2
    assert {memory.why_excluded for memory in recall.left_out} == {"top_k"}
    assert len(recall.left_out) == 4 and not any(memory.injected for memory in recall.left_out)


def test_the_budget_of_tokens_is_kept(town: Town) -> None:
    for n in range(8):
        town.say("Maren", f"lighthouse {n} " + "with some more words about it " * 3)
    recall = retrieval.recall(town.ask("lighthouse", token_budget=120))
    assert recall.memories
    assert sum(memory.tokens for memory in recall.memories) <= 120
    assert {memory.why_excluded for memory in recall.left_out} == {"budget"}


def test_a_wall_of_text_is_shortened_and_stays_one_line(town: Town) -> None:
    town.say("Maren", "lighthouse\n\n" + "word " * 800)
    [memory] = retrieval.recall(town.ask("lighthouse")).memories
    assert len(memory.line) < 800 and "\n" not in memory.line and memory.line.endswith("…")
    assert len(memory.text) > 3000


def test_the_same_words_twice_enter_once(town: Town) -> None:
    town.say("Maren", "the lighthouse is white")
    town.say("Maren", "The lighthouse  is white")
    town.say("Tobias", "the lighthouse is white")
    assert len(retrieval.recall(town.ask("lighthouse")).memories) == 2


def test_images_and_links_are_in_the_line(town: Town) -> None:
    content = {
        "attachments": [
            {"type": "web", "url": "https://x.example", "interpretation": "Tides of the North\nlong"}
        ]
    }
    town.say("Maren", "look at this", captions="a red lighthouse", content=content)
    [memory] = retrieval.recall(town.ask("red lighthouse")).memories
    assert memory.line.endswith("look at this [image: a red lighthouse] [link: Tides of the North — long]")


def test_json_gives_the_full_records(town: Town) -> None:
    content = {"username": "maren", "message": "lighthouse", "datetime": "2026-02-03T18:00:00.000Z"}
    town.say("Maren", "lighthouse", content=content)
    config = get_config()
    changed = config.model_copy(update={"memory": config.memory.model_copy(update={"inject_format": "json"})})
    with override_settings(MUSEBOT=changed):
        [memory] = retrieval.recall(town.ask("lighthouse")).memories
    assert json.loads(memory.line) == content


def test_words_alone_while_no_vectors_exist() -> None:
    town = Town(vectors=False)
    town.say("Maren", "the lighthouse is white")
    recall = retrieval.recall(town.ask("lighthouse"))
    assert (texts(recall), recall.degraded) == (["the lighthouse is white"], "no_vectors")


def test_messages_that_are_not_embedded_yet_are_found_by_their_words(town: Town) -> None:
    town.say("Maren", "the mill is grey")
    town.vectors = False
    late = town.say("Maren", "the lighthouse is white")
    recall = retrieval.recall(town.ask("lighthouse"))
    assert (recall.memories[0].key, recall.degraded) == (late.key, "")


class Recording(HashEmbedder):
    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def embed_query(self, text: str) -> Vectors:
        self.asked.append(text)
        return super().embed_query(text)


def test_a_question_that_must_not_be_embedded_is_not(town: Town) -> None:
    town.say("Maren", "the lighthouse is white")
    embedder = Recording()
    with backends.override(embedder=embedder):
        recall = retrieval.recall(town.ask("lighthouse", use_vectors=False))
        assert embedder.asked == []
        assert texts(recall) == ["the lighthouse is white"]
        retrieval.recall(town.ask("Where is Maren's lighthouse?"))
    assert embedder.asked == ["Where is lighthouse?"]


class Down(HashEmbedder):
    def embed_query(self, text: str) -> Vectors:
        raise ModelUnavailable()


class Mistaken(HashEmbedder):
    def embed_query(self, text: str) -> Vectors:
        raise RuntimeError("a fault of the program, about lighthouse")


class Renamed(HashEmbedder):
    def identity(self) -> EmbedderIdentity:
        return EmbedderIdentity("hash", "another", "2", self.dimension)


@pytest.mark.parametrize("embedder", [Down(), Renamed()])
def test_an_embedder_that_fails_or_is_another_leaves_the_words(town: Town, embedder: Any) -> None:
    town.say("Maren", "the lighthouse is white")
    with backends.override(embedder=embedder):
        recall = retrieval.recall(town.ask("lighthouse"))
    assert (texts(recall), recall.degraded) == (["the lighthouse is white"], "no_vectors")


def test_a_slow_embedder_is_not_waited_for(town: Town) -> None:
    town.say("Maren", "the lighthouse is white")
    release = threading.Event()

    class Slow(HashEmbedder):
        def embed_query(self, text: str) -> Vectors:
            release.wait(30)
            return super().embed_query(text)

    config = get_config()
    changed = config.model_copy(update={"memory": config.memory.model_copy(update={"recall_timeout": 0.05})})
    try:
        with override_settings(MUSEBOT=changed), backends.override(embedder=Slow()):
            recall = retrieval.recall(town.ask("lighthouse"))
    finally:
        release.set()
    assert (texts(recall), recall.degraded) == (["the lighthouse is white"], "timeout")


def test_where_nobody_waits_for_a_reply_there_is_more_time(town: Town, hurried: None) -> None:
    town.say("Maren", "the lighthouse is white")
    assert retrieval.recall(town.ask("lighthouse")).degraded == "timeout"
    assert retrieval.recall(town.ask("lighthouse"), patience=30).degraded == ""
    call_command(
        "recall", "lighthouse", "--guild", str(town.guild.discord_id), "--json", stdout=(out := StringIO())
    )
    assert json.loads(out.getvalue())["degraded"] == ""


@pytest.fixture
def hurried() -> Iterator[None]:
    """No time at all for a recall."""
    config = get_config()
    changed = config.model_copy(update={"memory": config.memory.model_copy(update={"recall_timeout": 0.0})})
    with override_settings(MUSEBOT=changed):
        yield


def test_a_fault_of_the_program_fails_no_reply_and_logs_no_words(
    town: Town, caplog: pytest.LogCaptureFixture
) -> None:
    town.say("Maren", "the lighthouse is white")
    with backends.override(embedder=Mistaken()):
        recall = retrieval.recall(town.ask("lighthouse"))
    assert (recall.memories, recall.degraded) == ((), "error")
    assert "RuntimeError" in caplog.text and "lighthouse" not in caplog.text


def test_nothing_while_memory_is_off(town: Town) -> None:
    town.say("Maren", "the lighthouse is white")
    config = get_config()
    changed = config.model_copy(update={"memory": config.memory.model_copy(update={"embedding_model": None})})
    with override_settings(MUSEBOT=changed):
        assert retrieval.recall(town.ask("lighthouse")).memories == ()


def test_unknown_servers_and_empty_questions_give_nothing(town: Town) -> None:
    town.say("Maren", "the lighthouse is white")
    assert retrieval.recall(town.ask("lighthouse", guild_id=snowflake())).memories == ()
    assert retrieval.recall(town.ask("  \n ")).memories == ()


def test_neighbours_and_episodes_lift_a_message(town: Town) -> None:
    town.say("Tobias", "how was the lighthouse tour?", on="2026-02-03T18:00")
    near = town.say("Maren", "great fun", on="2026-02-03T18:01")
    town.say("Maren", "great stuff", on="2026-03-03T18:01")
    recall = retrieval.recall(town.ask("how was the lighthouse tour"))
    ranked = [memory.text for memory in recall.memories]
    assert ranked.index("great fun") < ranked.index("great stuff")
    found = next(memory for memory in recall.memories if memory.key == near.key)
    assert found.scores["one_away"] > 0 and found.scores["episode"] > 0


def test_neighbours_are_those_of_the_same_channel(town: Town) -> None:
    other: Channel = ChannelFactory(guild=town.guild)
    town.say("Tobias", "lighthouse tour", on="2026-02-03T18:00")
    town.say("Maren", "something else", on="2026-02-03T18:01", channel=other)
    recall = retrieval.recall(town.ask("lighthouse tour"))
    found = next(memory for memory in recall.memories if memory.text == "something else")
    assert "one_away" not in found.scores


def test_a_retired_space_is_not_used(town: Town) -> None:
    town.say("Maren", "the lighthouse is white")
    EmbeddingSpace.objects.filter(pk=space().pk).update(state=EmbeddingSpace.State.RETIRED)
    assert retrieval.recall(town.ask("lighthouse")).degraded == "no_vectors"


def test_the_number_of_queries_does_not_grow_with_what_is_found(
    town: Town, django_assert_max_num_queries: Any
) -> None:
    for n in range(40):
        town.say("Maren", f"lighthouse {n} on the island")
    with django_assert_max_num_queries(14):
        recall = retrieval.recall(town.ask("lighthouse on the island"))
    assert Message.objects.count() == 40 and recall.memories


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=120))
def test_any_question_is_answered(town: Town, text: str) -> None:
    if not Message.objects.exists():
        town.say("Maren", "the lighthouse is white")
    assert retrieval.recall(town.ask(text, asker_id=1, now=NOW)).degraded in {"", "no_vectors"}
