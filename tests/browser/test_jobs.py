"""Jobs in the browser: the page that keeps itself current, by keyboard, and without JavaScript."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from memory.models import Guild, OutboxEntry, Scan
from memory.types import Person
from tests.browser.conftest import sign_in
from tests.browser.test_looks import scan_of

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def scan(ada: Person) -> Scan:
    return scan_of(ada, Guild.objects.get())


def test_it_polls_while_something_runs_and_waits_while_somebody_decides(page: Page, scan: Scan) -> None:
    page.goto("/jobs/")
    expect(page.get_by_text("1,200 messages seen")).to_be_visible()
    Scan.objects.update(scanned=1300)
    expect(page.get_by_text("1,300 messages seen")).to_be_visible()
    page.get_by_label("Cancel Reading history…").click()
    Scan.objects.update(scanned=1400)
    page.wait_for_timeout(3000)  # longer than the page waits between two looks
    page.get_by_role("button", name="Stop reading").click()
    expect(page.get_by_text("Reading was cancelled")).to_be_visible()
    assert Scan.objects.get().state == "cancelled"
    OutboxEntry.objects.all().delete()
    expect(page.get_by_role("heading", name="Nothing to do")).to_be_visible()
    assert page.locator("#jobs").get_attribute("hx-trigger") is None


def test_by_keyboard_alone(page: Page, scan: Scan) -> None:
    page.goto("/")
    page.keyboard.press("g")
    page.keyboard.press("w")
    expect(page.get_by_role("heading", name="Jobs")).to_be_visible()
    pause = page.get_by_label("Pause Reading history")
    pause.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Reading is paused")).to_be_visible()
    assert Scan.objects.get().state == "paused"
    page.get_by_label("Go on with Reading history").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Reading goes on")).to_be_visible()


def test_without_javascript(chromium, owner, live_server, scan: Scan) -> None:
    context = chromium.new_context(base_url=str(live_server), java_script_enabled=False)
    sign_in(context, owner, live_server)
    page = context.new_page()
    page.goto("/jobs/")
    page.get_by_label("Pause Reading history").click()
    expect(page.get_by_text("Reading is paused")).to_be_visible()
    page.get_by_label("Cancel Reading history…").click()
    page.get_by_role("button", name="Stop reading").click()
    assert Scan.objects.get().state == "cancelled"
    context.close()
