"""Single memories that an admin erased stay away: no history, no import and no restored backup brings them back."""

from __future__ import annotations

import json
import uuid

import pytest

from memory import capture, erasure
from memory.chat.erasing import erase_reply
from memory.erasure.replay import replay
from memory.models import ErasedMessage, Member, Message, Reply, ReplyMemory
from memory.pseudonyms import subject_hash
from tests.factories import incoming, person
from tests.memory.memory_support import erase, opted_in, say

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("receipts")]

BOT = person("musebot", is_bot=True)


def texts():
    return sorted(Message.objects.values_list("text", flat=True))


def answered(asker, question, *, leaning_on=(), text="An answer."):
    """The bot's answer to a message, as it stands on Discord, with its trace."""
    message = incoming(text, author=BOT, reply_to=question.id)
    key = capture.record_reply(message, owner_id=asker.id)
    trace = Reply.objects.create(asker_id=asker.id, trigger_id=question.id, answer_id=key, state="done")
    for rank, one in enumerate(leaning_on):
        ReplyMemory.objects.create(reply=trace, message_id=one, rank=rank, score=1.0)
    return message, trace


@pytest.mark.parametrize("source", ["live", "backfill", "catch-up", "import"])
def test_nothing_brings_a_single_erased_memory_back(source):
    ada, bob = opted_in("ada"), opted_in("bob")
    gone, kept = incoming("quixotarium", author=ada), incoming("kept", author=ada)
    erasure.erase_messages([capture.record_message(gone)])
    again = [gone, kept, incoming("of somebody else", author=bob)]
    assert capture.record_messages(again, source=source).skipped == {"erased": 1}
    assert capture.record_message(gone) is None
    assert texts() == ["kept", "of somebody else"]


def test_many_that_are_erased_at_once_stay_away():
    ada, bob = opted_in("ada"), opted_in("bob")
    said = [incoming(f"number {n}", author=ada if n % 2 else bob) for n in range(700)]
    keys = [capture.record_message(one) for one in said]
    assert erasure.erase_messages(keys) == 700
    assert capture.record_messages(said, source="backfill").skipped == {"erased": 700}
    assert ErasedMessage.objects.count() == 700


def test_an_answer_that_leaned_on_an_erased_memory_does_not_come_back_either():
    ada, bob = opted_in("ada"), opted_in("bob")
    key = say(ada, "The key is under the mat.")
    question = incoming("Where is the key?", author=bob)
    capture.record_message(question)
    answer, _ = answered(bob, question, leaning_on=[key], text="Under the mat.")
    erasure.erase_messages([key])
    assert texts() == ["Where is the key?"]
    result = capture.record_messages([question, answer], source="backfill", bot_ids=[BOT.id])
    assert result.skipped == {"erased": 1} and texts() == ["Where is the key?"]


@pytest.mark.parametrize("part", [None, "channel", "one"])
def test_answers_to_others_stay_away_after_an_erasure_of_a_member_or_a_part(part):
    ada, bob = opted_in("ada"), opted_in("bob")
    secret = incoming("The key is under the mat.", author=ada)
    key = capture.record_message(secret)
    question = incoming("Where is the key?", author=bob)
    capture.record_message(question)
    answer, _ = answered(bob, question, leaning_on=[key], text="Under the mat.")
    narrow = {None: {}, "channel": {"channel_id": secret.channel.id}, "one": {"message_key": key}}[part]
    if narrow:
        request = erasure.request(user_id=ada.id, origin="admin", part=erasure.Part(**narrow))
        assert erasure.run(request.id).state == "done"
    else:
        assert erase(ada).state == "done"
    capture.record_messages([secret, question, answer], source="backfill", bot_ids=[BOT.id])
    assert texts() == ["Where is the key?"]
    assert ErasedMessage.objects.values_list("message_id", "subject").get() == (
        answer.id,
        subject_hash(bob.id),
    )


def test_a_part_that_is_kept_out_as_a_whole_is_not_noted_one_by_one():
    ada = opted_in("ada")
    for number in range(5):
        say(ada, f"number {number}")
    request = erasure.request(user_id=ada.id, origin="admin", part=erasure.Part(guild_id=incoming().guild.id))
    assert erasure.run(request.id).counts["memories"] == 5
    assert not ErasedMessage.objects.exists()


