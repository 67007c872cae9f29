"""Whatever people call themselves or write, no page of the dashboard makes markup or code of it, in text, attributes and pictures."""

from __future__ import annotations

from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit

import pytest

from memory import access, blocks, capture, chat, consent, facts
from memory.models import Channel, Guild, Member, Message, OutboxEntry, Reply
from memory.rag import documents
from memory.types import AttachmentInfo, ChannelInfo, GuildInfo, Person, TurnRequest
from tests.factories import incoming, snowflake

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("documents_folder")]

PAYLOAD = (
    "\"'><img src=x onerror=alert(1)><svg/onload=alert(2)></title></textarea><script>alert(3)</script>"
    "{{7*7}}{% now 'Y' %}<a href=javascript:alert(4)>x</a><style>*{display:none}</style>"
)
MOST_PAGES = 140
KNOWN = {"/sign-out/"}


class Markup(HTMLParser):
    """What a browser would make of a page: its elements with their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.wrong: list[str] = []
        self.scripts = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        for name, value in attrs:
            plain = "".join((value or "").split()).lower()
            if (
                name.startswith("on")
                or name == "style"
                or plain.startswith(("javascript:", "data:text", "vbscript:"))
            ):
                self.wrong.append(f"<{tag} {name}={value}>")
        if tag == "script" and not given.get("src"):
            self.wrong.append("<script> without src")
        if tag in {"style", "iframe", "object", "embed", "base"} or (
            tag == "img" and given.get("src") == "x"
        ):
            self.wrong.append(f"<{tag}>")
        if tag == "a" and given.get("href"):
            self.links.append(given["href"] or "")


@pytest.fixture
def hostile(documents_folder: object) -> None:
    """A community in which everything that somebody can name or write is the payload."""
    eve = Person(snowflake(), PAYLOAD[:60], PAYLOAD[:120], roles=((snowflake(), PAYLOAD[:50]),))
    guild = GuildInfo(snowflake(), PAYLOAD[:90])
    channel = ChannelInfo(snowflake(), PAYLOAD[:90], topic=PAYLOAD)
    consent.give(person=eve, origin="discord", guild=guild)
    for text in (PAYLOAD, f"When does {PAYLOAD} sail?"):
        picture = AttachmentInfo(snowflake(), PAYLOAD[:80], "https://cdn.example/x", "image/png", 3)
        capture.record_message(
            incoming(text, author=eve, guild=guild, channel=channel, attachments=(picture,))
        )
    Message.objects.update(captions=PAYLOAD)
    Guild.objects.filter(discord_id=guild.id).update(name=PAYLOAD[:90])
    Channel.objects.update(name=PAYLOAD[:90], topic=PAYLOAD)
    Member.objects.update(username=PAYLOAD[:60], display_name=PAYLOAD[:120])
    facts.add(user_id=eve.id, text="Likes " + PAYLOAD[:150])
    actor = blocks.Actor("model", eve.id, reason=PAYLOAD, consent=consent.find(eve.id))
    blocks.append(blocks.human(eve.id), PAYLOAD, actor=actor)
    blocks.append(blocks.human(eve.id), PAYLOAD, actor=actor)
    blocks.append(blocks.working_context(channel.id), PAYLOAD, actor=actor)
    blocks.edit(blocks.persona(), PAYLOAD, version=0, actor=blocks.Actor("admin", 1, reason=PAYLOAD))
    documents.upload(name=PAYLOAD.replace("/", "") + ".md", data=f"# {PAYLOAD}\n\n{PAYLOAD}\n".encode())
    chat.answer(TurnRequest(f"{PAYLOAD} sail?", eve, guild, channel, operator=True))
    Reply.objects.update(model=PAYLOAD, host=PAYLOAD, question=Message.objects.first())
    OutboxEntry.objects.update(state="failed", error=PAYLOAD, error_code="error")


def test_no_page_makes_markup_of_it(staff, hostile) -> None:
    waiting, seen, pages = ["/", "/playground/?guild=", "/account/"], set(), 0
    while waiting and pages < MOST_PAGES:
        address = waiting.pop(0)
        parts = urlsplit(address)
        kind = "".join("0" if one.isdigit() else one for one in parts.path)
        # Of lists that lead to many rows, a few of each kind tell.
        if (
            address in seen
            or parts.path in KNOWN
            or sum(one[0] == kind for one in seen if isinstance(one, tuple)) > 4
        ):
            continue
        seen |= {address, (kind, address)}
        response = staff.get(address)
        if not response.headers.get("Content-Type", "").startswith("text/html"):
            continue
        pages += 1
        body = response.content.decode()
        assert response.status_code < 500, address
        found = Markup()
        found.feed(body)
        assert not found.wrong, (address, found.wrong[:3])
        assert PAYLOAD not in body and "<img src=x" not in body and "49{%" not in body, address
        policy = response.headers.get("Content-Security-Policy", "")
        assert "'unsafe-inline'" not in policy and "script-src" in policy or "default-src" in policy, address
        for link in found.links:
            target = urlsplit(urljoin(address, link))
            if not target.netloc and target.path.startswith("/") and not target.path.startswith("/api/"):
                waiting.append(f"{target.path}?{target.query}" if target.query else target.path)
    kinds = {one[0] for one in seen if isinstance(one, tuple)}
    for needed in (
        "/members/0",
        "/memories/0",
        "/documents/0",
        "/replies/",
        "/core-memory/0",
        "/facts/",
        "/servers/",
    ):
        assert any(kind.startswith(needed) for kind in kinds), (needed, sorted(kinds))


def test_the_payload_is_there_to_be_escaped(staff, hostile) -> None:
    """The test above would pass on empty pages as well."""
    for path in ("/memories/", "/members/", "/facts/", "/core-memory/", "/documents/", "/replies/"):
        assert "alert(1)" in staff.get(path).content.decode(), path


def test_names_of_downloads_hold_no_header(staff, hostile) -> None:
    eve = Member.objects.get()
    key = access.make_key(name="test")[1]
    response = staff.get(f"/api/v1/members/{eve.user_id}/export", headers={"Authorization": f"Bearer {key}"})
    assert response.headers["Content-Disposition"] == f'attachment; filename="musebot-{eve.user_id}.json"'
    assert response.headers["X-Content-Type-Options"] == "nosniff"
