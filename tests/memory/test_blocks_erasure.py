"""Forgetting reaches blocks, revisions, the archive, its words and vectors, and shared sessions."""

from __future__ import annotations

import json

import pytest

from memory import blocks, capture, consent, erasure, export, selectors
from memory.blocks import Place, archive, proposals
from memory.index import archival
from memory.index.archival import ArchivalVectors
from memory.models import (
    ArchivalEntry,
    BlockRevision,
    Consolidation,
    EmbeddingSpace,
    Guild,
    MemoryBlock,
    PersonaProposal,
    Reply,
    ReplyBlock,
    ReplyMemory,
)
from tests.factories import incoming, person
from tests.memory.memory_support import erase, files_with, opted_in, say

pytestmark = pytest.mark.django_db(transaction=True)


def here(author, **values):
    message = incoming()
    return Place(consent.find(author.id), message.channel.id, message.guild.id, **values)


def noted(author):
    """Something in every store."""
    say(author, "hello")
    where = here(author)
    actor = where.actor("model")
    blocks.append(where.human(), "hides zephyrplankton", actor=actor)
    blocks.replace(where.human(), "zephyrplankton", "xenonbiscuits", actor=actor)
    blocks.append(blocks.human(author.id, private=True), "whispers quillfeathers", actor=actor)
    entry = archive.insert(where, "The wombatcastle lies behind the mill", ["castle"])
    archive.delete(where, archive.insert(where, "An obsoletegoblin").id, reason="gone")
    proposals.propose_persona(where, "You are a marmaladeking.")
    Consolidation.objects.create(member_id=author.id, channel_id=where.channel_id)
    return where, entry.id


WORDS = (
    b"zephyrplankton",
    b"xenonbiscuits",
    b"quillfeathers",
    b"wombatcastle",
    b"obsoletegoblin",
    b"marmaladeking",
)


def test_nothing_is_left_of_a_member_and_all_of_another():
    ada, ben = opted_in("ada"), opted_in("ben")
    noted(ada)
    where, kept = noted_other(ben)
    assert erasure.preview(ada.id)["blocks"] == 2 and erasure.preview(ada.id)["archive"] == 2
    receipt = erase(ada)
    assert receipt.state == "done" and receipt.counts["archive"] == 2 and receipt.counts["blocks"] == 2
    assert list(ArchivalEntry.objects.values_list("pk", flat=True)) == [kept]
    assert set(MemoryBlock.objects.values_list("member_id", flat=True)) == {ben.id}
    assert not PersonaProposal.objects.exists() and not Consolidation.objects.exists()
    assert archival.strays() == (0, 0) and archival.holding("wombatcastle") == 0
    space = EmbeddingSpace.objects.get()
    assert ArchivalVectors(space.pk, space.dimension).count() == 1
    assert not files_with(*WORDS)
    assert erasure.verify(ada.id) == {}
    assert blocks.get(where.human()).value == "keeps bees"


def noted_other(author):
    where = here(author)
    blocks.append(where.human(), "keeps bees", actor=where.actor("model"))
    return where, archive.insert(where, "The hive is green").id


def test_a_session_they_had_a_part_in_goes_with_the_answers_that_leaned_on_it():
    ada, ben = opted_in("ada"), opted_in("ben")
    where, other = here(ada), here(ben)
    blocks.append(where.working_context(), "Ada's secretplan", actor=where.actor("model"))
    block = blocks.get(where.working_context())
    question = incoming("what is the plan?", author=ben)
    capture.record_message(question)
    answer = capture.record_reply(
        incoming("It is the secretplan", author=person("bot", is_bot=True), reply_to=question.id),
        owner_id=ben.id,
    )
    reply = Reply.objects.create(asker_id=ben.id, answer_id=answer, state="done")
    ReplyBlock.objects.create(reply=reply, block_id=block.id, version=1)
    blocks.append(other.working_context(), "Ben joins", actor=other.actor("model"))
    erase(ada)
    assert not MemoryBlock.objects.filter(scope="session").exists()
    assert not Reply.objects.exists() and not files_with(b"secretplan")
    assert capture and consent.find(ben.id) is not None


