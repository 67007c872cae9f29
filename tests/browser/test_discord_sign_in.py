"""A member in Chromium: through Discord's page to their own, in both themes and on a phone; and the second step of an owner."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from axe_playwright_python.sync_playwright import Axe
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from memory import capture, chat, consent, facts
from memory.models import Chunk, Document, Guild
from memory.types import ChannelInfo, GuildInfo, Person, TurnRequest
from tests.browser.conftest import PASSWORD, SAID
from tests.browser.test_looks import UNREADABLE
from tests.document_files import documents_folder
from tests.factories import incoming
from tests.memory.document_support import upload
from tests.simulators.discord import DiscordSim
from tests.site.discord_sign_in import configure

__all__ = ["documents_folder"]

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture(scope="module")
def sim() -> Iterator[DiscordSim]:
    with DiscordSim.start("--rate-profile", "off") as sim:
        yield sim


@pytest.fixture
def ada(sim: DiscordSim, settings: Any, live_server: object) -> Person:
    """A member on Discord, and here, of whom all kinds of things are stored."""
    sim.post("/reset")
    configure(settings, sim)
    ada = Person(id=int(sim.user("ada")), username="ada", display_name="Ada")
    server = sim.guild("Harbour", members=[str(ada.id)])
    guild = GuildInfo(int(server["id"]), "Harbour")
    consent.give(person=ada, origin="discord")
    for text in SAID:
        capture.record_message(incoming(text, author=ada, guild=guild))
    facts.remember(ada.id, ["Lives in Vigo", "Prefers answers in Spanish"])
    row = Guild.objects.get(discord_id=guild.id)
    channel = ChannelInfo(row.channels.get().discord_id)
    chat.answer(
        TurnRequest(
            question="When does the ferry sail?", asker=ada, guild=guild, channel=channel, operator=True
        )
    )
    return ada


def sign_in(page: Page, path: str = "/me/", name: str = "ada") -> None:
    page.goto(path)
    page.get_by_role("button", name="Sign in with Discord").click()
    page.get_by_role("button", name=f"Authorize as {name}").click()


def test_signing_in_correcting_and_withdrawing(visitor: Page, ada: Person) -> None:
    sign_in(visitor)
    expect(visitor.get_by_role("heading", name="What is stored of you")).to_be_visible()
    with visitor.expect_download() as download:
        visitor.get_by_role("button", name="Export as JSON").click()
    assert re.fullmatch(r"musebot-export-[\d-]+\.json", download.value.suggested_filename)
    visitor.get_by_role("link", name="Facts", exact=True).first.click()
    fact = visitor.get_by_role("listitem").filter(has_text="Lives in Vigo")
    fact.get_by_text("Correct…").click()
    fact.get_by_label("As it should be").fill("Lives in Porto")
    fact.get_by_role("button", name="Save").click()
    expect(visitor.get_by_role("status")).to_contain_text("Corrected.")
    fact = visitor.get_by_role("listitem").filter(has_text="Prefers answers in Spanish")
    fact.get_by_text("Forget…").click()
    fact.get_by_role("button", name="Forget this fact").click()
    expect(visitor.get_by_role("status")).to_contain_text("Forgotten")
    assert facts.memory(ada.id) == ["Lives in Porto"]
    visitor.goto("/me/withdraw/")
    visitor.get_by_label("Type ada to confirm").fill("ada")
    visitor.get_by_role("button", name=re.compile("^Erase 4 memories and everything else")).click()
    expect(visitor.get_by_role("heading", name="Receipt")).to_be_visible()
    expect(visitor.get_by_text("nothing is left")).to_be_visible()
    visitor.locator("summary", has_text="Ada").click()
    visitor.get_by_role("button", name="Sign out").click()
    expect(visitor.get_by_role("button", name="Sign in with Discord")).to_be_visible()
    # Who agreed once is not asked again.
    visitor.get_by_role("button", name="Sign in with Discord").click()
    expect(visitor.get_by_text("Nothing is stored of you")).to_be_visible()


def test_who_refuses_is_told_so(visitor: Page, ada: Person) -> None:
    visitor.goto("/me/")
    visitor.get_by_role("button", name="Sign in with Discord").click()
    visitor.get_by_role("button", name="Cancel").click()
    expect(visitor.get_by_role("status")).to_contain_text("You did not allow it on Discord")


@pytest.mark.usefixtures("documents_folder")
def test_a_citation_leads_through_the_sign_in_to_its_passage(visitor: Page, ada: Person) -> None:
    upload()
    chunk = Chunk.objects.get(text__contains="three business days")
    sign_in(visitor, f"/sources/{Document.objects.get().pk}/?chunk={chunk.key}")
    expect(visitor.get_by_role("blockquote")).to_contain_text("three business days")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_every_page_of_a_member(
    visitor: Page, ada: Person, theme: str, width: int, live_server: object
) -> None:
    visitor.set_viewport_size({"width": width, "height": 844})
    visitor.context.add_cookies([{"name": "theme", "value": theme, "url": str(live_server)}])
    look(visitor, "/me/", width)
    sign_in(visitor)
    for path in ("/me/", "/me/memories/", "/me/facts/", "/me/core-memory/", "/me/replies/", "/me/withdraw/"):
        look(visitor, path, width)


def look(page: Page, path: str, width: int) -> None:
    response = page.goto(path)
    assert response is not None and response.status == 200, path
    assert page.evaluate("document.documentElement.scrollWidth") <= width, path
    assert page.evaluate(UNREADABLE) == [], path
    assert page.locator("h1").count() == 1, path
    found = Axe().run(page).response["violations"]
    assert [one["id"] for one in found if one["impact"] in {"serious", "critical"}] == [], path


def test_pages_can_be_read_without_scripts(chromium: Any, ada: Person, live_server: object) -> None:
    context = chromium.new_context(base_url=str(live_server), java_script_enabled=False)
    page = context.new_page()
    sign_in(page, "/me/facts/")
    fact = page.get_by_role("listitem").filter(has_text="Lives in Vigo")
    fact.get_by_text("Correct…").click()
    fact.get_by_label("As it should be").fill("Lives in Faro")
    fact.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status")).to_contain_text("Corrected.")
    context.close()


def test_the_second_step_by_keyboard(page: Page, owner: User, visitor: Page) -> None:
    page.goto("/account/")
    page.get_by_role("link", name="Set up the second step").click()
    assert page.locator("svg.qr").bounding_box()["width"] > 200  # type: ignore[index]
    page.get_by_text("No camera? Type it").click()
    secret = page.locator("code[data-copy]").inner_text().replace(" ", "")
    page.get_by_label("Code", exact=True).fill(code(secret, -1))
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Recovery codes")).to_be_visible()
    assert page.locator(".codes li").count() == 10
    page.locator("summary", has_text="owner").click()
    page.get_by_role("button", name="Sign out").click()
    page.get_by_label("Name").fill("owner")
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_label("Code")).to_be_focused()
    page.keyboard.type(code(secret))
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()


def code(secret: str, later: int = 0) -> str:
    return format_hotp_value(hotp_value(secret, int(time.time()) // 30 + later))
