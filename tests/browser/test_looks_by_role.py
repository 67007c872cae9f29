"""Every page that a role may open, in both themes, on a desk and on a phone; and no link on it leads to a closed door."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from memory import audit
from tests.browser.test_looks import check_look
from tests.site import roles_world
from tests.site.test_roles import ROUTES, address

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

OWNERS = {"audit", "accounts", "account", "fact", "document", "reply", "block"}
"""Pages that the walk of the owner's own test does not reach with something on them."""
FILES = {"audit-export", "erasure-receipt"}
LINKS = """() => [...new Set([...document.querySelectorAll("main a[href], nav a[href]")]
  .map((a) => a.getAttribute("href")).filter((href) => href.startsWith("/")))]"""


@pytest.mark.parametrize("who", ["owner", "moderator", "privacy", "viewer"])
def test_every_page_of_a_role(visitor: Page, live_server, who: str) -> None:
    world = roles_world.build()
    for number in range(3):
        audit.record(actor=audit.admin(1), action="memory.viewed", kind="memory", object_id=str(number))
    client, page, opened = world.clients[who], visitor, set()
    page.emulate_media(reduced_motion="reduce")  # colours that fade into each other cannot be measured
    cookie = client.cookies["sessionid"].value
    page.context.add_cookies([{"name": "sessionid", "value": cookie, "url": str(live_server)}])
    for name, route in ROUTES.items():
        if (
            name in FILES
            or not route.get
            or who not in route.roles.split()
            or (who == "owner" and name not in OWNERS)
        ):
            continue
        path = address(name, world.ids)
        if name == "persona" and who == "moderator":
            path += f"?server={world.guild.discord_id}"
        response = page.goto(path)
        assert response is not None and response.status == 200, path
        for theme in ("light", "dark"):
            page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
            for width in (1280, 390):
                page.set_viewport_size({"width": width, "height": 844})
                check_look(page, f"{who}: {path}", theme, width)
        for link in page.evaluate(LINKS):
            if link not in opened:
                opened.add(link)
                assert client.get(link).status_code != 403, f"{who}: {path} links to {link}"
