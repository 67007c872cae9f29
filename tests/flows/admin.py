"""An admin in front of the dashboard of a running installation."""

from __future__ import annotations

import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Page, sync_playwright

from tests.browser.conftest import ARGUMENTS, PASSWORD, find_chromium
from tests.flows.stack import Stack


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def start_dashboard(stack: Stack) -> str:
    """Starts the web process, and returns its address once it answers."""
    port = free_port()
    stack.start("web", "manage.py", "serve", "--port", str(port))
    base = f"http://127.0.0.1:{port}"
    stack.wait(lambda: _answers(f"{base}/healthz"), what="the dashboard answered")
    return base


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as response:
            return bool(response.status == 200)
    except (urllib.error.URLError, OSError):
        return False


@contextmanager
def admin_at(stack: Stack, base: str) -> Iterator[Page]:
    """Chromium, signed in for the first time by the link that ``up`` prints."""
    link = stack.ask_django(
        f"from musebot_site.dashboard import first_sign_in\nanswer = first_sign_in.link({base!r})"
    )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=ARGUMENTS)
        page = browser.new_context(base_url=base).new_page()
        page.set_default_timeout(20_000)
        page.goto(link)
        page.get_by_label("Name").fill("owner")
        for field in page.locator("input[type=password]").all():
            field.fill(PASSWORD)
        page.get_by_role("button", name="Create the account").click()
        page.wait_for_url(f"{base}/")
        yield page
        browser.close()


def erase_member(page: Page, *, shown_as: str, typed: str) -> None:
    """Finds a member and erases them, as the dashboard asks for it; returns when the receipt says that nothing is left."""
    page.goto("/members/")
    page.get_by_role("link", name=shown_as).first.click()
    page.get_by_role("link", name="Erase…").click()
    page.get_by_label(f"Type {typed} to confirm").fill(typed)
    page.get_by_role("button", name=f"Erase {shown_as}").click()
    page.get_by_text("nothing is left").wait_for(timeout=60_000)
