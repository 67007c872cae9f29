"""Replies: why each says what it says, and from there to correct or erase what misled it."""

from datetime import timedelta

import pytest
from django.urls import reverse

from memory import blocks, capture, chat, consent, facts
from memory.chat.why import explain
from memory.models import Document, Fact, Message, Reply, ReplyBlock, ReplyFact, ReplyMemory
from memory.types import ChannelInfo, GuildInfo, TurnRequest
from tests.factories import START, incoming, person
from tests.memory.document_support import upload

pytestmark = pytest.mark.django_db(transaction=True)

GUILD = GuildInfo(1_300_000_000_000_000_001, "Harbour")
GENERAL = ChannelInfo(1_300_000_000_000_000_002, "general")


@pytest.fixture
def ada():
    someone = person("ada")
    consent.give(person=someone, origin="discord")
    return someone


@pytest.fixture
def ferry(ada):
    """Said long before the questions, so that it is recalled and no part of the conversation."""
    for other in ("Bread needs salt, flour and patience.", "The lamp was replaced on Friday."):
        capture.record_message(incoming(other, author=ada, sent_at=START - timedelta(days=3)))
    said = incoming("The ferry to the island sails at noon.", author=ada, sent_at=START - timedelta(days=2))
    return capture.record_message(said)


def ask(asker, text="When does the ferry sail?"):
    """A question on Discord, answered as the bot does; returns its trace."""
    question = incoming(text, author=asker)
    key = capture.record_message(question)
    request = TurnRequest(
        question=text, asker=asker, guild=GUILD, channel=GENERAL, message_id=question.id, is_group=True
    )
    trace_id = chat.begin(request)
    *_, result = chat.run_turn(request, trace_id=trace_id)
    answer = incoming(result.text, author=person("musebot", is_bot=True), reply_to=question.id)
    answer_key = capture.record_reply(answer, owner_id=asker.id)
    chat.finish(trace_id, question_key=key, answer_key=answer_key, state="done")
    return Reply.objects.get(id=trace_id)


def shown(staff, reply):
    return staff.get(reverse("dashboard:reply", args=[reply.id])).content.decode()


def test_the_page_says_what_it_leaned_on_and_why(staff, ada, ferry):
    reply = ask(ada)
    body = shown(staff, reply)
    assert "When does the ferry sail?" in body and "The ferry to the island sails at noon." in body
    assert "<strong>Strong match</strong>: shares words with the question" in body
    message = Message.objects.get(key=ferry)
    assert f"https://discord.com/channels/{GUILD.id}/{GENERAL.id}/{message.discord_id}" in body
    assert f"https://discord.com/channels/{GUILD.id}/{GENERAL.id}/{reply.trigger_id}" in body
    assert f"https://discord.com/channels/{GUILD.id}/{GENERAL.id}/{reply.answer.discord_id}" in body
    score = ReplyMemory.objects.get(reply=reply, message_id=ferry).score
    assert f"<b>{score:.3f}</b> in all" in body and "<svg" in body


def test_what_was_left_out_is_counted_with_its_reason(staff, ada, ferry):
    reply = ask(ada)
    other = capture.record_message(incoming("Ferries are painted white.", author=ada))
    for rank, why in ((7, "score"), (8, "budget"), (9, "top_k")):
        key = capture.record_message(incoming(f"Ferry number {rank}", author=ada))
        ReplyMemory.objects.create(
            reply=reply, message_id=key, rank=rank, score=0.1, injected=False, why_excluded=why
        )
    assert other
    body = shown(staff, reply)
    assert "not close enough to the question" in body
    assert "there was no room left in the prompt" in body and "enough others were closer" in body
    assert explain(reply.id).counts_left_out["there was no room left in the prompt"] == 1


@pytest.mark.parametrize(
    ("degraded", "said"),
    [
        ("", "nothing that is remembered has to do with the question"),
        ("memory_disabled", "Long-term memory is switched off."),
        ("timeout", "took too long"),
        ("no_channel", "not known who would read the answer"),
        ("same_channel_only,no_vectors", "Found by words alone"),
        ("something_new", "something_new"),
    ],
)
def test_why_no_memory_was_used_is_said(staff, ada, degraded, said):
    reply = ask(ada, "Hello?")
    ReplyMemory.objects.filter(reply=reply).delete()
    Reply.objects.filter(id=reply.id).update(degraded=degraded)
    body = shown(staff, reply)
    assert "No memory was used" in body and said in body


