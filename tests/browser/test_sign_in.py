"""Signing in and out, the first account, and the theme."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from musebot_site.dashboard import first_sign_in
from tests.browser.conftest import PASSWORD

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_the_first_link_makes_the_account_and_signs_in(visitor: Page, live_server) -> None:
    visitor.goto(first_sign_in.link(str(live_server)))
    visitor.get_by_label("Name").fill("ada")
    visitor.get_by_label("Password", exact=True).fill(PASSWORD)
    visitor.get_by_label("Password again").fill(PASSWORD)
    visitor.get_by_role("button", name="Create the account").click()
    expect(visitor.get_by_role("heading", name="Overview")).to_be_visible()
    assert User.objects.get().username == "ada"


def test_sign_in_and_out_by_keyboard(visitor: Page, owner: User) -> None:
    visitor.goto("/memories/")
    expect(visitor.get_by_label("Name")).to_be_focused()
    visitor.keyboard.type("owner")
    visitor.keyboard.press("Tab")
    visitor.keyboard.type(PASSWORD)
    visitor.keyboard.press("Enter")
    expect(visitor.get_by_role("heading", name="Memories", exact=True)).to_be_visible()
    visitor.locator("summary", has_text="owner").press("Enter")
    visitor.get_by_role("button", name="Sign out").click()
    expect(visitor.get_by_role("heading", name="Sign in")).to_be_visible()


def test_the_theme_changes_at_once_and_stays(page: Page) -> None:
    page.goto("/")
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.locator("summary", has_text="owner").click()
    page.get_by_role("button", name="Dark").click()
    after = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert before != after
    page.reload()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == after
    assert page.locator("html").get_attribute("data-theme") == "dark"
