"""Every page that can be opened, looked at by axe-core in both themes: nothing serious or critical."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from django.test import Client
from django.urls import reverse
from playwright.sync_api import BrowserContext, Page

from memory import consent
from memory.models import Member
from memory.types import Person
from musebot_site.dashboard import account_urls
from musebot_site.members import urls as own_urls
from tests.site import roles_world
from tests.site.own_support import signed_in
from tests.site.roles_world import World
from tests.site.test_roles import ROUTES, address

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

FILES = {"audit-export", "erasure-receipt"}
"""Routes of the dashboard that answer with a file in place of a page."""
MORE = (
    "/memories/?q=nothing-is-like-this",
    "/memories/?source=live&since=2026-01-01",
    "/facts/?tab=contradictions",
    "/no-such-page/",
)
"""States of pages that the routes alone do not show."""
OPEN_UP = "document.querySelectorAll('details:not([data-menu])').forEach((one) => { one.open = true; })"
LOOK = """async (only) => {
  const options = { resultTypes: ["violations"], preload: false, iframes: false, ...(only ? { runOnly: only } : {}) };
  const { violations } = await axe.run(document, options);
  return violations.filter((one) => ["serious", "critical"].includes(one.impact)).flatMap(
    (one) => one.nodes.map((node) => `${one.id}: ${node.html.slice(0, 140)}: ${node.any[0]?.message ?? one.help}`));
}"""


@pytest.fixture
def world() -> World:
    return roles_world.build()


def enter(context: BrowserContext, client: Client, live_server: object) -> None:
    """As the person whose client it is."""
    context.clear_cookies()
    context.add_cookies(
        [{"name": "sessionid", "value": client.cookies["sessionid"].value, "url": str(live_server)}]
    )


def check(page: Page, paths: Iterable[str]) -> list[str]:
    """What axe-core holds against these pages; the second theme is another look at the same page, at its colours."""
    page.emulate_media(reduced_motion="reduce")  # colours that fade into each other cannot be measured
    found: list[str] = []
    for path in paths:
        response = page.goto(path)
        assert response is not None and response.status in {200, 404}, path
        assert response.headers["content-type"].startswith("text/html"), path
        page.evaluate(OPEN_UP)
        page.evaluate(AXE_SCRIPT)
        for theme in ("light", "dark"):
            page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
            found += [
                f"{path} ({theme}): {one}"
                for one in page.evaluate(LOOK, None if theme == "light" else ["color-contrast"])
            ]
    return found


def of_the_owner(world: World) -> Iterator[str]:
    for name, route in ROUTES.items():
        if route.get and name not in FILES and "owner" in route.roles.split():
            yield address(name, world.ids)
    yield from pages_of(account_urls, world, world.clients["owner"])
    yield from MORE


def pages_of(routes: ModuleType, world: World, client: Client) -> Iterator[str]:
    """Those of other routes that answer with a page: some only take what is sent to them, or answer with a file."""
    for pattern in routes.urlpatterns:
        kwargs = {one: world.ids[one] for one in pattern.pattern.converters}
        path = reverse(f"{routes.app_name}:{pattern.name}", kwargs=kwargs)
        answer = client.get(path)
        if answer.status_code == 200 and answer.headers["Content-Type"].startswith("text/html"):
            yield path


def person_of(world: World) -> Person:
    row = Member.objects.get(user_id=world.ids["user_id"])
    someone = Person(id=row.user_id, username=row.username, display_name=row.display_name)
    consent.give(person=someone, origin="discord")
    return someone


@pytest.fixture
def bystander(chromium: Any, live_server: object) -> Iterator[Page]:
    """A page whose console nobody watches: a page that is not there is an error in it."""
    context = chromium.new_context(base_url=str(live_server), viewport={"width": 1280, "height": 800})
    yield context.new_page()
    context.close()


def test_no_page_keeps_anybody_out(bystander: Page, world: World, live_server: object) -> None:
    owner, member = world.clients["owner"], signed_in(person_of(world), servers=[world.guild.discord_id])
    own = list(pages_of(own_urls, world, member))
    assert {"/me/", "/me/withdraw/", f"/sources/{world.ids['document_id']}/"} <= set(own)
    problems = check(bystander, ["/sign-in/", "/sign-in/discord/"])
    enter(bystander.context, owner, live_server)
    problems += check(bystander, of_the_owner(world))
    enter(bystander.context, member, live_server)
    problems += check(bystander, own)
    assert not problems, "\n".join(problems)


def test_what_opens_over_a_page(page: Page) -> None:
    page.goto("/memories/")
    page.evaluate(AXE_SCRIPT)
    page.locator("details[data-menu] > summary").click()
    assert page.evaluate(LOOK, None) == []
    page.get_by_role("button", name="Keyboard shortcuts").click()
    assert page.evaluate(LOOK, None) == []