def test_an_answer_under_way_says_so(staff, ada):
    question = incoming("Now?", author=ada)
    request = TurnRequest("Now?", ada, GUILD, GENERAL, message_id=question.id)
    trace = Reply.objects.get(id=chat.begin(request))
    assert "still being written" in shown(staff, trace)


def test_a_memory_that_misled_is_erased_from_here(staff, ada, ferry):
    reply = ask(ada)
    back = reverse("dashboard:replies")
    data = {"key": ferry, "filters": "guild=", "confirmed": "1", "next": back}
    answer = staff.post(reverse("dashboard:memories-erase"), data)
    assert answer.headers["Location"] == back
    assert not Message.objects.filter(key=ferry).exists()
    assert not Reply.objects.filter(id=reply.id).exists(), "the answer leaned on it"


def test_a_memory_is_held_back_from_here(staff, ada, ferry):
    reply = ask(ada)
    here = reverse("dashboard:reply", args=[reply.id])
    answer = staff.post(
        reverse("dashboard:memories-pause"), {"key": ferry, "paused": "1", "filters": "guild=", "next": here}
    )
    assert answer.headers["Location"] == here
    assert Message.objects.get(key=ferry).paused and "held back since" in shown(staff, reply)


def test_one_is_never_sent_elsewhere(staff, ada, ferry):
    for bad in ("https://evil.example/", "//evil.example/", "javascript:alert(1)"):
        data = {"key": ferry, "paused": "1", "filters": "guild=", "next": bad}
        answer = staff.post(reverse("dashboard:memories-pause"), data)
        assert answer.headers["Location"].startswith("/memories/")


def test_facts_and_blocks_lead_to_where_they_are_corrected(staff, ada, ferry):
    reply = ask(ada)
    facts.remember(ada.id, "Owns a grey dinghy")
    fact = Fact.objects.get(member_id=ada.id)
    ReplyFact.objects.create(reply=reply, fact=fact)
    block = blocks.human(ada.id)
    actor = blocks.Actor("model", ada.id, consent=consent.find(ada.id))
    blocks.append(block, "Sails on Sundays.", actor=actor)
    row = blocks.get(block)
    ReplyBlock.objects.create(reply=reply, block_id=row.id, version=row.version)
    blocks.append(block, "Has a cat.", actor=actor)
    body = shown(staff, reply)
    assert "Owns a grey dinghy" in body and reverse("dashboard:fact", args=[fact.id]) in body
    assert reverse("dashboard:block", args=[row.id]) in body
    assert "Sails on Sundays." in body and "Has a cat." not in body, "as it was then"
    assert "it is 2 by now" in body
    here = reverse("dashboard:reply", args=[reply.id])
    staff.post(reverse("dashboard:facts-forget"), {"key": fact.id, "confirmed": "1", "next": here})
    assert "Owns a grey dinghy" not in shown(staff, reply)


def test_a_document_is_switched_off_from_here(staff, ada, documents_folder):
    upload("faq.md", "# Harbour\n\nThe harbour office opens at nine on weekdays.\n")
    reply = ask(ada, "When does the harbour office open?")
    body = shown(staff, reply)
    assert "The harbour office opens at nine" in body and "faq.md" in body
    document = Document.objects.get()
    here = reverse("dashboard:reply", args=[reply.id])
    answer = staff.post(
        reverse("dashboard:document-change", args=[document.pk]), {"action": "disable", "next": here}
    )
    document.refresh_from_db()
    assert answer.headers["Location"] == here and not document.enabled


def test_a_reply_is_taken_back(staff, ada, ferry):
    reply = ask(ada)
    answer_key = reply.answer_id
    staff.post(reverse("dashboard:reply-erase", args=[reply.id]))
    assert not Reply.objects.filter(id=reply.id).exists()
    assert not Message.objects.filter(key=answer_key).exists()
    assert Message.objects.filter(key=ferry).exists(), "what it leaned on stays"
    assert staff.get(reverse("dashboard:reply", args=[reply.id])).status_code == 404
    assert staff.post(reverse("dashboard:reply-erase", args=[reply.id])).status_code == 404


def test_who_is_being_erased_is_not_shown(staff, ada, ferry):
    ben = person("ben")
    consent.give(person=ben, origin="discord")
    reply = ask(ben)
    consent.withdraw(user_id=ada.id, origin="discord")
    body = shown(staff, reply)
    assert "The ferry to the island sails at noon." not in body
    assert "The ferry to the island sails at noon." not in str(explain(reply.id))
