"""What was noted from a message goes with it: exactly the lines that came from it, in every version of a block."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from django.utils import timezone

from memory import blocks, capture, chat, consent
from memory.blocks import Place
from memory.blocks.types import Session
from memory.llm.scripted import ScriptedChatModel
from memory.models import BlockRevision, Message, Reply, ReplyContext
from memory.removal.notes import Step, struck_lines, without
from tests.factories import incoming, person
from tests.memory.chat_support import ask, use_model
from tests.memory.memory_support import message, opted_in, say

pytestmark = pytest.mark.django_db(transaction=True)


def steps(*versions):
    return [Step(number, value, action, goes) for number, (value, action, goes) in enumerate(versions, 1)]


@pytest.mark.parametrize(
    ("versions", "left"),
    [
        ([("bees", "append", False), ("bees\nzebra", "append", True)], "bees"),
        ([("zebra", "append", True), ("zebra\nbees", "append", False)], "bees"),
        # A line that took the place of one that goes was written by somebody who had it before them.
        ([("bees\nzebra", "edit", True), ("bees\na striped horse", "replace", False)], ""),
        (
            [
                ("bees", "append", False),
                ("bees\nzebra", "append", True),
                ("all of it anew", "rethink", False),
            ],
            "",
        ),
        # What stood there before comes back with an undo and stays; what goes does not come back.
        ([("bees", "append", False), ("zebra", "replace", True), ("bees", "undo", False)], "bees"),
        ([("zebra", "append", True), ("", "clear", False), ("zebra", "undo", False)], ""),
        ([("bees", "append", False), ("bees\nbees", "append", True)], "bees\nbees"),
    ],
)
def test_lines_go_with_what_they_came_from(versions, left):
    found = steps(*versions)
    assert without(found[-1].value, struck_lines(found)) == left


def test_an_append_whose_earlier_versions_are_gone_loses_its_line_alone():
    assert struck_lines([Step(7, "bees\nwasps\nzebra", "append", True)]) == {"zebra"}


@pytest.mark.parametrize("seed", range(20))
def test_appended_lines_are_taken_out_one_by_one(seed):
    chance = random.Random(seed)
    lines = [f"line {n}" for n in range(12)]
    goes = {n for n in range(12) if chance.random() < 0.4}
    versions = [Step(n + 1, "\n".join(lines[: n + 1]), "append", n in goes) for n in range(12)]
    assert struck_lines(versions) == {f"line {n}" for n in goes}


def test_a_message_deleted_on_discord_takes_its_line_out_of_every_version():
    ada = opted_in("ada")
    gone, kept = incoming("I keep a zebrafinch", author=ada), say(ada, "and bees")
    key = capture.record_message(gone)
    for source, text in ((key, "Keeps a zebrafinch"), (kept, "Keeps bees")):
        where = Place(consent.find(ada.id), 1, 2, message_key=source)
        blocks.append(where.human(), text, actor=where.actor("model", reason=f"because: {text}"))
    capture.forget_messages([gone.id])
    block = blocks.get(blocks.human(ada.id))
    assert (block.value, block.version) == ("Keeps bees", 3)
    assert not BlockRevision.objects.filter(value__contains="zebra").exists()
    assert not BlockRevision.objects.filter(reason__contains="zebra").exists()


def test_what_a_session_was_made_into_goes_with_any_of_its_messages():
    ada = opted_in("ada")
    first, last = say(ada, "one"), say(ada, "two")
    channel = message(first).channel_id
    where = Place(consent.find(ada.id), channel, 2)
    blocks.append(where.human(), "Was there before", actor=where.actor("user"))
    actor = replace(where.actor("consolidation"), session=Session(channel, first, last))
    blocks.edit(where.human(), "Was there before\nSaid one and two", version=1, actor=actor, action="merge")
    capture.forget_messages([message(first).discord_id])
    assert blocks.get(where.human()).value == "Was there before"


def test_a_reply_notes_which_messages_stood_before_the_question(monkeypatch):
    use_model(monkeypatch, ScriptedChatModel("Fine."))
    ada = opted_in("ada")
    said = say(ada, "the key is under the mat", sent_at=timezone.now())
    channel = message(said).channel
    result = chat.answer(ask("where?", channel=channel, asker=ada))
    assert list(ReplyContext.objects.values_list("message_id", flat=True)) == [said]
    assert chat.trace(result.trace_id)["context"] == [str(said)]


def test_an_answer_whose_trace_was_erased_while_it_was_sent_is_not_kept():
    bob = opted_in("bob")
    question = incoming("where?", author=bob)
    capture.record_message(question)
    trace = Reply.objects.create(asker_id=bob.id, trigger_id=question.id)
    Reply.objects.all().delete()  # by an erasure of what it leaned on
    answer = capture.record_reply(
        incoming("under the mat", author=person("bot", is_bot=True)), owner_id=bob.id
    )
    chat.finish(str(trace.id), question_key=None, answer_key=answer, state="done")
    assert not Message.objects.filter(key=answer).exists()
