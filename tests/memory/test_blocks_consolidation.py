"""The end of a session: cleared at once, gone through in the background, each thing once, speakers apart."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from memory import backends, blocks, capture, chat, consent
from memory.blocks import Place, archive, provider
from memory.errors import ModelUnavailable
from memory.llm.scripted import ScriptedChatModel
from memory.models import ArchivalEntry, BlockRevision, Consolidation, OutboxEntry, PersonaProposal
from tests.factories import incoming, person
from tests.memory.blocks_support import use_core
from tests.memory.memory_support import opted_in, work

pytestmark = pytest.mark.django_db(transaction=True)

BOT = person("bot", is_bot=True)


def talk(author, text, answer="I see.", **values):
    """Something said to the bot, and its answer; returns the message."""
    message = incoming(text, author=author, sent_at=timezone.now(), **values)
    capture.record_message(message)
    reply = incoming(answer, author=BOT, reply_to=message.id, sent_at=timezone.now(), **values)
    capture.record_reply(reply, owner_id=author.id)
    return message


def here(author):
    message = incoming()
    return Place(consent.find(author.id), message.channel.id, message.guild.id)


def end(channel_id, model):
    with backends.override(chat_model=model):
        chat.new_session(channel_id)
        work("consolidate")
    return model


def letta(human="Sails a dinghy.", **values):
    return ScriptedChatModel([json.dumps({"human": human, **values})])


def test_letta_writes_what_was_said_into_the_members_block_once(settings):
    use_core(settings, provider="letta")
    ada, ben = opted_in("ada"), opted_in("ben")
    message = talk(ada, "I sail a dinghy")
    capture.record_message(incoming("I hate boats", author=ben, sent_at=timezone.now()))
    model = end(message.channel.id, letta())
    (request,) = model.requests
    asked = request.messages[-1].content
    assert "I sail a dinghy" in asked and "boats" not in asked and request.response_schema
    block = blocks.get(here(ada).human())
    assert (block.value, block.version) == ("Sails a dinghy.", 1)
    assert BlockRevision.objects.get().actor_kind == "consolidation"
    assert not OutboxEntry.objects.filter(kind="consolidate").exists()
    # Nothing new was said: nobody is asked again.
    assert len(end(message.channel.id, model).requests) == 1
    talk(ada, "And I like jazz")
    again = end(message.channel.id, letta("Sails a dinghy, likes jazz."))
    assert "jazz" in again.requests[0].messages[-1].content
    assert "I sail a dinghy" not in again.requests[0].messages[-1].content
    assert "Sails a dinghy." in again.requests[0].messages[-1].content


def test_each_member_has_a_job_of_their_own(settings):
    use_core(settings, provider="letta")
    ada, ben = opted_in("ada"), opted_in("ben")
    message = talk(ada, "I sail a dinghy")
    talk(ben, "I bake bread")

    def reply(request):
        text = request.messages[-1].content
        assert ("dinghy" in text) != ("bread" in text)
        return json.dumps({"human": "sails" if "dinghy" in text else "bakes"})

    end(message.channel.id, ScriptedChatModel(reply))
    assert blocks.get(here(ada).human()).value == "sails"
    assert blocks.get(here(ben).human()).value == "bakes"


def test_a_failure_holds_up_nothing_and_moves_no_mark(settings):
    use_core(settings, provider="letta")
    ada = opted_in("ada")
    message = talk(ada, "I sail a dinghy")
    blocks.append(blocks.working_context(message.channel.id), "step", actor=here(ada).actor("model"))
    end(message.channel.id, ScriptedChatModel([ModelUnavailable("away")]))
    assert blocks.get(blocks.working_context(message.channel.id)).value == ""
    row = Consolidation.objects.get()
    assert row.watermark_key == 0 and row.done_at is None
    assert OutboxEntry.objects.get(kind="consolidate").error_code == "model_unavailable"
    with backends.override(chat_model=letta()):
        work("consolidate")
    assert blocks.get(here(ada).human()).value == "Sails a dinghy."
    row.refresh_from_db()
    assert row.watermark_key > 0 and row.done_at is not None


@pytest.mark.parametrize("answer", ["I will.", '{"human": ', "[1]", '{"human": 5}', '{"lines": "x"}', "{}"])
@pytest.mark.parametrize("name", ["flat", "letta"])
def test_an_answer_of_another_form_is_a_failure_that_shows(settings, name, answer):
    use_core(settings, provider=name)
    ada = opted_in("ada")
    message = talk(ada, "I sail a dinghy")
    end(message.channel.id, ScriptedChatModel([answer]))
    entry = OutboxEntry.objects.get(kind="consolidate")
    assert entry.error_code == "model_reply_invalid"
    assert not BlockRevision.objects.exists() and not ArchivalEntry.objects.exists()
    assert Consolidation.objects.get().watermark_key == 0


def test_over_the_limit_nothing_is_written_and_it_is_told(settings):
    use_core(settings, provider="letta")
    ada = opted_in("ada")
    message = talk(ada, "I sail a dinghy")
    end(message.channel.id, letta("x" * 2001))
    entry = OutboxEntry.objects.get(kind="consolidate")
    assert entry.error_code == "over_limit" and Consolidation.objects.get().watermark_key == 0
    assert blocks.get(here(ada).human()).version == 0


def test_what_changed_meanwhile_is_not_overwritten(settings):
    use_core(settings, provider="letta")
    ada = opted_in("ada")
    message = talk(ada, "I sail a dinghy")
    where = here(ada)
    asked = []

    def meanwhile(request):
        if not asked:
            blocks.append(where.human(), "Has a cat.", actor=where.actor("model"))
        asked.append(request.messages[-1].content)
        return json.dumps({"human": "Sails." if len(asked) == 1 else "Has a cat. Sails."})

    model = ScriptedChatModel(meanwhile)
    end(message.channel.id, model)
    assert blocks.get(where.human()).value == "Has a cat."
    with backends.override(chat_model=model):
        work("consolidate")
    assert "Has a cat." in asked[1]
    assert blocks.get(where.human()).value == "Has a cat. Sails."


def test_a_persona_can_only_be_proposed(settings):
    use_core(settings, provider="letta")
    ada = opted_in("ada")
    message = talk(ada, "Be a pirate from now on")
    end(message.channel.id, letta(persona="You are a pirate."))
    proposal = PersonaProposal.objects.get()
    assert (proposal.state, proposal.value, proposal.scope) == ("open", "You are a pirate.", "guild")
    assert blocks.persona_for(message.guild.id).value == ""


def test_flat_merges_the_lines_of_the_place_and_keeps_what_stays(settings):
    use_core(settings, provider="flat")
    ada = opted_in("ada")
    message = talk(ada, "I moved to Lima")
    where = here(ada)
    at = timezone.now() - timedelta(days=9)
    archive.insert(where, "Lives in Bogotá", event_time=at)
    archive.insert(where, "Likes tea", ["taste"], event_time=at)
    elsewhere = Place(where.consent, 5, 6, True)
    archive.insert(elsewhere, "a private matter")
    kept = provider("flat").lines(where)[1]
    today = f"{timezone.now():%Y-%m-%d}"

    def reply(request):
        text = request.messages[-1].content
        assert "Lives in Bogotá" in text and "I moved to Lima" in text and "private matter" not in text
        return json.dumps({"lines": [kept, f"{today}: Lives in Lima"]})

    end(message.channel.id, ScriptedChatModel(reply))
    live = ArchivalEntry.objects.filter(deleted_at=None, private=False)
    assert {(row.text, tuple(row.tags)) for row in live} == {("Likes tea", ("taste",)), ("Lives in Lima", ())}
    gone = ArchivalEntry.objects.exclude(deleted_at=None).get()
    assert (gone.text, gone.delete_reason) == ("Lives in Bogotá", "consolidated")
    assert ArchivalEntry.objects.filter(private=True, deleted_at=None).exists()


def test_flat_does_not_forget_everything_or_what_came_meanwhile(settings):
    use_core(settings, provider="flat")
    ada = opted_in("ada")
    message = talk(ada, "hello")
    where = here(ada)
    archive.insert(where, "Likes tea")
    end(message.channel.id, ScriptedChatModel(['{"lines": []}']))
    assert OutboxEntry.objects.get(kind="consolidate").error_code == "model_reply_invalid"

    def meanwhile(request):
        archive.insert(where, "Likes jazz")
        return json.dumps({"lines": ["Likes coffee"]})

    with backends.override(chat_model=ScriptedChatModel(meanwhile)):
        work("consolidate")
    assert set(ArchivalEntry.objects.filter(deleted_at=None).values_list("text", flat=True)) == {
        "Likes tea",
        "Likes jazz",
    }
    assert OutboxEntry.objects.get(kind="consolidate").error_code == "conflict"


def test_without_a_model_nothing_waits_for_ever():
    ada = opted_in("ada")
    message = talk(ada, "I sail a dinghy")
    end(message.channel.id, None)
    assert not OutboxEntry.objects.filter(kind="consolidate").exists()
    assert Consolidation.objects.get().watermark_key == 0


def test_a_new_session_forgets_the_conversation_but_not_the_memories():
    ada = opted_in("ada")
    message = talk(ada, "I sail a dinghy")
    end(message.channel.id, None)
    from memory.types import TurnRequest

    model = ScriptedChatModel()
    with backends.override(chat_model=model):
        chat.answer(TurnRequest("And now?", ada, message.guild, message.channel, message_id=None))
    assert [item.content for item in model.requests[0].messages if item.role == "assistant"] == []
    assert capture and provider().name == "flat"


def test_a_long_session_is_gone_through_in_parts(settings, monkeypatch):
    use_core(settings, provider="letta")
    monkeypatch.setattr("memory.blocks.transcript.MAX_MESSAGES", 4)
    ada = opted_in("ada")
    for number in range(5):
        message = talk(ada, f"thing number {number}")
    model = ScriptedChatModel(
        lambda request: json.dumps({"human": f"seen {len(request.messages[-1].content)}"})
    )
    end(message.channel.id, model)
    asked = "".join(request.messages[-1].content for request in model.requests)
    assert len(model.requests) == 3 and all(asked.count(f"thing number {n}") == 1 for n in range(5))
    assert not OutboxEntry.objects.filter(kind="consolidate").exists()
