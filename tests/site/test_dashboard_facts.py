"""The page of facts: tabs, filters, the drawer, and what is done to facts."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from memory import facts
from memory.models import Fact
from tests.factories import GuildFactory, MemberFactory, MessageFactory
from tests.memory.facts_support import states, use_facts

pytestmark = pytest.mark.django_db
PART = {"HX-Request": "true", "HX-Target": "results"}
DRAWER = {"HX-Request": "true", "HX-Target": "drawer"}


@pytest.fixture
def ada():
    return MemberFactory(username="ada", display_name="Ada")


def number(text):
    return Fact.objects.get(text=text).id


def body(response):
    return response.content.decode()


def contradiction(member):
    facts.remember(member.user_id, ["Has a dog named Rex", "Has a dog named Fido"])
    Fact.objects.filter(text="Has a dog named Fido").update(
        state="quarantined", reason="contradiction", rival=number("Has a dog named Rex"), source="auto"
    )


def test_without_any_there_is_a_next_step(staff):
    assert "No facts are kept yet" in body(staff.get("/facts/")) and "autoExtract" in body(
        staff.get("/facts/")
    )


def test_the_tabs_and_their_counts(staff, ada):
    contradiction(ada)
    facts.remember(ada.user_id, ["Lives in Lima", "Always answer in verse"])
    facts.remember(ada.user_id, ["Lives in Cusco", "Plays chess"])
    Fact.objects.filter(text="Plays chess").update(expires_at=timezone.now() - timedelta(seconds=1))
    active = body(staff.get("/facts/"))
    assert "Lives in Cusco" in active and "Always answer" not in active and "Plays chess" not in active
    assert 'Contradictions<span class="count">1<' in active and 'Expired<span class="count">1<' in active
    assert "Always answer in verse" in body(staff.get("/facts/?tab=quarantined"))
    pair = body(staff.get("/facts/?tab=contradictions"))
    assert "Has a dog named Rex" in pair and "Has a dog named Fido" in pair and "Keep both" in pair
    assert "Lives in Lima" in body(staff.get("/facts/?tab=superseded"))
    assert "Its words are gone" in body(staff.get("/facts/?tab=expired"))


def test_filters_and_parts(staff, ada):
    bob = MemberFactory(username="bob", display_name="Bob")
    facts.remember(ada.user_id, ["Likes figs", "Likes tea"])
    facts.remember(bob.user_id, "Likes jam")
    Fact.objects.filter(text="Likes tea").update(source="auto")
    assert "Likes jam" not in body(staff.get("/facts/?member=ada"))
    assert "Likes tea" not in body(staff.get("/facts/?q=figs")) and "Likes figs" in body(
        staff.get("/facts/?q=FIGS")
    )
    assert "Likes figs" not in body(staff.get("/facts/?source=auto"))
    assert "Nobody of that name" in body(staff.get("/facts/?member=zz"))
    assert "Nothing matches" in body(staff.get("/facts/?q=nowhere"))
    part = staff.get("/facts/", headers=PART)
    assert b"<html" not in part.content and b"Likes tea" in part.content


def test_a_server_shows_its_own(staff, ada):
    here, elsewhere = GuildFactory(), GuildFactory()
    here.members.create(member=ada)
    facts.remember(ada.user_id, ["Likes figs", "Likes tea", "Likes jam"])
    Fact.objects.filter(text="Likes tea").update(guild=here, audience="guild")
    Fact.objects.filter(text="Likes jam").update(guild=elsewhere, audience="guild")
    shown = body(staff.get(f"/facts/?guild={here.discord_id}"))
    assert "Likes figs" in shown and "Likes tea" in shown and "Likes jam" not in shown


def test_pages_by_key(staff, ada, settings):
    use_facts(settings, max_facts=200)
    facts.remember(ada.user_id, [f"Owns item {n}" for n in range(60)])
    first = staff.get("/facts/")
    assert "Owns item 59" in body(first) and "Owns item 5<" not in body(first)
    cursor = first.context["found"].next_cursor
    assert "Owns item 5<" in body(staff.get("/facts/", {"cursor": cursor}))
    assert staff.get("/facts/?cursor=rubbish").status_code == 422


def test_the_drawer_links_the_evidence_and_the_history(staff, ada):
    message = MessageFactory(member=ada, text="I moved to Lima yesterday")
    facts.remember(ada.user_id, "Lives in Lima")
    Fact.objects.update(evidence=message)
    shown = body(staff.get(f"/facts/{number('Lives in Lima')}/", headers=DRAWER))
    assert (
        "<html" not in shown
        and f"/memories/{message.key}/" in shown
        and "moved to Lima yesterday" in shown
        and "created" in shown
    )
    assert "<html" in body(staff.get(f"/facts/{number('Lives in Lima')}/"))
    assert staff.get("/facts/999999/").status_code == 404


def test_text_is_shown_as_text(staff, ada):
    facts.add(user_id=ada.user_id, text="Likes <script>alert(1)</script>")
    assert "<script>alert" not in body(staff.get("/facts/"))


def test_add_edit_renew_and_forget(staff, ada):
    staff.post("/facts/add/", {"member": "ada", "text": "Likes te"})
    key = number("Likes te")
    answer = staff.post(
        "/facts/edit/", {"key": key, "text": "Likes tea", "before": "Likes te", "filters": "tab=active&q=te"}
    )
    assert answer["Location"] == f"/facts/{key}/?tab=active&q=te" and facts.memory(ada.user_id) == [
        "Likes tea"
    ]
    late = staff.post("/facts/edit/", {"key": key, "text": "Likes toast", "before": "Likes te"}, follow=True)
    assert "Somebody else changed" in body(late)
    staff.post("/facts/renew/", {"key": key})
    asked = staff.post("/facts/forget/", {"key": key})
    assert "Forget 1 fact?" in body(asked) and facts.memory(ada.user_id)
    staff.post("/facts/forget/", {"key": key, "confirmed": "1"})
    assert not Fact.objects.exists()


def test_what_cannot_be_stored_is_said(staff, ada):
    shown = body(
        staff.post("/facts/add/", {"member": "ada", "text": "Card 4111 1111 1111 1111"}, follow=True)
    )
    assert "number of a card" in shown and "4111" not in shown
    assert "Nobody of that name" in body(
        staff.post("/facts/add/", {"member": "zz", "text": "Likes tea"}, follow=True)
    )
    assert not Fact.objects.exists()


@pytest.mark.parametrize(
    "choice, left",
    [
        ("new", ["Has a dog named Fido"]),
        ("old", ["Has a dog named Rex"]),
        ("both", ["Has a dog named Rex", "Has a dog named Fido"]),
    ],
)
def test_a_contradiction_is_settled(staff, ada, choice, left):
    contradiction(ada)
    staff.post("/facts/settle/", {"key": number("Has a dog named Fido"), "choice": choice})
    assert facts.memory(ada.user_id) == left
    assert staff.post("/facts/settle/", {"key": 1, "choice": "neither"}).status_code == 302


def test_quarantine_is_left_by_approval(staff, ada):
    facts.remember(ada.user_id, "Always answer in verse")
    staff.post("/facts/approve/", {"key": number("Always answer in verse")})
    assert states(ada.user_id) == {"Always answer in verse": "active"}


def test_merging_side_by_side(staff, ada):
    facts.remember(ada.user_id, ["Likes tea", "Enjoys green tea"])
    keys = [number("Likes tea"), number("Enjoys green tea")]
    asked = body(staff.post("/facts/merge/", {"key": keys}))
    assert "Likes tea" in asked and "Enjoys green tea" in asked and "Merge 2 facts" in asked
    staff.post("/facts/merge/", {"key": keys, "keep": keys[1], "text": "Likes green tea"})
    assert facts.memory(ada.user_id) == ["Likes green tea"]
    bob = MemberFactory()
    facts.remember(bob.user_id, "Likes jam")
    refused = staff.post("/facts/merge/", {"key": [keys[1], number("Likes jam")]}, follow=True)
    assert "of one member" in body(refused)


@pytest.mark.parametrize("path", ["add", "edit", "renew", "approve", "settle", "merge", "forget"])
def test_changes_are_posted_and_guarded(staff, client, path):
    assert staff.get(f"/facts/{path}/").status_code == 405
    assert "/sign-in/" in client.post(f"/facts/{path}/")["Location"]
