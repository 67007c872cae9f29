"""After a change of the embedding model: the older vectors are kept for a while, one can go back to them, and they are dropped."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from memory import backends, capture, embedding, tasks
from memory.conf import ModelRef
from memory.errors import Conflict, InvalidInput, ModelUnavailable, NotFound
from memory.models import EmbeddingSpace, Message, OutboxEntry
from tests.factories import snowflake
from tests.memory.memory_support import erase, files_with, message, opted_in, say, work
from tests.memory.test_embedding_change import Model, models, new_space, recalled, tables, vectors

__all__ = ["models"]

pytestmark = pytest.mark.django_db


@pytest.fixture
def switched(models):
    """The newer model serves, the older one's vectors are kept."""
    embedding.notice_change()
    work("respace")
    return models


def states():
    return dict(EmbeddingSpace.objects.values_list("digest", "state"))


def test_the_older_vectors_are_kept_for_a_while(switched):
    older, newer = switched
    kept = embedding.kept()
    assert kept is not None and (kept.model, kept.dimension, kept.vectors) == ("hash", 256, 10)
    assert timedelta(days=13) < kept.until - timezone.now() <= timedelta(days=14)
    assert kept.bytes > 10 * 256 * 4
    tasks.sweep()
    assert states() == {"1": "kept", "2": "active"}
    EmbeddingSpace.objects.filter(state="kept").update(kept_until=timezone.now())
    tasks.sweep()
    work("respace")
    assert states() == {"2": "active"} and embedding.kept() is None
    assert len(tables()) == 1 and recalled() == ("", True)


def test_back_at_once_and_forward_again(switched):
    older, newer = switched
    assert embedding.roll_back() == "hash"
    assert states() == {"1": "active", "2": "kept"}
    older.queries.clear()
    assert recalled() == ("", True) and older.queries == ["quixotarium"]
    work("respace")
    assert not Message.objects.exclude(embedding="done", space=older.space).exists()
    # The configured model is not built again by itself.
    embedding.notice_change()
    tasks.sweep()
    assert states() == {"1": "active", "2": "kept"} and embedding.change().state == "declined"
    newer.documents.clear()
    embedding.start()
    work("respace")
    assert states() == {"1": "kept", "2": "active"} and newer.documents == []
    assert recalled() == ("", True) and embedding.change() is None


def test_what_was_said_edited_and_deleted_since_the_switch(switched):
    older, newer = switched
    edited, gone = older.keys[0], older.keys[1]
    said = say(older.ada, "said since about quixotarium")
    ids = dict(Message.objects.values_list("key", "discord_id"))
    capture.edit_message(discord_id=ids[edited], text="other words", edited_at=timezone.now())
    capture.forget_messages([ids[gone]])
    work()
    space = EmbeddingSpace.objects.get(digest="1")
    assert vectors(space) == sorted(older.keys[2:])
    embedding.roll_back()
    work("respace")
    assert {message(key).embedding for key in (said, edited)} == {"pending"}
    work()
    assert vectors(space) == sorted([*older.keys[2:], said, edited])
    assert "Ada: other words" in older.documents and message(said).space == space
    assert not OutboxEntry.objects.exists()


def test_there_is_no_way_back_to_a_model_that_does_not_answer(switched):
    older, _ = switched
    older.down = ModelUnavailable("away")
    with pytest.raises(ModelUnavailable, match="Start it"):
        embedding.roll_back()
    older.down, older.digest = None, "another build"
    with pytest.raises(ModelUnavailable):
        embedding.roll_back()
    assert states() == {"1": "kept", "2": "active"}


def test_not_while_others_are_being_built(switched):
    EmbeddingSpace.objects.create(provider="hash", digest="3", dimension=8)
    with pytest.raises(Conflict, match="Cancel that first"):
        embedding.roll_back()


def test_dropped_by_hand(switched):
    embedding.drop_kept()
    work("respace")
    assert states() == {"2": "active"} and len(tables()) == 1
    for call in (embedding.roll_back, embedding.drop_kept, lambda: embedding.keep_for(3)):
        with pytest.raises(NotFound):
            call()


def test_how_long_they_are_kept_can_be_changed(switched):
    embedding.keep_for(100)
    assert embedding.kept().until - timezone.now() > timedelta(days=99)
    for days in (0, 366):
        with pytest.raises(InvalidInput):
            embedding.keep_for(days)


def test_only_the_last_ones_are_kept(switched):
    third = Model("3", 32)
    with backends.override(embedder=third, older_embedder=switched[1]):
        embedding.notice_change()
        work("respace")
    assert states() == {"2": "kept", "3": "active"}


def test_the_configuration_names_the_older_model_again(switched):
    """Its kept vectors are built upon, so that only what was said since is embedded."""
    older, newer = switched
    said = say(older.ada, "said since")
    work()
    older.documents.clear()
    with backends.override(embedder=older, older_embedder=newer):
        embedding.notice_change()
        assert states() == {"1": "building", "2": "active"}
        work("respace")
        assert older.documents == ["Ada: said since"] and message(said).embedding == "done"
    assert states() == {"1": "active", "2": "kept"}


@pytest.mark.django_db(transaction=True)
def test_an_erasure_reaches_the_kept_vectors(switched):
    older, newer = switched
    bob = opted_in("bob")
    kept = say(bob, "kept", id=snowflake())
    work()
    floats = older.embed_query("Ada: message 3 about quixotarium").tobytes()[:64]
    assert files_with(floats)
    erase(older.ada)
    assert vectors(EmbeddingSpace.objects.get(digest="1")) == [] and vectors(new_space()) == [kept]
    assert files_with(floats, b"quixotarium") == []


def test_what_a_change_would_take_is_measured_on_sentences_of_ours(models):
    older, newer = models
    older.documents.clear()
    found = embedding.estimate(ModelRef(provider="hash"))
    assert (found.dimension, found.messages, found.passages) == (256, 10, 0)
    assert found.rate > 0 and found.seconds == pytest.approx(10 / found.rate)
    assert 10 * 256 * 4 < found.bytes < 2 * 10 * 256 * 4
    assert older.documents and not any("quixotarium" in text for text in older.documents)
    older.down = ModelUnavailable("away")
    with pytest.raises(ModelUnavailable):
        embedding.estimate(ModelRef(provider="hash"))
