"""A memory says what its message says now; a deleted message is gone, whatever the order of events."""

import threading
from datetime import timedelta

import pytest

from memory import capture
from memory.capture import underway
from memory.models import Channel, DailyCount, Guild, Member, Message, MessagePart, OutboxEntry
from memory.types import ChannelInfo, GuildInfo
from tests.factories import START, incoming, person, snowflake
from tests.memory.memory_support import found_by_words, message, opted_in, say, vector, work

pytestmark = pytest.mark.django_db
LATER = START + timedelta(minutes=1)


def edit(discord_id, text, edited_at=LATER):
    return capture.edit_message(discord_id=discord_id, text=text, edited_at=edited_at)


def test_an_edit_replaces_text_words_and_vector():
    key = say(opted_in("ada"), "we meet at the lighthouse", id=77)
    work()
    old = vector(key)
    assert edit(77, "we meet at the brewery")
    row = message(key)
    assert (row.text, row.content["message"]) == ("we meet at the brewery",) * 2
    assert (row.edited_at, row.embedding) == (LATER, "pending")
    assert vector(key) is None, "the old meaning must not be found any more"
    assert found_by_words("lighthouse") == [] and found_by_words("brewery") == [key]
    work()
    assert vector(key) is not None and (vector(key) != old).any()


def test_an_older_edit_never_overwrites_a_newer_one():
    key = say(opted_in("ada"), "one", id=77)
    assert edit(77, "three", START + timedelta(minutes=3))
    assert not edit(77, "two", START + timedelta(minutes=2))
    assert not edit(77, "one", None)
    assert message(key).text == "three"


def test_an_edit_to_nothing_removes():
    key = say(opted_in("ada"), "lighthouse", id=77)
    work()
    assert edit(77, " ")
    assert not Message.objects.exists() and vector(key) is None and found_by_words("lighthouse") == []


def test_an_edit_of_a_paused_member_removes_rather_than_stores():
    say(opted_in("ada"), "one", id=77)
    Member.objects.update(paused_at=START)
    assert edit(77, "two")
    assert not Message.objects.exists()


def test_an_edit_changes_nothing_where_nothing_is_stored():
    assert not edit(77, "never seen")


def test_the_bots_own_edits_while_it_streams_are_ignored():
    ada, bot = opted_in("ada"), person("musebot", is_bot=True)
    key = capture.record_reply(incoming("the whole answer", author=bot, id=78), owner_id=ada.id)
    assert not edit(78, "the whole")
    assert message(key).text == "the whole answer"


def test_a_mention_that_is_edited_away_leaves_the_record():
    ada, bob = opted_in("ada"), opted_in("bob")
    key = say(ada, f"ask <@{bob.id}>", mentions_users=(bob,), id=77)
    edit(77, "ask nobody")
    assert message(key).content["mentions"]["users"] == []


def test_deleted_messages_leave_rows_words_vectors_counts_and_work():
    ada = opted_in("ada")
    keys = [say(ada, f"lighthouse {n}", id=100 + n) for n in range(3)]
    work()
    edit(102, "brewery")
    assert capture.forget_messages([100, 102, 999]) == 2
    assert list(Message.objects.values_list("key", flat=True)) == [keys[1]]
    assert found_by_words("lighthouse", "brewery") == [keys[1]]
    assert vector(keys[0]) is None and vector(keys[1]) is not None
    assert not OutboxEntry.objects.filter(kind="embed").exists()
    assert Guild.objects.get().message_count == Member.objects.get().message_count == 1
    assert Channel.objects.get().message_count == 1
    assert DailyCount.objects.get().count == 1
    capture.forget_messages([101])
    assert not DailyCount.objects.exists()


