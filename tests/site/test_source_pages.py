"""Where a citation on Discord leads: who may read the document, and what of it is shown."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from memory import snapshots
from memory.models import Chunk, Document, Guild
from memory.rag import citations, documents
from memory.types import ChannelInfo, GuildInfo
from tests.factories import person
from tests.memory.document_support import find, upload
from tests.site.own_support import signed_in

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("documents_folder")]

HARBOUR, MARKET = (
    GuildInfo(id=1_300_000_000_000_000_001, name="Harbour"),
    GuildInfo(id=1_300_000_000_000_000_009, name="Market"),
)
HALL = ChannelInfo(id=1_300_000_000_000_000_002, name="hall")
ADA = person("ada")
WORDS = b"three business days"


@pytest.fixture(autouse=True)
def _servers(db: Any) -> None:
    for guild in (HARBOUR, MARKET):
        Guild.objects.get_or_create(discord_id=guild.id, defaults={"name": guild.name})


def seen(*people: int, ago: timedelta = timedelta()) -> None:
    """The bot saw these people read a channel of Harbour."""
    snapshots.record(guild=HARBOUR, readers={HALL.id: people}, channels=[HALL])
    Guild.objects.filter(discord_id=HARBOUR.id).update(snapshot_at=timezone.now() - ago)


def limited(*guilds: GuildInfo) -> Document:
    document = upload().document
    documents.set_scope(document.pk, guild_ids=[guild.id for guild in guilds])
    return document


def opens(document: Document, *, servers: tuple[int, ...] = ()) -> bool:
    response = signed_in(ADA, servers=servers).get(f"/sources/{document.pk}/")
    assert response.status_code in {200, 404}
    assert (WORDS in response.content) == (response.status_code == 200)
    return response.status_code == 200


def test_a_citation_leads_there(settings):
    settings.MUSEBOT = settings.MUSEBOT.model_copy(update={"public_url": "https://bot.example"})
    document = upload().document
    hit = find("How many business days do parcels take?")[0]
    address = citations.url_of(hit)
    assert address.startswith(f"https://bot.example/sources/{document.pk}/?chunk={hit.id}#chunk-{hit.id}")
    page = signed_in(ADA, servers=[HARBOUR.id]).get(address.removeprefix("https://bot.example"))
    assert page.context["cited"].text in hit.text and f'id="chunk-{hit.id}"' in page.content.decode()


def test_strangers_sign_in_and_come_back():
    document = upload().document
    response = Client().get(f"/sources/{document.pk}/?chunk=4")
    assert response["Location"] == f"/sign-in/discord/?next=/sources/{document.pk}/%3Fchunk%3D4"


def test_what_answers_everywhere_is_for_those_who_share_a_server_with_the_bot():
    document = upload().document
    assert opens(document, servers=(HARBOUR.id,))
    assert not opens(document)


def test_what_answers_on_one_server_is_for_those_who_are_on_it():
    document = limited(HARBOUR)
    assert opens(document, servers=(HARBOUR.id,))
    assert not opens(document, servers=(MARKET.id,))
    assert not opens(document)


def test_what_the_bot_saw_counts_more_than_what_discord_said_at_sign_in():
    document = limited(HARBOUR)
    seen(ADA.id, 5)
    assert opens(document)
    seen(5, 6)
    assert not opens(document, servers=(HARBOUR.id,)), "they left, or may read nothing there any more"


def test_what_was_seen_longer_than_a_day_ago_counts_no_more():
    document = limited(HARBOUR)
    seen(ADA.id, ago=timedelta(days=1, minutes=1))
    assert not opens(document) and opens(document, servers=(HARBOUR.id,))


def test_a_server_that_the_bot_left_lets_nobody_in():
    document = limited(HARBOUR)
    Guild.objects.filter(discord_id=HARBOUR.id).update(left_at=timezone.now())
    assert not opens(document, servers=(HARBOUR.id,))


def test_a_document_that_is_switched_off_is_not_shown():
    document = upload().document
    Document.objects.update(enabled=False)
    assert not opens(document, servers=(HARBOUR.id,))


def test_a_document_for_no_server_is_for_nobody():
    document = limited(HARBOUR)
    document.guilds.clear()
    assert not opens(document, servers=(HARBOUR.id, MARKET.id))


def test_older_words_are_not_shown_through_an_old_link():
    document = upload().document
    old = Chunk.objects.order_by("key").first()
    upload("faq.md", "# Shop\n\nParcels take five working days now.")
    assert old is not None
    page = signed_in(ADA, servers=[HARBOUR.id]).get(f"/sources/{document.pk}/?chunk={old.key}")
    body = page.content
    assert page.context["cited"] is None and b"has changed since it was cited" in body
    assert b"five working days" in body and WORDS not in body


@pytest.mark.parametrize(
    "query", ["chunk=x", "chunk=99999999999999999999999", "after=x", "after=-1", "chunk="]
)
def test_a_damaged_link_shows_the_beginning(query):
    document = upload().document
    assert WORDS in signed_in(ADA, servers=[HARBOUR.id]).get(f"/sources/{document.pk}/?{query}").content


def test_a_passage_of_another_document_is_not_shown_here():
    secret = upload("secret.md", "# Safe\n\nThe combination is four, eight, fifteen.").document
    documents.set_scope(secret.pk, guild_ids=[MARKET.id])
    document = upload().document
    other = Chunk.objects.get(version__document=secret)
    page = signed_in(ADA, servers=[HARBOUR.id]).get(f"/sources/{document.pk}/?chunk={other.key}")
    assert b"combination" not in page.content


def test_a_long_document_comes_in_parts():
    text = "\n\n".join(
        f"## Rule {n}\n\n" + f"Rule {n} says that boat {n} sails first. " * 12 for n in range(120)
    )
    document = upload("rules.md", text).document
    client = signed_in(ADA, servers=[HARBOUR.id])
    page = client.get(f"/sources/{document.pk}/")
    assert b"Rule 0 says" in page.content and b"Rule 119 says" not in page.content
    shown = 0
    after = page.context["next_after"]
    while after:
        page, shown = client.get(f"/sources/{document.pk}/?after={after}"), shown + 1
        after = page.context["next_after"]
        assert shown < 50
    assert b"Rule 119 says" in page.content


def test_a_document_is_text_and_never_markup():
    document = upload(
        "page.md", "# Hm\n\nparcels <script>alert(1)</script> **bold** [x](javascript:alert(2))"
    ).document
    body = signed_in(ADA, servers=[HARBOUR.id]).get(f"/sources/{document.pk}/").content.decode()
    assert "<script>alert" not in body and 'href="javascript:' not in body


def test_who_looks_after_documents_is_led_to_the_dashboard(staff):
    document = upload().document
    assert staff.get(f"/sources/{document.pk}/?chunk=7")["Location"] == f"/documents/{document.pk}/?chunk=7"


def test_what_is_not_there_is_not_there():
    assert signed_in(ADA, servers=[HARBOUR.id]).get("/sources/12345/").status_code == 404
