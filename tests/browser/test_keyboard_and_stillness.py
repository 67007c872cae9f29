"""The keys that the help names all do what it says, and nothing on a page moves after it has been drawn."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from memory import audit, capture
from memory.models import Document, DocumentVersion, Fact
from memory.types import Person
from tests.browser.conftest import sign_in
from tests.browser.slow_line import slow_line
from tests.factories import START, ChannelFactory, GuildFactory, MemberFactory, MessageFactory, incoming

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

MOST_SHIFT = 0.02
PAGES = (
    "/",
    "/memories/",
    "/members/",
    "/facts/",
    "/core-memory/",
    "/documents/",
    "/servers/",
    "/jobs/",
    "/erasures/",
    "/replies/",
    "/playground/",
    "/settings/",
    "/audit/",
)
WATCH = """
  window.shifted = 0;
  window.movers = [];
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) {
      window.shifted += entry.value;
      for (const { node } of entry.sources) window.movers.push(`${node?.nodeName}.${node?.className}`);
    }
  }).observe({ type: "layout-shift", buffered: true });
"""
# A shift is reported with the frame that draws it.
DRAWN = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 50))))"


def test_every_key_of_the_help(page: Page, ada: Person) -> None:
    page.goto("/memories/")
    page.keyboard.press("?")
    keys = page.locator("#help .keys dt kbd").all_inner_texts()
    assert {"/", "j", "k", "x", "Enter", "Esc", "g", "?"} <= set(keys)
    page.keyboard.press("Escape")
    expect(page.locator("#help")).to_be_hidden()

    rows = page.locator("[data-rows] tbody tr")
    for key, current in (("j", 0), ("j", 1), ("j", 2), ("k", 1)):
        page.keyboard.press(key)
        expect(rows.nth(current)).to_have_class(re.compile("current"))
        expect(rows.nth(current).locator(".main a")).to_be_focused()
    page.keyboard.press("x")
    expect(rows.nth(1).locator(".check input")).to_be_checked()
    page.keyboard.press("x")
    expect(rows.nth(1).locator(".check input")).not_to_be_checked()
    page.keyboard.press("Enter")
    expect(page.locator("#drawer-title")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#drawer-title")).to_have_count(0)
    expect(rows.nth(1).locator(".main a")).to_be_focused()
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type("jkx?")
    expect(page.get_by_role("searchbox")).to_have_value("jkx?")


def test_g_and_a_letter_leads_to_each_page_that_the_help_names(page: Page, ada: Person) -> None:
    page.goto("/memories/")
    going = page.locator("#help .keys div").filter(has_text="then")
    letters = going.locator("dt kbd").all_text_contents()[1:]
    names = (going.locator("dd").text_content() or "").split(", ")
    assert len(letters) == len(names) > 5
    for letter, name in zip(letters, names, strict=True):
        page.locator("html[data-script]").wait_for(state="attached")
        page.keyboard.press("Escape")  # out of a field that a page begins in
        page.keyboard.press("g")
        page.keyboard.press(letter)
        expect(page.locator(".rail a[aria-current]")).to_contain_text(name)


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_moves_once_it_is_drawn(page: Page, ada: Person, width: int) -> None:
    for number in range(30):
        capture.record_message(incoming(f"Plan number {number} for the harbour", author=ada))
    page.set_viewport_size({"width": width, "height": 800})
    page.add_init_script(WATCH)
    moved = {}
    for path in PAGES:
        page.goto(path)
        page.evaluate(DRAWN)
        if (much := page.evaluate("window.shifted")) >= MOST_SHIFT:
            moved[path] = (round(much, 4), page.evaluate("window.movers"))
    assert moved == {}


LONG_LISTS = ("/memories/", "/members/", "/facts/", "/documents/", "/audit/")
WORDS = "harbour lantern of the ferry and its unusually long timetable"


def fill_lists() -> None:
    """Rows whose words get longer down the list, as they do in no order at all elsewhere."""
    for number in range(30):
        name = WORDS[: 4 + number * 2].strip()
        guild = GuildFactory(name=name)
        member = MemberFactory(display_name=name)
        MessageFactory(channel=ChannelFactory(guild=guild, name=name.replace(" ", "-")), member=member)
        Fact.objects.create(
            member=member,
            namespace="ai.memory",
            text=f"Likes the {name}",
            normal=name,
            source="auto",
            audience="guild",
            guild=guild,
            said_at=START,
        )
        document = Document.objects.create(name=f"{name}.md", everywhere=False)
        document.guilds.add(guild)
        DocumentVersion.objects.create(
            document=document,
            number=1,
            name=document.name,
            stored_name="x",
            digest="1",
            size=1,
            state="failed" if number % 3 == 0 else "ready",
            error=f"{WORDS}, {WORDS}",
        )
        audit.record(
            actor=audit.COMMAND,
            action="memory.viewed",
            kind="memory",
            object_id=name[:60],
            guild=guild.discord_id,
        )


def test_nothing_moves_while_a_page_is_still_arriving(
    visitor: Page, owner: User, live_server: object
) -> None:
    fill_lists()
    moved = {}
    with slow_line(str(live_server)) as address:
        sign_in(visitor.context, owner, address)
        visitor.add_init_script(WATCH)
        for path in LONG_LISTS:
            visitor.goto(address + path)
            visitor.evaluate(DRAWN)
            if (much := visitor.evaluate("window.shifted")) >= MOST_SHIFT / 10:
                moved[path] = (round(much, 4), visitor.evaluate("window.movers"))
    assert moved == {}