def test_a_deleted_channel_takes_its_threads_with_it():
    ada = opted_in("ada")
    parent, thread, other = snowflake(), snowflake(), snowflake()
    say(ada, "in the channel", channel=ChannelInfo(id=parent))
    say(ada, "in the thread", channel=ChannelInfo(id=thread, parent=ChannelInfo(id=parent)))
    kept = say(ada, "elsewhere", channel=ChannelInfo(id=other))
    assert capture.forget_channel(parent) == 2
    assert list(Message.objects.values_list("key", flat=True)) == [kept]
    assert not OutboxEntry.objects.filter(kind="forget_channel").exists()
    late = incoming("late", author=ada, channel=ChannelInfo(id=thread, parent=ChannelInfo(id=parent)))
    assert capture.record_message(late) is None


def test_a_guild_that_is_left_is_emptied():
    ada = opted_in("ada")
    say(ada, "here", guild=GuildInfo(id=5))
    kept = say(ada, "there", guild=GuildInfo(id=6), channel=ChannelInfo(id=66))
    assert capture.forget_guild(5) == 1
    assert list(Message.objects.values_list("key", flat=True)) == [kept]
    assert Member.objects.get().message_count == 1
    assert list(DailyCount.objects.values_list("guild__discord_id", flat=True)) == [6]


def test_forgetting_that_was_interrupted_is_finished_by_the_worker(monkeypatch):
    ada = opted_in("ada")
    say(ada, "here", guild=GuildInfo(id=5))

    def killed(guild_id):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("memory.capture.forgetting._empty_guild", killed)
        with pytest.raises(KeyboardInterrupt):
            capture.forget_guild(5)
    assert Message.objects.exists()
    work("forget_guild")
    assert not Message.objects.exists() and not OutboxEntry.objects.filter(kind="forget_guild").exists()


def test_a_message_that_was_deleted_before_it_was_stored_does_not_come_back():
    sent = incoming("gone already", author=opted_in("ada"))
    assert capture.forget_messages([sent.id]) == 0
    assert capture.record_message(sent) is None
    assert not Message.objects.exists()


def long_answer(asker):
    """An answer that stands in three messages on Discord."""
    parts = snowflake(), snowflake(), snowflake()
    bot = person("bot", is_bot=True)
    return parts, incoming("a long lighthouse story", id=parts[0], author=bot, later_parts=parts[1:])


@pytest.mark.parametrize("deleted", [0, 1, 2])
def test_a_long_answer_goes_with_any_of_its_parts(deleted):
    ada = opted_in("ada")
    kept = say(ada, "tell me a long story")
    parts, answer = long_answer(ada)
    assert capture.record_reply(answer, owner_id=ada.id)
    work()
    assert capture.forget_messages([parts[deleted]]) == 1
    assert list(Message.objects.values_list("key", flat=True)) == [kept]
    assert found_by_words("lighthouse") == [] and not MessagePart.objects.exists()


def test_a_long_answer_that_lost_several_parts_counts_once():
    ada = opted_in("ada")
    parts, answer = long_answer(ada)
    assert capture.record_reply(answer, owner_id=ada.id)
    assert capture.forget_messages(parts) == 1


@pytest.mark.parametrize("deleted", [0, 1, 2])
def test_a_long_answer_that_lost_a_part_before_it_was_stored_is_not(deleted):
    ada = opted_in("ada")
    parts, answer = long_answer(ada)
    assert capture.forget_messages([parts[deleted]]) == 0
    assert capture.record_reply(answer, owner_id=ada.id) is None
    assert not Message.objects.exists() and not MessagePart.objects.exists()


def test_what_was_deleted_is_remembered_for_a_while_only(monkeypatch):
    monkeypatch.setattr(underway, "MOST_REMEMBERED", 3)
    underway.note_deleted(range(1, 10))
    assert [one for one in range(1, 10) if underway.is_deleted(one)] == [7, 8, 9]


@pytest.mark.django_db(transaction=True)
def test_an_edit_waits_for_the_message_that_is_being_stored():
    ada = opted_in("ada")
    edited = []
    with underway.storing([77]):
        thread = threading.Thread(target=lambda: edited.append(_in_thread(edit, 77, "second")))
        thread.start()
        key = say(ada, "first", id=77)
    thread.join(timeout=20)
    assert edited == [True] and message(key).text == "second"


def _in_thread(function, *args):
    from django.db import connection

    try:
        return function(*args)
    finally:
        connection.close()
