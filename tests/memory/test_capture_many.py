"""Storing many messages at once, for a backfill or an import."""

from datetime import timedelta

import pytest

from memory import capture
from memory.models import Guild, Member, Message, OutboxEntry
from tests.factories import START, incoming, person
from tests.memory.memory_support import found_by_words, message, opted_in, say

pytestmark = pytest.mark.django_db


def test_the_same_gates_as_one_by_one():
    ada, zoe = opted_in("ada"), person("zoe")
    already = incoming("already here", author=ada)
    key = capture.record_message(already)
    twice = incoming("twice", author=ada)
    result = capture.record_messages(
        [
            already,
            twice,
            twice,
            incoming("of a stranger", author=zoe),
            incoming("", author=ada),
            incoming("of another bot", author=person("robot", is_bot=True)),
        ],
        source="import",
    )
    assert (result.stored, result.duplicates) == (1, 2)
    assert result.skipped == {"no_consent": 1, "empty": 1, "other_bot": 1}
    assert Message.objects.count() == 2
    assert found_by_words("twice") == [key + 1]
    assert Message.objects.get(key=key + 1).source == "import"


def test_more_than_a_transactions_worth():
    ada = opted_in("ada")
    many = [
        incoming(f"message {n} of barnacles", author=ada, sent_at=START + timedelta(hours=n))
        for n in range(1203)
    ]
    assert capture.record_messages(many, source="backfill").stored == 1203
    assert Guild.objects.get().message_count == Member.objects.get().message_count == 1203
    assert OutboxEntry.objects.filter(kind="embed").count() == 1203
    assert capture.record_messages(many, source="backfill").duplicates == 1203


def test_the_bots_replies_are_attributed_through_what_they_answer():
    ada, zoe, bot = opted_in("ada"), person("zoe"), person("musebot", is_bot=True)
    earlier = incoming("a question from yesterday", author=ada)
    capture.record_message(earlier)
    asked, of_stranger = incoming("a question", author=ada), incoming("mine too", author=zoe)
    result = capture.record_messages(
        [
            asked,
            of_stranger,
            incoming("an answer", author=bot, reply_to=asked.id),
            incoming("a late answer", author=bot, reply_to=earlier.id),
            incoming("an answer to a stranger", author=bot, reply_to=of_stranger.id),
            incoming("said to nobody", author=bot),
        ],
        source="backfill",
        bot_ids={bot.id},
    )
    assert result.stored == 3
    assert result.skipped == {"no_consent": 1, "no_trigger": 2}
    assert set(Message.objects.filter(is_bot=True).values_list("text", "member_id")) == {
        ("an answer", ada.id),
        ("a late answer", ada.id),
    }


def test_an_edit_that_happened_while_nobody_listened_is_caught_up():
    ada = opted_in("ada")
    key = say(ada, "at seven", id=77)
    again = incoming("at eight", author=ada, id=77, edited_at=START + timedelta(minutes=5))
    assert capture.record_messages([again], source="catch-up").duplicates == 1
    assert message(key).text == "at eight"