def test_a_reply_that_was_erased_does_not_come_back():
    ada = opted_in("ada")
    question = incoming("Where is the key?", author=ada)
    capture.record_message(question)
    answer, trace = answered(ada, question)
    assert erase_reply(trace.id)
    capture.record_messages([answer], source="catch-up", bot_ids=[BOT.id])
    assert texts() == ["Where is the key?"]


def test_the_same_id_of_somebody_else_is_another_message():
    """Exports number their messages as they like."""
    ada, bob = opted_in("ada"), opted_in("bob")
    erasure.erase_messages([say(ada, "hers", id=70_007)])
    assert capture.record_messages([incoming("his", author=bob, id=70_007)], source="import").stored == 1


def test_a_restored_backup_forgets_them_again(receipts):
    ada, bob = opted_in("ada"), opted_in("bob")
    gone, later = incoming("quixotarium", author=ada), incoming("after the backup", author=ada)
    first = capture.record_message(gone)
    erasure.erase_messages([first, capture.record_message(later)])
    lines = receipts.read_text().splitlines()
    assert "quixotarium" not in receipts.read_text() and str(ada.id) not in receipts.read_text()
    # As in a database from before: the first is stored, and nothing is known of any erasure.
    ErasedMessage.objects.all().delete()
    capture.record_message(gone), say(bob, "kept")

    would = replay(dry_run=True)
    assert (would.messages, would.messages_kept_out) == (1, 2) and len(texts()) == 2
    found = replay()
    assert (found.messages, found.messages_kept_out, found.erased) == (1, 2, 1)
    assert texts() == ["kept"]
    assert capture.record_messages([gone, later], source="catch-up").skipped == {"erased": 2}
    assert replay().erased == 0 and receipts.read_text().splitlines() == lines


def test_one_that_never_was_on_discord_is_found_by_its_key_unless_another_has_it(receipts):
    ada = opted_in("ada")
    key = say(ada, "asked in the playground")
    Message.objects.update(discord_id=None)
    row = Message.objects.get()
    erasure.erase_messages([key])
    assert not ErasedMessage.objects.exists()
    row.save(force_insert=True)
    assert replay(dry_run=True).messages == 0  # stored after the erasure: another message with the same key
    Message.objects.update(stored_at=row.sent_at)
    assert replay().messages == 1 and texts() == []


def test_receipts_of_another_file_are_taken_over(receipts, tmp_path):
    ada = opted_in("ada")
    gone = incoming("quixotarium", author=ada)
    erasure.erase_messages([capture.record_message(gone)])
    other = receipts.rename(tmp_path / "other.jsonl")
    ErasedMessage.objects.all().delete()
    assert replay(other).messages_kept_out == 1
    [line] = map(json.loads, receipts.read_text().splitlines())
    assert line["messages"] == [str(gone.id)] and line["subject"] == subject_hash(ada.id)
    assert replay().messages_kept_out == 0


@pytest.mark.parametrize(
    "broken",
    [{"messages": "70005"}, {"messages": ["five"]}, {"messages": ["70005"], "erased_at": "yesterday"}],
)
def test_a_line_that_cannot_be_used_is_passed_over(receipts, broken):
    ada = opted_in("ada")
    say(ada, "kept", id=70_005)
    usable = {"subject": subject_hash(ada.id), "epoch": 0, "erased_at": "2026-03-02T12:00:00+00:00"}
    line = {"id": str(uuid.uuid4()), **usable, **broken}
    receipts.write_text(json.dumps(line) + "\n")
    found = replay()
    assert (found.unreadable, found.erased) == (1, 0) and texts() == ["kept"]


def test_of_whom_everything_goes_nothing_is_erased_one_by_one(receipts):
    ada = opted_in("ada")
    gone = incoming("quixotarium", author=ada)
    erasure.erase_messages([capture.record_message(gone)])
    erase(ada)
    opted_in("ada", id=ada.id)
    ErasedMessage.objects.all().delete()
    Member.objects.update(epoch=0)
    capture.record_message(gone)
    found = replay()
    assert (found.members, found.messages) == (1, 0) and texts() == []
