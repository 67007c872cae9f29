"""Forgetting a member: nothing is left in any row, index or file, and the receipt says how much there was."""

import json
import struct

import pytest
from django.db import connection
from django.utils import timezone

from memory import capture, consent, embedding, erasure, outbox
from memory.errors import Conflict, NotFound
from memory.models import (
    ConsentEvent,
    DailyCount,
    ErasureRequest,
    Guild,
    GuildMember,
    Member,
    Message,
    OutboxEntry,
    Reply,
    ReplyMemory,
)
from memory.pseudonyms import subject_hash
from memory.types import ChannelInfo, GuildInfo
from tests.factories import incoming, person, snowflake
from tests.memory.memory_support import (
    database,
    erase,
    files_with,
    found_by_words,
    message,
    old_snapshot,
    opted_in,
    say,
    vector,
    work,
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("receipts")]


def reply(asker, *, injected=(), answer=None, question=None, guild=None):
    trace = Reply.objects.create(
        asker_id=asker.id if asker else None,
        answer_id=answer,
        question_id=question,
        state="done",
        guild=guild,
    )
    for rank, key in enumerate(injected):
        ReplyMemory.objects.create(reply=trace, message_id=key, rank=rank, score=1.0)
    return trace


def _replaced(steps, function):
    """The steps of an erasure with one of them replaced by a function of the same name."""
    return [function if step.__name__ == function.__name__ else step for step in steps]


def answer_to(asker, text):
    key = capture.record_reply(incoming(text, author=person("musebot", is_bot=True)), owner_id=asker.id)
    assert key is not None
    return key


def test_nothing_is_left_down_to_the_bytes(receipts):
    ada, bob = opted_in("adalovelace"), opted_in("bob")
    keys = [say(ada, f"quixotarium {n} zanzibarist") for n in range(300)]
    kept = say(bob, "barnacles")
    answer = answer_to(ada, "xylographic answer")
    work()
    floats = [vector(key).tobytes()[:48] for key in (keys[0], keys[150], keys[-1], answer)]
    kept_floats = vector(kept).tobytes()[:48]
    words = [b"quixotarium", b"zanzibarist", b"xylographic", b"adalovelace", b"Adalovelace"]
    ids = [str(ada.id).encode()]
    if connection.vendor == "sqlite":  # as it stands in the file
        ids.append(struct.pack(">q", ada.id))
    assert files_with(*words) and files_with(*floats) and all(map(files_with, ids))

    request = erase(ada)

    assert (request.state, request.stage, request.remains, request.user_id) == ("done", "", {}, None)
    for needle in [*words, b"quixotari", *floats, *ids]:
        assert files_with(needle) == [], needle
    assert files_with(kept_floats) and files_with(b"barnacles")
    assert erasure.verify(ada.id) == {}
    assert list(Message.objects.values_list("key", flat=True)) == [kept]
    assert found_by_words("quixotarium") == [] and found_by_words("barnacles") == [kept]
    for model in (Member, GuildMember, DailyCount):
        assert model.objects.count() == 1
    assert Guild.objects.get().message_count == 1
    assert not OutboxEntry.objects.exists()


def test_the_receipt_counts_and_proves_without_content(receipts):
    ada = opted_in("ada")
    for n in range(3):
        say(ada, f"message {n}")
    request = erase(ada)
    receipt = erasure.receipt(request)
    assert receipt["counts"] == {"memories": 3, "names": 1, "members": 1}
    assert (receipt["subject"], receipt["epoch"], receipt["remains"]) == (subject_hash(ada.id), 1, {})
    assert receipt["digest"] == request.digest and len(request.digest) == 64
    assert (request.total, request.done) == (3, 3)
    assert [json.loads(line) for line in receipts.read_text().splitlines()] == [receipt]
    assert str(ada.id) not in receipts.read_text()


def test_the_first_transaction_ends_everything():
    ada = opted_in("ada")
    say(ada, "hello")
    request = erasure.request(user_id=ada.id, origin="admin")
    assert consent.find(ada.id) is None and (request.total, request.state) == (1, "running")
    assert capture.record_message(incoming("more", author=ada)) is None
    assert list(OutboxEntry.objects.values_list("kind", "user_id")) == [("erase", None)]
    with pytest.raises(Conflict):
        consent.give(person=ada, origin="discord")
    assert ConsentEvent.objects.filter(action="withdrawn").count() == 1


