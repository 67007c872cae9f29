"""Memories in the browser: the keyboard, the drawer, selecting, searching."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from memory.models import Message
from memory.types import Person
from tests.browser.conftest import SAID

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_by_keyboard_alone(page: Page, ada: Person) -> None:
    page.goto("/memories/")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("x")
    expect(page.get_by_text("1 selected")).to_be_visible()
    page.keyboard.press("x")
    expect(page.get_by_text("1 selected")).to_be_hidden()
    page.keyboard.press("Enter")
    drawer = page.locator("#drawer")
    expect(drawer.get_by_role("heading", name="Memory")).to_be_focused()
    expect(drawer).to_contain_text(SAID[-1])
    expect(page).to_have_url(re.compile(r"/memories/\d+/"))
    page.keyboard.press("Escape")
    expect(drawer).to_be_hidden()
    expect(page).to_have_url(re.compile(r"/memories/(\?.*)?$"))
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.get_by_role("heading", name="Keyboard shortcuts")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("heading", name="Keyboard shortcuts")).to_be_hidden()


def test_search_as_one_types_and_go_back(page: Page, ada: Person) -> None:
    page.goto("/memories/")
    page.get_by_role("searchbox").fill("ferry")
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page).to_have_url(re.compile("q=ferry"))
    page.locator("tbody tr .main a").click()
    expect(page.locator("#drawer")).to_contain_text("Score for")
    page.go_back()
    expect(page.locator("#drawer")).to_be_hidden()
    expect(page.locator("tbody tr")).to_have_count(1)


def test_filters_show_how_many_are_active(page: Page, ada: Person) -> None:
    page.goto("/memories/")
    page.locator("summary", has_text="Filters").click()
    page.get_by_label("Source").select_option("import")
    expect(page.get_by_role("heading", name="Nothing matches")).to_be_visible()
    expect(page.locator("#filter-count")).to_have_text("1")
    page.get_by_role("link", name="Clear filters").first.click()
    expect(page.locator("tbody tr")).to_have_count(4)


def test_erase_the_selected(page: Page, ada: Person) -> None:
    page.goto("/memories/")
    page.locator("tbody input[type=checkbox]").nth(0).check()
    page.locator("tbody input[type=checkbox]").nth(1).check()
    expect(page.get_by_text("2 selected")).to_be_visible()
    page.get_by_role("button", name="Erase…").click()
    page.get_by_role("button", name="Erase 2 memories").click()
    expect(page.get_by_text("Erased 2 memories")).to_be_visible()
    assert Message.objects.count() == 2


def test_erase_all_that_match(page: Page, ada: Person) -> None:
    page.goto("/memories/")
    page.get_by_label("Select all on this page").check()
    expect(page.get_by_text("4 selected")).to_be_visible()
    page.get_by_role("button", name="Select all that match").click()
    expect(page.get_by_text("All 4 that match")).to_be_visible()
    page.get_by_role("button", name="Erase…").click()
    page.get_by_label("Type 4 to confirm").fill("4")
    page.get_by_role("button", name="Erase 4 memories").click()
    expect(page.get_by_role("heading", name="Nothing is remembered yet")).to_be_visible()
    assert not Message.objects.exists()


def test_erase_one_in_the_drawer(page: Page, ada: Person) -> None:
    page.goto("/memories/")
    page.locator("tbody tr .main a").first.click()
    page.locator("#drawer summary").click()
    page.get_by_role("button", name="Erase this memory").click()
    expect(page.get_by_text("Erased 1 memory")).to_be_visible()
    assert Message.objects.count() == 3


def test_without_javascript_all_of_it_works(chromium, owner, live_server, ada: Person) -> None:
    from tests.browser.conftest import sign_in

    context = chromium.new_context(base_url=str(live_server), java_script_enabled=False)
    sign_in(context, owner, live_server)
    page = context.new_page()
    page.goto("/memories/")
    page.get_by_role("searchbox").fill("ferry")
    page.get_by_role("button", name="Search").click()
    expect(page.locator("tbody tr")).to_have_count(1)
    page.locator("tbody tr .main a").click()
    expect(page.locator("#drawer")).to_contain_text("ferry")
    page.get_by_role("link", name="Close").click()
    page.locator("tbody input[type=checkbox]").check()
    page.get_by_role("button", name="Erase…").click()
    page.get_by_role("button", name="Erase 1 memory").click()
    assert Message.objects.count() == 3
    context.close()
