"""Core memory in the dashboard: persona, blocks with their history, proposals, the prompt as it would be."""

from __future__ import annotations

import html

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memory import blocks
from memory.blocks import Actor, proposals
from memory.models import BlockRevision, MemoryBlock, PersonaProposal
from musebot_site.dashboard.differences import differences
from tests.factories import ChannelFactory, MemberFactory
from tests.memory.blocks_support import place

pytestmark = pytest.mark.django_db

MODEL = Actor("model")
ADMIN = Actor("admin", 1)


def noted(name="ada", text="likes tea"):
    member = MemberFactory(username=name, display_name=name.title())
    blocks.append(blocks.human(member.user_id), text, actor=MODEL)
    return member, MemoryBlock.objects.get(member=member)


def test_the_list_names_whose_block_it_is_and_filters(staff):
    noted("ada"), noted("teo", "plays chess")
    channel = ChannelFactory(name="harbour")
    blocks.append(blocks.working_context(channel.discord_id), "The regatta", actor=MODEL)
    body = staff.get("/core-memory/").content.decode()
    assert "Ada" in body and "Teo" in body and "#harbour" in body and str(channel.guild) in body
    assert "9 / 2,000" in body and 'max="2000" value="9"' in body and "The installation" in body
    part = {"HX-Request": "true", "HX-Target": "results"}
    for query, there, gone in (
        ("q=ada", "Ada", "Teo"),
        ("label=working_context", "#harbour", "Ada"),
        (f"guild={channel.guild.discord_id}", "#harbour", "Ada"),
    ):
        body = staff.get(f"/core-memory/?{query}", headers=part).content.decode()
        assert there in body and gone not in body and "<html" not in body, query
    staff.get("/core-memory/?guild=")
    assert b"Nothing matches" in staff.get("/core-memory/?q=zzz").content


def test_without_anything_it_says_how_it_comes(staff):
    assert b"Nothing is noted" in staff.get("/core-memory/").content


def test_a_block_is_edited_with_its_version(staff):
    member, row = noted()
    page = staff.get(f"/core-memory/{row.pk}/").content.decode()
    assert "Human of Ada" in page and "version 1" in page and "likes tea" in page
    response = staff.post(
        f"/core-memory/{row.pk}/", {"value": "likes coffee\r\nand rain", "version": 1, "reason": "asked"}
    )
    assert response["Location"] == f"/core-memory/{row.pk}/"
    block = blocks.get(blocks.human(member.user_id))
    assert (block.value, block.version) == ("likes coffee\nand rain", 2)
    revision = BlockRevision.objects.get(version=2)
    assert (revision.actor_kind, revision.reason) == ("admin", "asked") and revision.actor is not None
    history = staff.get(f"/core-memory/{row.pk}/").content.decode()
    assert "<del>tea</del>" in history and "<ins>" in history and "by an admin" in history


def test_a_conflict_shows_the_difference_and_changes_nothing(staff):
    member, row = noted()
    blocks.append(blocks.human(member.user_id), "has a cat", actor=MODEL)
    response = staff.post(f"/core-memory/{row.pk}/", {"value": "likes coffee", "version": 1})
    body = response.content.decode()
    assert response.status_code == 409
    assert "Somebody else changed it" in body and "<ins>coffee</ins>" in body
    assert 'name="version" value="2"' in body and "likes coffee</textarea>" in body
    assert blocks.get(blocks.human(member.user_id)).value == "likes tea\nhas a cat"
    staff.post(f"/core-memory/{row.pk}/", {"value": "likes coffee", "version": 2})
    assert blocks.get(blocks.human(member.user_id)).value == "likes coffee"


def test_over_the_limit_is_refused_with_the_overage(staff):
    member, row = noted()
    response = staff.post(f"/core-memory/{row.pk}/", {"value": "字" * 2005, "version": 1})
    assert response.status_code == 422
    assert "Shorten it by 5." in html.unescape(response.content.decode())
    assert blocks.get(blocks.human(member.user_id)).version == 1


def test_an_older_version_is_restored(staff):
    member, row = noted()
    blocks.rethink(blocks.human(member.user_id), "likes coffee", version=1, actor=MODEL)
    page = staff.get(f"/core-memory/{row.pk}/").content.decode()
    assert "Restore version 1" in page and "Restore version 2" not in page
    staff.post(f"/core-memory/{row.pk}/restore/", {"to": 1, "version": 1})
    assert blocks.get(blocks.human(member.user_id)).value == "likes coffee"
    staff.post(f"/core-memory/{row.pk}/restore/", {"to": 1, "version": 2})
    block = blocks.get(blocks.human(member.user_id))
    assert (block.value, block.version) == ("likes tea", 3)
    assert BlockRevision.objects.get(version=3).actor_kind == "undo"