def test_asking_twice_is_one_erasure():
    ada = opted_in("ada")
    say(ada, "hello")
    first = erasure.request(user_id=ada.id, origin="member")
    assert erasure.request(user_id=ada.id, origin="admin") == first
    erasure.run(first.id)
    assert erasure.run(first.id).state == "done"
    assert ErasureRequest.objects.count() == 1
    with pytest.raises(NotFound):
        erasure.run("00000000-0000-0000-0000-000000000000")


def test_it_goes_on_where_it_stopped_in_another_process(monkeypatch):
    ada = opted_in("ada")
    for n in range(90):
        say(ada, f"message {n}")
    monkeypatch.setattr("memory.pacing.FIRST", 20)
    request = erasure.request(user_id=ada.id, origin="member")
    assert erasure.run(request.id, seconds=0).state == "running"
    from memory.erasure import running, steps

    calls = []

    def messages(user_id, size):
        calls.append(size)
        counts = steps.messages(user_id, size)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return counts

    with monkeypatch.context() as patched:
        patched.setattr(running, "STEPS", _replaced(steps.STEPS, messages))
        with pytest.raises(KeyboardInterrupt):
            erasure.run(request.id)
    stopped = ErasureRequest.objects.get()
    assert (stopped.state, stopped.stage) == ("running", "messages") and 0 < stopped.done < 90
    assert Message.objects.count() == 90 - stopped.done
    work("erase")
    request.refresh_from_db()
    assert (request.state, request.stage, request.done) == ("done", "", 90)
    assert not OutboxEntry.objects.exists()


def test_two_at_once_do_no_harm(monkeypatch):
    ada = opted_in("ada")
    for n in range(50):
        say(ada, f"message {n}")
    request = erasure.request(user_id=ada.id, origin="member")
    monkeypatch.setattr("memory.pacing.FIRST", 20)
    from memory.erasure import running, steps

    calls = []

    def counts_by_day(user_id, size):
        calls.append(1)
        if len(calls) == 1:
            running._Run(request.id, seconds=None, may_seal=False)._erase(user_id)
        return steps.counts_by_day(user_id, size)

    monkeypatch.setattr(running, "STEPS", _replaced(steps.STEPS, counts_by_day))
    done = erasure.run(request.id)
    assert (done.state, done.done) == ("done", 50) and done.counts["memories"] == 50


def test_answers_that_leaned_on_their_words_go_with_them():
    ada, bob, eve = opted_in("ada"), opted_in("bob"), opted_in("eve")
    secret = say(ada, "the key is under the mat")
    question = say(bob, "where is the key?")
    leaning = answer_to(bob, "it is under the mat")
    trace = reply(bob, injected=[secret], question=question, answer=leaning)
    further = answer_to(eve, "Bob was told that it is under the mat")
    reply(eve, injected=[leaning], answer=further)
    other = answer_to(bob, "nothing to do with it")
    kept = reply(bob, injected=[question], answer=other)
    considered = reply(bob, injected=[question])
    ReplyMemory.objects.create(reply=considered, message_id=secret, rank=9, score=0.1, injected=False)
    stranger = reply(None, injected=[secret])
    assert erasure.preview(ada.id)["answers_to_others"] == 2

    request = erase(ada)

    assert set(Message.objects.values_list("key", flat=True)) == {question, other}
    assert set(Reply.objects.values_list("id", flat=True)) == {kept.id, considered.id}
    assert considered.memories.count() == 1
    assert request.counts["traces"] == 3 and request.counts["memories"] == 3
    assert trace.id != stranger.id


def test_traces_of_what_they_asked_go():
    ada = opted_in("ada")
    reply(ada)
    erase(ada)
    assert not Reply.objects.exists()


