"""Chromium on the dashboard, and a person in front of it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, sync_playwright

from memory import capture, consent
from memory.types import Person
from tests.factories import incoming, person

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
PASSWORD = "a-long-enough-password"
SAID = (
    "The ferry to the island sails at noon.",
    "Bread needs salt, flour and patience.",
    "The lighthouse lamp was replaced on Friday.",
    "Nobody has seen the grey dinghy since the storm.",
)


def find_chromium() -> str | None:
    """A Chromium that is installed, or None for the one that Playwright brought."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if path := shutil.which(name):
            return path
    return None


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """One browser for a module: its event loop must not live on beside the asynchronous tests of another."""
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as playwright:
        # Playwright's loop runs in this thread, which makes Django think that queries here are asynchronous.
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        path = find_chromium()
        if path is None and not Path(playwright.chromium.executable_path).exists():
            pytest.skip("no Chromium is installed")
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def complaints() -> Iterator[list[str]]:
    """What the console said against the page: errors, warnings, and violations of the policy. Must stay empty."""
    found: list[str] = []
    yield found
    assert not found


@pytest.fixture
def owner(live_server: object) -> User:
    cache.clear()
    return User.objects.create_superuser("owner", password=PASSWORD)


def watch(page: Page, complaints: list[str]) -> Page:
    def note(message: ConsoleMessage) -> None:
        # A form that was refused answers 422, which Chromium notes as a resource that failed.
        if message.type in {"error", "warning"} and "status of 422" not in message.text:
            complaints.append(message.text)

    page.on("console", note)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.set_default_timeout(15_000)
    return page


@pytest.fixture
def visitor(chromium: Browser, live_server: object, complaints: list[str]) -> Iterator[Page]:
    """A page of somebody who has not signed in."""
    context = chromium.new_context(base_url=str(live_server), viewport={"width": 1280, "height": 800})
    yield watch(context.new_page(), complaints)
    context.close()


def sign_in(context: BrowserContext, owner: User, live_server: object) -> None:
    """Without the form: by a session of theirs."""
    from django.test import Client

    client = Client()
    client.force_login(owner)
    context.add_cookies(
        [{"name": "sessionid", "value": client.cookies["sessionid"].value, "url": str(live_server)}]
    )


@pytest.fixture
def page(visitor: Page, owner: User, live_server: object) -> Page:
    """A page of the owner."""
    sign_in(visitor.context, owner, live_server)
    return visitor


@pytest.fixture
def ada(owner: User) -> Person:
    """A member who has said a few things."""
    ada = person("ada")
    consent.give(person=ada, origin="discord")
    for text in SAID:
        capture.record_message(incoming(text, author=ada))
    return ada
