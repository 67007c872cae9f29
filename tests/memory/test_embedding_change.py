"""Another embedding model: built in the background while the older vectors serve, one switch, the older ones kept beside."""

from __future__ import annotations

import re

import numpy as np
import pytest
from django.db import connection
from django.utils import timezone

from memory import backends, capture, embedding, outbox, retrieval
from memory.backends import vector_index
from memory.embedding import building
from memory.errors import Conflict, ModelRejected, ModelUnavailable, NotFound
from memory.llm.base import EmbedderIdentity
from memory.llm.hashing import HashEmbedder
from memory.models import EmbeddingSpace, InstallationState, Member, Message, OutboxEntry
from memory.types import RecallQuery
from tests.factories import snowflake
from tests.memory.memory_support import erase, expire_leases, files_with, message, opted_in, say, work
from tests.memory.test_worker_killed import kill_in_the_middle_of

pytestmark = pytest.mark.django_db

GUILD = 1_300_000_000_000_000_001


class Model(HashEmbedder):
    """Answers, refuses or does something else meanwhile, where a test says so."""

    def __init__(self, digest, dimension):
        super().__init__(dimension)
        self.digest, self.down, self.poison, self.meanwhile = digest, None, "", None
        self.documents, self.queries = [], []

    def identity(self):
        if self.down:
            raise self.down
        return EmbedderIdentity("hash", "", self.digest, self.dimension)

    def embed_documents(self, texts):
        if self.down:
            raise self.down
        self.documents += texts
        if self.poison and any(self.poison in text for text in texts):
            raise ModelRejected()
        if self.meanwhile:
            meanwhile, self.meanwhile = self.meanwhile, None
            meanwhile()
        return super().embed_documents(texts)

    def embed_query(self, text):
        if self.down:
            raise self.down
        self.queries.append(text)
        return super().embed_query(text)


@pytest.fixture(params=[64, 256], ids=["another dimension", "the same dimension"])
def models(request):
    """The older and the newer model; ten messages have vectors of the older."""
    older, newer = Model("1", 256), Model("2", request.param)
    with backends.override(embedder=older):
        ada = opted_in("ada")
        older.keys = [say(ada, f"message {n} about quixotarium") for n in range(10)]
        older.ada = ada
        work()
        older.space = embedding.active_space()
    with backends.override(embedder=newer, older_embedder=older):
        yield older, newer


def recalled(text="quixotarium"):
    found = retrieval.recall(RecallQuery(text=text, guild_id=GUILD))
    return found.degraded, sum(one.scores.get("cosine", 0) > 0 for one in found.memories) >= 10


def new_space():
    return EmbeddingSpace.objects.get(digest="2")


def vectors(space):
    return sorted(vector_index(space).keys())


def tables():
    names = connection.introspection.table_names()
    return {name for name in names if re.fullmatch(r"memory_vectors_\d+", name)}


def test_the_older_vectors_serve_until_the_switch(models):
    older, newer = models
    assert embedding.notice_change()
    assert (older.space.pk, "active") in EmbeddingSpace.objects.values_list("pk", "state")
    assert new_space().state == "building" and newer.documents == []
    served = []
    newer.meanwhile = lambda: served.append(recalled())
    work("respace")
    assert served == [("", True)] and older.queries == ["quixotarium"]
    assert recalled() == ("", True) and newer.queries == ["quixotarium"]
    assert sorted(EmbeddingSpace.objects.values_list("digest", "state")) == [("1", "kept"), ("2", "active")]
    assert vectors(new_space()) == sorted(older.keys)
    assert tables() == {vector_index(one).table for one in (older.space, new_space())}
    assert not Message.objects.exclude(embedding="done", space=new_space()).exists()
    assert not OutboxEntry.objects.exists() and embedding.change() is None
    assert not InstallationState.objects.filter(name="embedding_change").exists()
    assert len(newer.documents) == 10


def test_what_is_said_edited_and_deleted_meanwhile(models):
    older, newer = models
    new = []
    said_id, edited_id, gone_id = snowflake(), snowflake(), snowflake()

    def meanwhile():
        new.append(say(older.ada, "said meanwhile", id=said_id))
        capture.edit_message(discord_id=edited_id, text="other words", edited_at=timezone.now())
        capture.forget_messages([gone_id])
        work()
        assert sorted(older.documents[-2:]) == ["Ada: other words", "Ada: said meanwhile"]
        assert recalled("other words")[0] == ""

    with backends.override(embedder=older):
        edited, gone = (
            say(older.ada, "first words", id=edited_id),
            say(older.ada, "to be deleted", id=gone_id),
        )
        work()
    embedding.notice_change()
    newer.meanwhile = meanwhile
    work("respace")
    work()
    keys = sorted([*older.keys, *new, edited])
    assert vectors(new_space()) == keys and gone not in keys
    found = vector_index(new_space()).vectors([edited])[edited]
    assert np.allclose(found, HashEmbedder(newer.dimension).embed_query("Ada: other words"))
    assert not Message.objects.exclude(embedding="done", space=new_space()).exists()