def test_other_peoples_messages_lose_the_id_and_keep_their_words():
    ada, bob = opted_in("ada"), opted_in("bob")
    key = say(bob, f"thanks <@{ada.id}> for the barnacles", mentions_users=(ada,))
    ping = say(bob, "yes, agreed", mentions_users=(ada,))
    work()
    request = erase(ada)
    row = message(key)
    assert row.text == row.content["message"] == "thanks @erased for the barnacles"
    assert row.content["mentions"]["users"] == message(ping).content["mentions"]["users"] == []
    assert found_by_words("barnacles") == [key] and found_by_words(str(ada.id)) == []
    assert request.counts["mentions"] == 2 and request.state == "done"
    assert files_with(str(ada.id).encode()) == []
    work()
    assert row.embedding == "pending" and message(key).embedding == "done"


def test_their_private_conversation_goes_and_the_servers_stay():
    ada = opted_in("ada")
    say(ada, "in the open")
    channel = snowflake()
    say(ada, "in private", guild=GuildInfo(channel, "Ada", "dm"), channel=ChannelInfo(channel, "Ada", "dm"))
    reply(ada, guild=Guild.objects.get(kind="dm"))
    request = erase(ada)
    assert [guild.kind for guild in Guild.objects.all()] == ["guild"]
    assert request.counts["conversations"] == 1


def test_a_person_who_never_opted_in_can_ask_as_well():
    zoe = person("zoe")
    request = erase(zoe)
    assert (request.state, request.counts, request.remains) == ("done", {}, {})
    assert erasure.verify(zoe.id) == {}


def test_the_embedder_is_not_needed_to_forget(monkeypatch):
    ada = opted_in("ada")
    say(ada, "hello")
    monkeypatch.setattr("memory.backends.embedder", lambda: 1 / 0)
    assert erase(ada).state == "done"


def test_vectors_of_an_older_model_go_as_well():
    from memory import backends
    from memory.llm.hashing import HashEmbedder

    ada = opted_in("ada")
    key = say(ada, "hello")
    work()
    old = embedding.active_space()
    with backends.override(embedder=HashEmbedder(64)):
        assert embedding.notice_change() and embedding.active_space() == old
        erase(ada)
    assert backends.vector_index(old).vectors([key]) == {}


def test_a_reader_with_an_old_snapshot_delays_the_end_and_the_worker_finishes(monkeypatch):
    ada = opted_in("ada")
    say(ada, "quixotarium")
    monkeypatch.setattr("memory.erasure.running.LOG_SECONDS", 0.0)
    reader = old_snapshot()
    waiting = erase(ada)
    assert (waiting.state, waiting.stage) == ("verifying", "sealing")
    assert OutboxEntry.objects.filter(kind="erase").exists()
    assert capture.record_message(incoming("others are served", author=opted_in("bob")))
    reader.close()
    work("erase")
    waiting.refresh_from_db()
    assert (waiting.state, waiting.stage) == ("done", "") and files_with(b"quixotarium") == []


def test_what_cannot_be_erased_is_reported_and_tried_again(monkeypatch):
    ada = opted_in("ada")
    say(ada, "hello")
    from memory.erasure import running, steps

    monkeypatch.setattr(running, "STEPS", [step for step in steps.STEPS if step is not steps.names])
    failed = erase(ada)
    assert failed.state == "failed" and failed.remains == {"memory_guildmember": 1, "memory_member": 1}
    assert failed.user_id == ada.id and erasure.verify(ada.id)["memory_guildmember"] == 1
    work("erase")
    assert OutboxEntry.objects.get().error_code == "erasure_unfinished"
    monkeypatch.undo()
    work("erase")
    failed.refresh_from_db()
    assert (failed.state, failed.error, failed.remains) == ("done", "", {})


def test_the_scan_finds_what_is_left_anywhere():
    ada, bob = opted_in("ada"), opted_in("bob")
    key = say(bob, "hello")
    Message.objects.filter(key=key).update(content={"mentions": {"users": [{"id": str(ada.id)}]}})
    outbox.enqueue("embed", [key], user_id=ada.id)
    (database().parent / "broker").mkdir(exist_ok=True)
    letter = database().parent / "broker" / "letter"
    letter.write_text(f"for {ada.id}")
    try:
        found = erasure.verify(ada.id)
    finally:
        letter.unlink()
    assert (
        found["memory_member"]
        == found["memory_message"]
        == found["memory_outboxentry"]
        == found["broker"]
        == 1
    )
    assert "memory_guild" not in found