@pytest.mark.parametrize("answered", [True, False])
def test_what_was_noted_in_a_turn_that_leaned_on_their_words_goes_from_the_archive_of_another(answered):
    ada, ben = opted_in("ada"), opted_in("ben")
    where, secret = here(ben), say(ada, "the key is under the mat")
    answer = None
    if answered:
        reply = incoming("Under the mat.", author=person("bot", is_bot=True))
        answer = capture.record_reply(reply, owner_id=ben.id)
    leaning = Reply.objects.create(asker_id=ben.id, answer_id=answer, state="done")
    ReplyMemory.objects.create(reply=leaning, message_id=secret, rank=1, score=1.0)
    other = Reply.objects.create(asker_id=ben.id, state="done")
    archive.insert(where, "Ada keeps it under the doormatzebra", call_id=f"{leaning.id}:1")
    kept = archive.insert(where, "Likes bees", call_id=f"{other.id}:1")
    blocks.append(
        where.working_context(), "the doormatzebra", actor=where.actor("model", call_id=f"{leaning.id}:2")
    )
    receipt = erase(ada)
    assert list(ArchivalEntry.objects.values_list("pk", flat=True)) == [kept.id]
    assert not MemoryBlock.objects.exists() and receipt.counts["archive"] == 1
    assert archival.strays() == (0, 0) and not files_with(b"doormatzebra")


def test_one_memory_of_ones_own_takes_the_notes_of_its_turn_along_and_no_others():
    ben = opted_in("ben")
    question = say(ben, "remember that I like bees")
    trace = Reply.objects.create(asker_id=ben.id, question_id=question, state="done")
    archive.insert(here(ben), "Likes bees", call_id=f"{trace.id}:1")
    kept = archive.insert(here(ben), "Sails a dinghy")
    erasure.erase_messages([question])
    assert list(ArchivalEntry.objects.values_list("pk", flat=True)) == [kept.id]


def test_their_id_leaves_what_was_noted_of_others():
    ada, ben = opted_in("ada"), opted_in("ben")
    where = here(ben)
    blocks.append(where.human(), f"is a friend of <@{ada.id}>", actor=where.actor("model"))
    archive.insert(where, f"met <@{ada.id}> at the mill")
    erase(ada)
    assert erasure.verify(ada.id) == {}
    assert blocks.get(where.human()).value == "is a friend of @erased"
    entry = ArchivalEntry.objects.get()
    assert entry.text == "met @erased at the mill" and entry.content_hash == archive.content_hash(entry.text)
    assert archival.search_words(["mill"], [entry.pk], 5) and archival.strays() == (0, 0)


def test_a_cascade_takes_words_and_vectors_along():
    ada = opted_in("ada")
    noted(ada)
    Guild.objects.all().delete()
    assert not ArchivalEntry.objects.exists()
    assert archival.strays() == (0, 0) and archival.holding("wombatcastle") == 0


def test_the_export_and_the_inventory_hold_it():
    ada = opted_in("ada")
    noted(ada)
    data = export.member_data(ada.id)
    text = json.dumps(data)
    assert all(word.decode() in text for word in WORDS)
    assert len(data["blocks"]) == 2 and len(data["block_revisions"]) == 3 and len(data["archive"]) == 2
    inventory = selectors.member_inventory(ada.id)
    assert inventory["core memory blocks"] == 2 and inventory["archival entries"] == 2


def test_a_channel_that_is_gone_takes_its_session_and_what_was_learned_there():
    ada = opted_in("ada")
    where, _ = noted(ada)
    blocks.append(where.working_context(), "the regatta", actor=where.actor("model"))
    capture.forget_channel(where.channel_id)
    assert not MemoryBlock.objects.filter(scope="session").exists()
    assert not ArchivalEntry.objects.filter(channel_id=where.channel_id).exists()
    assert blocks.get(where.human()).value == "hides xenonbiscuits"
    assert BlockRevision.objects.filter(block__scope="user").exists()