def test_the_limit_is_set_within_bounds_and_not_below_the_text(staff):
    member, row = noted()
    for value, stays in (("5", 2000), ("20001", 2000), ("x", 2000), ("3000", 3000), ("9", 9)):
        staff.post(f"/core-memory/{row.pk}/limit/", {"limit": value})
        assert blocks.get(blocks.human(member.user_id)).limit == stays, value


def test_a_persona_is_written_for_all_and_for_one_server(staff):
    channel = ChannelFactory()
    guild = channel.guild.discord_id
    assert b"Write one" in staff.get("/core-memory/").content
    staff.post("/core-memory/persona/", {"value": "You are Muse.", "version": 0})
    response = staff.post(f"/core-memory/persona/?server={guild}", {"value": "You are Pirate.", "version": 0})
    assert response["Location"] == f"/core-memory/persona/?server={guild}"
    assert blocks.persona_for(guild).value == "You are Pirate."
    assert blocks.persona_for(5).value == "You are Muse."
    page = staff.get(f"/core-memory/?guild={guild}").content.decode()
    assert "You are Muse." in page and "You are Pirate." in page
    assert staff.get("/core-memory/persona/?server=5").status_code == 404


def test_a_proposed_persona_waits_for_an_admin(staff):
    where = place(MemberFactory())
    blocks.edit(blocks.persona(), "You are Muse.", version=0, actor=ADMIN)
    first = proposals.propose_persona(where, "You are Kind Muse.")
    body = staff.get("/core-memory/").content.decode()
    assert "1 to decide" in body and "<ins>Kind </ins>" in body
    blocks.edit(blocks.persona(), "You are Old Muse.", version=1, actor=ADMIN)
    staff.post(f"/core-memory/proposals/{first.pk}/", {"decision": "approve", "version": 1})
    assert blocks.persona_for(None).value == "You are Old Muse."
    staff.post(f"/core-memory/proposals/{first.pk}/", {"decision": "approve", "version": 2})
    assert blocks.persona_for(None).value == "You are Kind Muse."
    second = proposals.propose_persona(where, "You are Rude Muse.")
    staff.post(f"/core-memory/proposals/{second.pk}/", {"decision": "reject"})
    assert blocks.persona_for(None).value == "You are Kind Muse."
    assert set(PersonaProposal.objects.values_list("state", flat=True)) == {"approved", "rejected"}
    again = staff.post(f"/core-memory/proposals/{second.pk}/", {"decision": "approve", "version": 3})
    assert again.status_code == 409 and blocks.persona_for(None).value == "You are Kind Muse."


def test_the_preview_shows_the_prompt_of_a_member(staff):
    member, _ = noted("ada", "likes <b>tea</b>")
    blocks.edit(blocks.persona(), "You are Muse.", version=0, actor=ADMIN)
    channel = ChannelFactory()
    body = staff.get("/core-memory/preview/?member=ada").content.decode()
    assert "You are Muse." in body and "likes &lt;b&gt;tea&lt;/b&gt;" in body and "tokens" in body
    query = f"guild={channel.guild.discord_id}&channel={channel.discord_id}&member={member.user_id}"
    group = staff.get(f"/core-memory/preview/?{query}").content.decode()
    assert "You are Muse." in group and "tea" not in group
    assert staff.get("/core-memory/preview/?member=nobody").status_code == 422
    assert b"You are Muse." in staff.get("/core-memory/preview/").content
    assert not BlockRevision.objects.filter(block__label="working_context").exists()


def test_differences_are_word_by_word():
    assert [(part.kind, part.text) for part in differences("likes green tea.", "likes tea. A lot!")] == [
        ("same", "likes "),
        ("removed", "green "),
        ("same", "tea"),
        ("removed", "."),
        ("added", ". A lot!"),
    ]
    assert differences("", "") == []


def test_what_is_not_there(staff):
    assert staff.get("/core-memory/999/").status_code == 404
    assert staff.post("/core-memory/999/restore/", {"to": 1, "version": 1}).status_code == 404
    assert staff.post("/core-memory/proposals/999/", {"decision": "reject"}).status_code == 404


@pytest.mark.sqlite_only("the plan of another storage reads differently")
def test_the_list_goes_by_its_index_and_sorts_nothing(staff):
    noted("ada"), noted("teo", "plays chess")
    with CaptureQueriesContext(connection) as asked:
        staff.get("/core-memory/?label=human")
    [query] = [one["sql"] for one in asked if 'ORDER BY "memory_memoryblock"."updated_at" DESC' in one["sql"]]
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {query.replace('%', '%%')}")
        plan = " / ".join(row[3] for row in cursor.fetchall())
    assert "memory_block_newest" in plan and "TEMP B-TREE" not in plan, plan