def test_the_scan_finds_an_original_memory_that_was_set_aside_and_no_erasure_waits_for_it():
    ada = opted_in("ada")
    aside = database().with_name("memory.musebot.db")
    aside.write_text(f"of {ada.id}")
    try:
        assert erase(ada).state == "done"
        assert erasure.verify(ada.id) == {"file memory.musebot.db": 1}
    finally:
        aside.unlink()
    assert erasure.verify(ada.id) == {}


def test_the_scan_finds_entries_of_an_index_without_a_message():
    ada = opted_in("ada")
    say(ada, "hello")
    work()
    Message.objects.all().delete()
    found = erasure.verify(snowflake())
    assert found == {"vectors without a message": 1, "words without a message": 1}
    assert erase(snowflake()).counts == {"strays": 2}
    assert erasure.verify(snowflake()) == {}


def test_short_ids_are_no_false_alarm():
    say(opted_in("ada", id=42), "hello <@43>", mentions_users=(person("bob", id=43),))
    say(opted_in("bob", id=43), "42 boats, <@42>", mentions_users=(person("ada", id=42),))
    request = erase(42)
    assert (request.state, request.remains) == ("done", {})
    assert Message.objects.get().text == "42 boats, @erased"
    assert Message.objects.get().content["mentions"]["users"] == []


def test_single_memories_are_erased_with_what_leaned_on_them():
    ada, bob = opted_in("ada"), opted_in("bob")
    first, second = say(ada, "quixotarium one"), say(ada, "barnacles two")
    leaning = answer_to(bob, "quixotarium, they said")
    reply(bob, injected=[first], answer=leaning)
    work()
    assert erasure.erase_messages([first, 999]) == 1
    assert list(Message.objects.values_list("key", flat=True)) == [second]
    assert not Reply.objects.exists() and Member.objects.get(user_id=ada.id).message_count == 1
    assert files_with(b"quixotarium") == []
    assert erasure.erase_messages([]) == 0


def test_receipts_are_replayed_over_a_restored_backup(receipts):
    ada, bob = opted_in("ada"), opted_in("bob")
    erase(ada)
    # The backup of before: Ada is in it as she was, and nothing in it knows of the erasure.
    ErasureRequest.objects.all().delete()
    consent.SubjectEpoch.objects.all().delete()
    consent.give(person=ada, origin="discord")
    say(ada, "quixotarium"), say(bob, "barnacles")
    receipts.open("a").write('{"cut off by a cra')
    assert erasure.replay_receipts() == 1
    assert [member.user_id for member in Member.objects.all()] == [bob.id]
    assert Message.objects.get().text == "barnacles" and files_with(b"quixotarium") == []
    assert consent.SubjectEpoch.objects.get(subject=subject_hash(ada.id)).epoch == 2
    assert erasure.replay_receipts() == 0


def test_one_who_came_back_after_the_erasure_is_not_erased_by_a_replay():
    ada = opted_in("ada")
    erase(ada)
    consent.give(person=ada, origin="discord")
    say(ada, "I am back")
    assert erasure.replay_receipts() == 0 and Message.objects.exists()


def test_a_straggler_does_not_erase_one_who_came_back():
    ada = opted_in("ada")
    say(ada, "old")
    request = erasure.request(user_id=ada.id, origin="member")
    from memory.erasure import running

    running._Run(request.id, seconds=None, may_seal=False)._erase(ada.id)
    consent.give(person=ada, origin="discord")
    say(ada, "new")
    assert erasure.run(request.id).state == "done"
    assert Message.objects.get().text == "new"


def test_inside_a_transaction_the_log_is_left_to_the_worker():
    from django.db import transaction

    ada = opted_in("ada")
    say(ada, "hello")
    with transaction.atomic():
        request = erase(ada)
        assert (request.state, request.stage) == ("done", "sealing")
    work("erase")
    request.refresh_from_db()
    assert request.stage == "" and timezone.now() >= request.finished_at
