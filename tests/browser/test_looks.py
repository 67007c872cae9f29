"""Every page in both themes, on a desk and on a phone: nothing sticks out, and text can be read."""

from __future__ import annotations

import pytest
from django.utils import timezone
from playwright.sync_api import Page

from memory import chat, consent, erasure, outbox
from memory.capture import backfill
from memory.models import Document, DocumentVersion, Guild, Message, OutboxEntry, Reply, Scan, ScanChannel
from memory.types import ChannelInfo, GuildInfo, Person, TurnRequest
from tests.factories import GuildFactory, person

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

UNREADABLE = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (color) => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data; return [r, g, b, a / 255];
  };
  const over = (top, under) => top.slice(0, 3).map((v, i) => v * top[3] + under[i] * (1 - top[3]));
  const backdrop = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) layers.push(rgba(getComputedStyle(at).backgroundColor));
    return layers.reverse().reduce((under, top) => over(top, under), [255, 255, 255]);
  };
  const light = (color) => {
    const [r, g, b] = color.map((v) => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; });
    return .2126 * r + .7152 * g + .0722 * b;
  };
  const bad = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !element.checkVisibility() || element.closest("[aria-disabled], option, noscript, .hidden, .skip")) continue;
    const under = backdrop(element), style = getComputedStyle(element);
    const over_ = over(rgba(style.color), under);
    const [a, b] = [light(under), light(over_)].sort((x, y) => y - x);
    const ratio = (a + .05) / (b + .05);
    if (ratio < 4.5) bad.push(`${ratio.toFixed(2)} ${element.tagName}.${element.className}: ${walker.currentNode.textContent.trim().slice(0, 40)}`);
  }
  return bad;
}"""

BROKEN_WORDS = """() => {
  const bad = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, text = node.textContent, element = node.parentElement;
    if (!element.checkVisibility() || element.closest("pre, code, textarea, option, noscript, .hidden")) continue;
    for (const word of text.matchAll(/(?<![^\\s(“])\\p{L}{2,14}(?![^\\s),.;:!?…”])/gu)) {
      const range = document.createRange();
      range.setStart(node, word.index); range.setEnd(node, word.index + word[0].length);
      const lines = new Set([...range.getClientRects()].filter((one) => one.width).map((one) => Math.round(one.top)));
      if (lines.size > 1) bad.push(`${element.tagName}.${element.className}: ${word[0]}`);
    }
  }
  return bad;
}"""
OUT_OF_SIGHT = """() => [...document.querySelectorAll(".rail [aria-current], .tabs [aria-current]")]
  .filter((one) => { const { left, right } = one.getBoundingClientRect(); return left < 0 || right > innerWidth; })
  .map((one) => one.textContent)"""


def scan_of(someone: Person, server: Guild) -> Scan:
    """A history that is being read, one channel of which may not be."""
    [scan] = backfill.request(user_id=someone.id, guilds=[GuildInfo(server.discord_id, server.name)])
    Scan.objects.filter(pk=scan.pk).update(state="running", scanned=1200, stored=340, active_seconds=60)
    for number, state in enumerate(("done", "waiting", "unreadable")):
        ScanChannel.objects.create(
            scan=scan, guild=server, channel_id=number, name=state, state=state, due_at=timezone.now()
        )
    outbox.enqueue("embed", [row.key for row in Message.objects.all()])
    OutboxEntry.objects.filter(pk=OutboxEntry.objects.latest("pk").pk).update(
        state="failed", error="The model refused it.", attempts=5
    )
    return scan


@pytest.fixture
def paths(ada: Person) -> list[str]:
    row = Message.objects.select_related("guild").first()
    chat.answer(
        TurnRequest(
            question="When does the ferry sail?",
            asker=ada,
            guild=GuildInfo(row.guild.discord_id),
            channel=ChannelInfo(row.channel_id),
            operator=True,
        )
    )
    ben = person("ben")
    consent.give(person=ben, origin="discord")
    done = erasure.request(user_id=ben.id, origin="admin")
    erasure.run(done.id)
    Message.objects.filter(key=row.key).update(embedding="failed")
    GuildFactory(
        name="A community with quite a long name – friends of the harbour, the lighthouse and the sea"
    )
    document = Document.objects.create(
        name="a_file_name_without_any_space_that_is_longer_than_a_phone_is_wide.pdf"
    )
    DocumentVersion.objects.create(
        document=document,
        number=1,
        name=document.name,
        state="failed",
        stored_name="x",
        digest="1",
        size=1,
        error="The PDF is damaged or too complex, and nothing of it could be read.",
    )
    return [
        "/?check=1",
        "/memories/",
        "/memories/?source=live&member=ada&since=2026-01-01",
        "/memories/?q=xylophone",
        f"/memories/{row.key}/",
        "/members/",
        f"/members/{ada.id}/",
        f"/members/{ada.id}/erase/",
        "/core-memory/",
        "/core-memory/persona/",
        "/core-memory/preview/?member=ada",
        "/servers/",
        f"/servers/{row.guild.discord_id}/",
        f"/servers/{row.guild.discord_id}/channels/{row.channel_id}/",
        "/settings/",
        "/settings/health/",
        "/settings/embedding/",
        "/settings/retention/",
        "/settings/keys/",
        "/jobs/",
        f"/jobs/scans/{scan_of(ada, row.guild).pk}/",
        "/erasures/",
        f"/erasures/{done.id}/",
        "/playground/",
        "/playground/?guild=1",
        "/playground/compare/",
        "/documents/",
        "/audit/",
        "/accounts/",
        "/replies/",
        f"/replies/{Reply.objects.get().id}/",
    ]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_every_page(page: Page, paths: list[str], theme: str, width: int, live_server) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    page.context.add_cookies([{"name": "theme", "value": theme, "url": str(live_server)}])
    for path in paths:
        response = page.goto(path)
        assert response is not None and response.status == 200, path
        check_look(page, path, theme, width)
        assert page.evaluate(OUT_OF_SIGHT) == [], (path, width)


def check_look(page: Page, path: str, theme: str, width: int) -> None:
    """What holds for the page that is open, as it is now."""
    assert page.evaluate("document.documentElement.scrollWidth") <= width, path
    assert page.evaluate(UNREADABLE) == [], (path, theme)
    assert page.evaluate(BROKEN_WORDS) == [], (path, width)
    unlabelled = page.evaluate(
        "[...document.querySelectorAll('input:not([type=hidden]), select, textarea, button, a')]"
        ".filter((e) => e.checkVisibility() && !(e.labels?.length || e.getAttribute('aria-label') || e.textContent.trim()"
        " || e.querySelector('[aria-label]'))).map((e) => e.outerHTML.slice(0, 120))"
    )
    assert unlabelled == [], path
    assert page.locator("h1").count() == 1, path


def test_pages_and_assets_stay_small(page: Page, paths: list[str]) -> None:
    assets: dict[str, int] = {}

    def weigh(response) -> None:
        if "/static/" in response.url:
            assets[response.url] = len(response.body())

    page.on("response", weigh)
    for path in paths:
        response = page.goto(path, wait_until="networkidle")
        assert len(response.body()) < 60_000, path
    assert sum(assets.values()) < 150_000, assets
    assert all(url.startswith(page.url.split("/", 3)[0]) for url in assets)