def test_killed_and_resumed_it_repeats_one_batch_at_most(models, monkeypatch):
    older, newer = models
    monkeypatch.setattr(building, "BATCH", 3)
    embedding.notice_change()
    real, calls = HashEmbedder.embed_documents, []

    def dies_now_and_then(self, texts):
        calls.append(len(texts))
        if self is newer and len(calls) % 2 == 0:
            raise KeyboardInterrupt
        return real(self, texts)

    monkeypatch.setattr(HashEmbedder, "embed_documents", dies_now_and_then)
    kills = 0
    for _ in range(20):
        try:
            work("respace")
            break
        except KeyboardInterrupt:
            kills += 1
            assert expire_leases() == 1
            done = embedding.change()
            assert done.done == len(vectors(new_space())) and done.total == 10
    assert kills >= 3 and vectors(new_space()) == sorted(older.keys)
    assert len(newer.documents) <= 10 + 3 * kills


def test_progress(models, monkeypatch):
    older, newer = models
    monkeypatch.setattr(building, "BATCH", 4)
    monkeypatch.setattr(building, "TURN_SECONDS", 0.0)
    embedding.notice_change()
    change = embedding.change()
    assert (change.older, change.newer, change.state, change.done) == ("hash", "hash", "building", 0)
    assert (change.older_dimension, change.newer_dimension) == (256, newer.dimension)
    seen = []
    newer.meanwhile = lambda: seen.append(embedding.change())
    monkeypatch.setattr(building, "TURN_SECONDS", 60.0)
    real = newer.embed_documents

    def second(texts):
        seen.append(embedding.change())
        return real(texts)

    newer.embed_documents = second
    work("respace")
    assert [one.done for one in seen if one.total][:3] == [0, 0, 4]
    halfway = seen[-1]
    assert halfway.done == 8 and halfway.total == 10 and halfway.rate > 0 and halfway.seconds_left > 0


def test_pause_and_resume(models, monkeypatch):
    older, newer = models
    monkeypatch.setattr(building, "BATCH", 4)
    embedding.notice_change()
    newer.meanwhile = embedding.pause
    work("respace")
    assert embedding.change().state == "paused" and vectors(new_space()) == []
    work("respace")
    embedding.notice_change()
    outbox.release_expired()
    assert embedding.change().state == "paused" and recalled() == ("", True)
    embedding.resume()
    work("respace")
    assert embedding.change() is None and vectors(new_space()) == sorted(older.keys)


def test_cancel_goes_back_to_the_older_model_for_good(models, monkeypatch):
    older, newer = models
    monkeypatch.setattr(building, "BATCH", 4)
    embedding.notice_change()
    newer.meanwhile = embedding.cancel
    work("respace")
    assert embedding.change().state == "declined"
    work("respace")
    assert list(EmbeddingSpace.objects.values_list("digest", "state")) == [("1", "active")]
    assert tables() == {vector_index(older.space).table}
    embedding.notice_change()
    key = say(older.ada, "said after it")
    work()
    assert not OutboxEntry.objects.exists() and message(key).space == older.space
    assert recalled() == ("", True)
    with pytest.raises(NotFound):
        embedding.cancel()
    embedding.start()
    work("respace")
    assert embedding.change() is None and len(vectors(new_space())) == 11
    with pytest.raises(Conflict):
        embedding.start()


def test_the_configuration_names_the_older_model_again(models):
    older, newer = models
    embedding.notice_change()
    with backends.override(embedder=older):
        # Nothing tells the two apart but their digests here; another name is what makes it a change of mind.
        EmbeddingSpace.objects.filter(digest="2").update(name="another")
        embedding.notice_change()
        work("respace")
        assert list(EmbeddingSpace.objects.values_list("digest", "state")) == [("1", "active")]
        assert recalled() == ("", True)


def test_without_the_older_model_words_alone_serve_and_say_so(models):
    older, newer = models
    older.down = ModelUnavailable()
    embedding.notice_change()
    key = say(older.ada, "quixotarium again")
    work()
    assert message(key).space == new_space() and vectors(new_space()) == [key]
    assert recalled() == ("no_vectors", False)
    assert embedding.change().words_only
    work("respace")
    assert recalled() == ("", True) and len(vectors(new_space())) == 11


def test_what_only_the_new_space_holds_is_embedded_again_after_cancelling(models):
    older, newer = models
    older.down = ModelUnavailable()
    embedding.notice_change()
    key = say(older.ada, "quixotarium again")
    work()
    embedding.cancel()
    older.down = None
    work("respace")
    work()
    assert message(key).space == older.space and vectors(older.space) == sorted([*older.keys, key])


