"""From pending rows to vectors: what is written, what is not, and what a failing embedder costs (nothing)."""

from datetime import timedelta

import numpy as np
import pytest
from django.db import connection
from django.utils import timezone

from memory import backends, capture, consent, embedding, erasure, outbox
from memory.backends import vector_index
from memory.errors import ModelMissing, ModelRejected, ModelReplyInvalid, ModelTimeout, ModelUnavailable
from memory.llm.base import EmbedderIdentity
from memory.llm.hashing import HashEmbedder
from memory.models import EmbeddingSpace, Member, Message, OutboxEntry
from tests.memory.memory_support import expire_leases, message, opted_in, say, vector, work

pytestmark = pytest.mark.django_db


class Embedder(HashEmbedder):
    """The hashing embedder, which fails or does something else meanwhile where a test says so."""

    def __init__(
        self, *, digest="1", dimension=256, down=None, poison="", error=ModelRejected, meanwhile=None
    ):
        super().__init__(dimension)
        self.digest, self.down, self.poison, self.error, self.meanwhile = (
            digest,
            down,
            poison,
            error,
            meanwhile,
        )
        self.calls = []

    def identity(self):
        return EmbedderIdentity("hash", "", self.digest, self.dimension)

    def embed_documents(self, texts):
        self.calls.append(list(texts))
        assert not connection.in_atomic_block or connection.savepoint_ids == [], (
            "a model is called in a transaction"
        )
        if self.down:
            raise self.down
        if self.poison and any(self.poison in text for text in texts):
            raise self.error
        if self.meanwhile:
            meanwhile, self.meanwhile = self.meanwhile, None
            meanwhile()
        return super().embed_documents(texts)


@pytest.fixture
def embedder():
    given = Embedder()
    with backends.override(embedder=given):
        yield given


def queue():
    return list(OutboxEntry.objects.filter(kind="embed").values_list("state", "error_code"))


def test_the_author_and_the_captions_are_embedded_with_the_text():
    row = Message(author_name="Ada", text="look", captions="a red boat")
    assert embedding.embedded_text(row) == "Ada: look [image: a red boat]"
    assert embedding.embedded_text(Message(author_name="Ada", text="look")) == "Ada: look"
    assert embedding.embedded_text(Message(author_name="Ada", text="")) == ""


def test_pending_messages_get_vectors_and_the_work_goes(embedder):
    keys = [say(opted_in("ada"), f"message {n}") for n in range(3)]
    work()
    assert queue() == []
    for key in keys:
        row = message(key)
        assert row.embedding == "done" and row.space == embedding.active_space()
        assert np.allclose(vector(key), embedder.embed_query(embedding.embedded_text(row)))
    assert [len(call) for call in embedder.calls] == [3]


def test_batches_hold_64(embedder):
    ada = opted_in("ada")
    for n in range(130):
        say(ada, f"message {n}")
    work()
    assert [len(call) for call in embedder.calls] == [64, 64, 2]
    assert Message.objects.filter(embedding="done").count() == 130


@pytest.mark.parametrize("error", [ModelUnavailable, ModelMissing])
def test_a_host_that_is_away_for_a_whole_conversation_loses_nothing(embedder, error):
    ada = opted_in("ada")
    embedder.down = error()
    for n in range(20):
        say(ada, f"message {n}")
        work()
    assert queue() == [("queued", error.code)] * 20
    assert OutboxEntry.objects.filter(due_at__gt=timezone.now()).count() == 20
    assert Message.objects.filter(embedding="pending").count() == 20
    embedder.down = None
    work()
    assert queue() == [] and Message.objects.filter(embedding="done").count() == 20


def test_a_host_that_does_not_tell_its_model_holds_everything_up(embedder):
    say(opted_in("ada"), "hello")
    embedder.identity = lambda: (_ for _ in ()).throw(ModelUnavailable())
    work()
    assert queue() == [("queued", "model_unavailable")]
    assert not EmbeddingSpace.objects.exists()


def test_one_poisoned_text_is_isolated_and_marked(embedder):
    ada = opted_in("ada")
    keys = [say(ada, f"message {n}" + (" poison" if n == 13 else "")) for n in range(40)]
    embedder.poison = "poison"
    work()
    assert queue() == [("failed", "model_rejected")]
    assert list(Message.objects.filter(embedding="failed").values_list("key", flat=True)) == [keys[13]]
    assert Message.objects.filter(embedding="done").count() == 39
    embedder.poison = ""
    outbox.retry("embed")
    work()
    assert message(keys[13]).embedding == "done" and queue() == []


@pytest.mark.parametrize("error", [ModelReplyInvalid, ModelTimeout])
def test_a_text_that_fails_again_and_again_is_given_up_alone(embedder, error):
    ada = opted_in("ada")
    say(ada, "poison"), say(ada, "fine")
    embedder.poison, embedder.error = "poison", error
    for _ in range(outbox.MAX_ATTEMPTS):
        work()
    assert queue() == [("failed", error.code)]
    assert Message.objects.get(text="fine").embedding == "done"
    assert Message.objects.get(text="poison").embedding == "failed"


