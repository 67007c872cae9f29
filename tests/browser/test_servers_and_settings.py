"""Servers and settings in the browser: several channels at once, the question what becomes of what is stored, tests of connections."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page, expect

from memory.models import ApiKey, Channel, Guild, Message
from memory.types import Person
from tests.browser.conftest import sign_in
from tests.factories import ChannelFactory

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def harbour(ada: Person) -> Guild:
    """A server with a channel that four memories are of, and two that are empty."""
    guild = Guild.objects.get()
    for name in ("pilots", "tides"):
        ChannelFactory(guild=guild, name=name)
    return guild


def test_several_channels_and_what_is_stored_of_them(page: Page, harbour: Guild) -> None:
    page.goto(f"/servers/{harbour.discord_id}/")
    bar = page.get_by_role("region", name="Change the selected channels")
    expect(bar).to_be_hidden()
    page.get_by_label("Select all on this page").check()
    expect(bar.get_by_text("3 selected")).to_be_visible()
    page.get_by_label("Select #tides").uncheck()
    expect(bar.get_by_text("2 selected")).to_be_visible()
    bar.get_by_label("Remember").select_option("Off")
    bar.get_by_role("button", name="Change them").click()
    expect(page.get_by_text("2 channels were changed")).to_be_visible()
    off = dict(Channel.objects.values_list("name", "capture_enabled"))
    assert off == {"general": False, "pilots": False, "tides": None}
    page.get_by_role("button", name="Erase what is stored from #general").click()
    page.get_by_label("Type 4 to confirm").fill("4")
    page.get_by_role("button", name="Erase 4 memories").click()
    expect(page.get_by_text("Erased 4 memories.")).to_be_visible()
    assert not Message.objects.exists()


def test_a_channel_by_keyboard(page: Page, harbour: Guild) -> None:
    page.goto(f"/servers/{harbour.discord_id}/")
    page.keyboard.press("/")
    page.keyboard.type("pil")
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="#tides")).to_be_hidden()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="#pilots")).to_be_visible()
    page.get_by_label("Recalled in answers").select_option("Nothing")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("The policies of #pilots are saved.")).to_be_visible()
    assert Channel.objects.get(name="pilots").recalls == "nothing"


def test_without_javascript(chromium: Browser, owner: object, live_server: object, harbour: Guild) -> None:
    context = chromium.new_context(base_url=str(live_server), java_script_enabled=False)
    sign_in(context, owner, live_server)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto("/servers/")
    page.get_by_role("link", name="Harbour").click()
    page.get_by_label("Select #pilots").check()
    bar = page.get_by_role("region", name="Change the selected channels")
    bar.get_by_label("all 3 of the server").check()
    bar.get_by_label("Reply").select_option("Off")
    bar.get_by_role("button", name="Change them").click()
    expect(page.get_by_text("3 channels were changed")).to_be_visible()
    assert set(Channel.objects.values_list("reply_enabled", flat=True)) == {False}
    page.get_by_label("Days kept in any case").fill("7")
    page.get_by_role("button", name="Save how long").click()
    expect(page.get_by_role("heading", name="Purge 4 memories of Harbour?")).to_be_visible()
    page.get_by_label("Type 4 to confirm").fill("4")
    page.get_by_role("button", name="Save, and purge 4 memories").click()
    assert Guild.objects.get().max_age_days == 7
    page.goto("/settings/health/")
    page.get_by_role("button", name="Test Database").click()
    expect(page.get_by_text("Database: Reads and writes.")).to_be_visible()
    context.close()


def test_settings_are_searched_and_connections_tested_in_place(page: Page, owner: object) -> None:
    page.goto("/settings/")
    page.keyboard.press("/")
    page.keyboard.type("OLLAMA_HOSTS")
    expect(page.get_by_text("System prompt")).to_be_hidden()
    expect(page.get_by_text("Ollama hosts")).to_be_visible()
    page.get_by_role("link", name="Health").click()
    row = page.locator("#connection-database")
    row.get_by_role("button", name="Test Database").click()
    expect(row.get_by_text("Reads and writes")).to_be_visible()
    expect(page.locator("#connection-chat").get_by_text("not tested yet")).to_be_visible()
    page.get_by_role("link", name="API keys").click()
    page.get_by_label("What it is for").fill("Backups")
    page.get_by_role("button", name="Make the key").click()
    expect(page.get_by_text("it is not shown again")).to_be_visible()
    page.get_by_label("Revoke Backups…").click()
    page.get_by_role("button", name="Revoke Backups", exact=True).click()
    expect(page.get_by_text("is revoked")).to_be_visible()
    assert ApiKey.objects.get().revoked_at is not None
