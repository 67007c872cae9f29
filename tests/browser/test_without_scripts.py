"""With JavaScript off: lists, search, filters, paging, one thing in full, and erasing it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Browser, Page, expect

from memory import capture
from memory.models import Message
from memory.types import Person
from musebot_site.dashboard.views.memories import PAGE_SIZE
from tests.browser.conftest import SAID, sign_in
from tests.factories import incoming

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

LISTS = (
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
    "/audit/",
    "/accounts/",
    "/settings/",
    "/playground/",
)


@pytest.fixture
def plain(chromium: Browser, owner: User, live_server: object) -> Iterator[Page]:
    """A page of the owner in a browser that runs no scripts."""
    context = chromium.new_context(base_url=str(live_server), java_script_enabled=False)
    sign_in(context, owner, live_server)
    page = context.new_page()
    page.set_default_timeout(15_000)
    yield page
    context.close()


def test_every_list_can_be_read_and_left_again(plain: Page, ada: Person) -> None:
    for path in LISTS:
        response = plain.goto(path)
        assert response is not None and response.status == 200, path
        expect(plain.locator("h1")).to_be_visible()
        expect(
            plain.get_by_role("navigation", name="Pages").get_by_role("link", name="Overview")
        ).to_be_visible()
        assert not plain.locator(".only-script:visible").count(), f"{path} offers what only a script does"


def test_searching_filtering_paging_and_erasing(plain: Page, ada: Person) -> None:
    for number in range(PAGE_SIZE + 6):
        capture.record_message(incoming(f"Plan number {number} for the harbour", author=ada))
    plain.goto("/memories/")
    rows = plain.locator("tbody tr")
    expect(rows).to_have_count(PAGE_SIZE)
    plain.get_by_role("link", name="Older").click()
    expect(rows).to_have_count(10)

    search = plain.get_by_role("main").get_by_role("searchbox")
    search.fill("ferry")
    search.press("Enter")
    expect(plain).to_have_url(re.compile("q=ferry"))
    expect(plain.locator("tbody")).to_contain_text(SAID[0])

    plain.goto("/memories/")
    plain.locator("summary", has_text="Filters").click()
    plain.get_by_label("Source").select_option("import")
    plain.get_by_role("button", name="Apply").click()
    expect(plain.get_by_role("heading", name="Nothing matches")).to_be_visible()
    plain.get_by_role("link", name="Clear filters").first.click()
    expect(rows).to_have_count(PAGE_SIZE)

    shown = rows.first.locator(".main a")
    said = shown.inner_text()
    shown.click()
    expect(plain.get_by_role("heading", name="Memory", exact=True)).to_be_visible()
    expect(plain.locator("#drawer")).to_contain_text(said)
    plain.locator("#drawer summary", has_text="Erase").click()
    plain.locator("#drawer").get_by_role("button", name=re.compile("^Erase")).click()
    expect(plain.get_by_role("status")).to_contain_text("Erased 1 memory")
    assert Message.objects.count() == PAGE_SIZE + 9 and not Message.objects.filter(text=said).exists()