def test_a_host_that_refuses_everything_is_not_the_fault_of_the_texts(embedder):
    ada = opted_in("ada")
    say(ada, "one"), say(ada, "two")
    embedder.down = ModelRejected()
    for _ in range(outbox.MAX_ATTEMPTS + 1):
        work()
    assert queue() == [("queued", "model_rejected")] * 2


def test_vectors_that_are_no_numbers_are_never_written(embedder):
    key = say(opted_in("ada"), "hello")
    embedder.embed_documents = lambda texts: np.full((len(texts), 256), np.nan, np.float32)
    work()
    assert vector(key) is None and message(key).embedding == "pending"


def test_text_that_changes_meanwhile_is_not_written_under_its_old_meaning(embedder):
    key = say(opted_in("ada"), "old words", id=501)
    embedder.meanwhile = lambda: capture.edit_message(
        discord_id=501, text="new words", edited_at=timezone.now()
    )
    work()
    assert message(key).embedding == "done"
    assert np.allclose(vector(key), embedder.embed_query("Ada: new words"))
    assert embedder.calls == [["Ada: old words"], ["Ada: new words"]]


def test_a_message_that_is_deleted_meanwhile_is_success(embedder):
    key = say(opted_in("ada"), "hello", id=502)
    embedder.meanwhile = lambda: capture.forget_messages([502])
    work()
    assert queue() == [] and vector(key) is None


def test_rows_that_are_gone_are_success(embedder):
    outbox.enqueue("embed", [12345])
    work()
    assert queue() == [] and embedder.calls == []


@pytest.mark.django_db(transaction=True)
def test_an_erasure_meanwhile_leaves_nothing_behind(embedder):
    ada = opted_in("ada")
    key = say(ada, "quixotarium")
    floats = embedder.embed_query("Ada: quixotarium").tobytes()

    def forget_and_come_back():
        erasure.run(erasure.request(user_id=ada.id, origin="member").id)
        consent.give(person=ada, origin="discord")

    embedder.meanwhile = forget_and_come_back
    work()
    assert queue() == [] and vector(key) is None and not Message.objects.exists()
    from tests.memory.memory_support import files_with

    assert files_with(floats[:64], b"quixotarium") == []


def test_work_of_an_older_epoch_is_not_even_sent_to_the_model(embedder):
    key = say(opted_in("ada"), "hello")
    Member.objects.update(epoch=1)
    work()
    assert embedder.calls == [] and queue() == [] and vector(key) is None


def test_a_withdrawn_members_text_is_not_sent_to_the_model(embedder):
    ada = opted_in("ada")
    say(ada, "hello")
    consent.withdraw(user_id=ada.id, origin="member")
    work()
    assert embedder.calls == []


def test_the_work_of_a_paused_member_waits(embedder):
    key = say(opted_in("ada"), "hello")
    Member.objects.update(paused_at=timezone.now())
    work()
    assert embedder.calls == [] and queue() == [("queued", "")]
    Member.objects.update(paused_at=None)
    work()
    assert message(key).embedding == "done"


def test_a_worker_that_dies_leaves_a_lease_that_runs_out(embedder):
    key = say(opted_in("ada"), "hello")

    def killed():
        raise KeyboardInterrupt

    embedder.meanwhile = killed
    with pytest.raises(KeyboardInterrupt):
        work()
    assert queue() == [("running", "")]
    assert expire_leases() == 1
    work()
    assert message(key).embedding == "done" and vector(key) is not None


def test_a_lease_that_was_lost_writes_nothing_twice(embedder):
    key = say(opted_in("ada"), "hello")

    def another_worker():
        expire_leases()
        work()

    embedder.meanwhile = another_worker
    work()
    assert queue() == [] and message(key).embedding == "done"
    assert vector_index(embedding.active_space()).count() == 1


def test_messages_without_text_can_be_repaired_later(embedder):
    key = say(opted_in("ada"), "hello")
    Message.objects.update(text="")
    work()
    assert message(key).embedding == "none" and queue() == []
    Message.objects.update(text="", captions="a boat", embedding="pending")
    outbox.enqueue("embed", [key], user_id=message(key).member_id)
    work()
    assert message(key).embedding == "done"


def test_no_space_while_memory_is_off(settings):
    memory_off = settings.MUSEBOT.memory.model_copy(update={"embedding_model": None})
    settings.MUSEBOT = settings.MUSEBOT.model_copy(update={"memory": memory_off})
    assert embedding.active_space() is None


def test_the_last_space_serves_while_the_host_is_away(embedder):
    space = embedding.active_space()
    embedder.identity = lambda: (_ for _ in ()).throw(ModelUnavailable())
    assert embedding.active_space() == space


def test_a_handler_that_breaks_gives_its_work_back_without_quoting_anybody(embedder, caplog):
    say(opted_in("ada"), "quixotarium")
    embedder.meanwhile = lambda: (_ for _ in ()).throw(ValueError("quixotarium"))
    OutboxEntry.objects.update(due_at=timezone.now() - timedelta(seconds=1))
    work()
    entry = OutboxEntry.objects.get()
    assert (entry.state, entry.error_code) == ("queued", "handler_failed")
    assert "quixotarium" not in caplog.text + entry.error and "ValueError" in caplog.text