def test_the_newer_model_is_away(models):
    older, newer = models
    embedding.notice_change()
    newer.down = ModelUnavailable("ollama at localhost does not answer")
    key = say(older.ada, "meanwhile")
    work()
    assert message(key).space == older.space and recalled() == ("", True)
    work("respace")
    change = embedding.change()
    assert (change.state, change.attempts) == ("waiting", 1) and change.error
    newer.down = None
    embedding.resume()
    work("respace")
    assert embedding.change() is None


def test_it_is_noticed_later_where_the_model_is_away_at_the_start(models):
    newer = models[1]
    newer.down = ModelUnavailable()
    assert not embedding.notice_change() and embedding.change() is None
    newer.down = None
    assert embedding.notice_change() and embedding.change().state == "building"


def test_a_text_that_the_new_model_refuses_does_not_hold_up_the_others(models):
    older, newer = models
    newer.poison = "message 3"
    embedding.notice_change()
    work("respace")
    assert sorted(older.keys)[3] not in vectors(new_space()) and len(vectors(new_space())) == 9
    work()
    assert list(Message.objects.filter(embedding="failed").values_list("text", flat=True)) == [
        "message 3 about quixotarium"
    ]
    newer.poison = ""
    outbox.retry("embed")
    work()
    assert len(vectors(new_space())) == 10


def test_what_the_older_model_refused_is_tried_with_the_newer(models):
    older, newer = models
    with backends.override(embedder=older):
        older.poison = "poison"
        key = say(older.ada, "poison")
        work()
        assert message(key).embedding == "failed"
    embedding.notice_change()
    work("respace")
    assert message(key).embedding == "done" and not OutboxEntry.objects.exists()


def test_nothing_of_a_paused_member_is_sent_to_the_new_model(models):
    older, newer = models
    Member.objects.update(paused_at=timezone.now())
    embedding.notice_change()
    work("respace")
    work()
    assert newer.documents == [] and vectors(new_space()) == []
    assert embedding.change() is None
    Member.objects.update(paused_at=None)
    work()
    assert len(vectors(new_space())) == 10


def test_an_empty_index_is_switched_at_once(models):
    older, newer = models
    erase(older.ada)
    assert embedding.active_space() == new_space()
    work("respace")
    assert list(EmbeddingSpace.objects.values_list("digest", "state")) == [("2", "active")]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("when", ["in the middle of a batch", "between two", "after the switch"])
def test_an_erasure_leaves_nothing_in_either_index(models, monkeypatch, when):
    older, newer = models
    bob = opted_in("bob")
    kept = say(bob, "kept")
    work()
    monkeypatch.setattr(building, "BATCH", 4)
    embedding.notice_change()
    floats = newer.embed_query("Ada: message 3 about quixotarium").tobytes()[:64]
    old_floats = older.embed_query("Ada: message 3 about quixotarium").tobytes()[:64]
    if when == "in the middle of a batch":
        newer.meanwhile = lambda: erase(older.ada)
    elif when == "between two":
        newer.meanwhile = embedding.pause
        work("respace")
        erase(older.ada)
        embedding.resume()
    else:
        real = building.Progress.begin_settling

        def switched(space):
            real(space)
            raise KeyboardInterrupt

        monkeypatch.setattr(building.Progress, "begin_settling", switched)
        with pytest.raises(KeyboardInterrupt):
            work("respace")
        monkeypatch.setattr(building.Progress, "begin_settling", real)
        erase(older.ada)
        expire_leases()
    work("respace")
    work()
    assert vectors(new_space()) == [kept] and Message.objects.count() == 1
    assert files_with(floats, old_floats, b"quixotarium") == []


BUILDS = """
from memory.embedding import building
from memory.llm.base import EmbedderIdentity

class Newer(HashEmbedder):
    calls = 0

    def identity(self):
        return EmbedderIdentity("hash", "", "2", 64)

    def embed_documents(self, texts):
        Newer.calls += 1
        if Newer.calls == 2:
            stuck()
        return super().embed_documents(texts)

building.BATCH = 1
with backends.override(embedder=Newer(64), older_embedder=HashEmbedder()):
    tasks.work_through("respace")
"""


@pytest.mark.django_db(transaction=True)
def test_a_worker_that_is_killed_without_warning_loses_nothing():
    older, newer = Model("1", 256), Model("2", 64)
    with backends.override(embedder=older):
        keys = [say(opted_in("ada"), f"message {n}") for n in range(3)]
        work()
    with backends.override(embedder=newer, older_embedder=older):
        embedding.notice_change()
        kill_in_the_middle_of(BUILDS)
        assert embedding.change().done == 1 and recalled("message")[0] == ""
        expire_leases()
        work("respace")
        assert len(newer.documents) == 2 and vectors(new_space()) == sorted(keys)
    assert not OutboxEntry.objects.exists()
