"""What a page weighs: its HTML with full lists, and everything that it needs beside that on a cold cache, as it is really sent."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable
from urllib.parse import urljoin

import pytest
from django.test import Client

from memory import access, audit
from memory.chat.traces import MAX_LEFT_OUT
from memory.models import (
    BlockRevision,
    Document,
    DocumentVersion,
    ErasureRequest,
    Fact,
    MemoryBlock,
    Message,
    Reply,
    ReplyMemory,
    Scan,
    ScanChannel,
    Scope,
)
from memory.types import Person
from tests.factories import START, ChannelFactory, GuildFactory, MemberFactory, MessageFactory
from tests.site import roles_world
from tests.site.own_support import signed_in
from tests.site.roles_world import World
from tests.site.test_roles import ROUTES, address

pytestmark = pytest.mark.django_db

ROWS = 60
"""More than a page of any list but the audit's holds."""
INJECTED = 24
"""Memories that an answer leans on."""
SAID = (
    "We met at the harbour on Saturday, and the ferry to the island was late again because of the fog; "
    "Nora brought bread, salt and the old lamp from the lighthouse, so nobody minded the wait."
)
MOST_HTML, MOST_ASSETS = 60_000, 150_000
FILES = {"audit-export", "erasure-receipt"}
ASSET = re.compile(
    r'<(?:link|script|img|use|source|iframe|object|embed)\b[^>]*?\b(?:href|src|data)="([^"#]+)'
)
IMPORT = re.compile(r'^import\b[^"\']*["\']([^"\']+)["\']', re.MULTILINE)
URL = re.compile(r'url\(\s*["\']?([^"\')]+)|@import\s+["\']([^"\']+)')


@pytest.fixture
def world() -> World:
    """With everything that lists show many times over, as long as people write and call things."""
    world = roles_world.build()
    channel = Message.objects.get(key=world.ids["key"]).channel
    for number in range(20):
        GuildFactory(name=f"The harbour town's book club {number}")
    for number in range(ROWS):
        ChannelFactory(guild=world.guild, name=f"plans-for-the-summer-{number}")
        member = MemberFactory(display_name=f"Somebody with a long name {number}")
        message = MessageFactory(channel=channel, member=member, text=f"{SAID} {number}")
        _about(world, message, number)
    for number in range(120):
        audit.record(actor=audit.admin(1), action="memory.viewed", kind="memory", object_id=str(number))
    for number in range(15):
        access.make_key(name=f"The script of the archive {number}")
    return world


def _about(world: World, message: Message, number: int) -> None:
    Fact.objects.create(
        member=message.member,
        namespace="ai.memory",
        text=f"Goes to the island with the ferry on Saturdays, and brings bread ({number})",
        normal=str(number),
        source="auto",
        evidence=message,
        audience="guild",
        guild=world.guild,
        said_at=START,
    )
    reply = Reply.objects.create(
        guild=world.guild,
        channel_id=message.channel_id,
        asker_id=message.author_id,
        question=message,
        answer=message,
        kind="model",
        state="done",
        model="llama3.2:3b",
    )
    if number < INJECTED + MAX_LEFT_OUT:
        ReplyMemory.objects.create(
            reply_id=world.ids["trace_id"],
            message=message,
            rank=number + 2,
            score=0.5,
            injected=number < INJECTED,
        )
    ReplyMemory.objects.create(reply=reply, message=message, rank=1, score=1.0)
    block = MemoryBlock.objects.create(
        scope=Scope.USER,
        scope_key=message.author_id,
        label="human",
        value=SAID,
        limit=4000,
        version=1,
        member=message.member,
    )
    BlockRevision.objects.create(block=block, version=1, value=SAID, action="created", actor_kind="operator")
    document = Document.objects.create(name=f"The rules of the harbour, part {number}.md")
    document.active = DocumentVersion.objects.create(
        document=document, number=1, name=document.name, state="ready", stored_name="x", digest="1", size=9000
    )
    document.save()
    ErasureRequest.objects.create(
        subject=f"{number:032}", epoch=1, origin="admin", state="done", finished_at=START
    )
    ScanChannel.objects.create(
        scan_id=world.ids["scan_id"],
        guild=world.guild,
        channel_id=number,
        name=f"plans-for-the-summer-{number}",
        due_at=START,
    )
    if number < 20:
        Scan.objects.create(guild=world.guild, kind="backfill", begins_at=START, due_at=START)


def transferred(url: str) -> tuple[int, str]:
    """Bytes of the file as a browser gets it, and its text."""
    response = Client().get(url, headers={"accept-encoding": "gzip, deflate, br"})
    assert response.status_code == 200, url
    body = b"".join(response.streaming_content) if response.streaming else response.content  # type: ignore[attr-defined]
    plain = Client().get(url)
    return len(body), b"".join(plain.streaming_content).decode()  # type: ignore[attr-defined]


def needed(page: str, known: dict[str, tuple[int, list[str]]]) -> dict[str, int]:
    """Every file that the page makes a browser ask for, and what each weighs; files that were looked at before are in ``known``."""
    waiting, found = ASSET.findall(page), {}
    while waiting:
        url = waiting.pop()
        if url in found or url.startswith("data:"):
            continue
        assert url.startswith("/static/"), f"asks for {url}"
        if url not in known:
            size, text = transferred(url)
            inner = IMPORT.findall(text) if url.endswith(".js") else []
            if url.endswith(".css"):
                inner = [one or two for one, two in URL.findall(text)]
            known[url] = (size, [urljoin(url, each) for each in inner])
        found[url] = known[url][0]
        waiting += known[url][1]
    return found


def check(client: Client, paths: Iterable[str]) -> None:
    known: dict[str, tuple[int, list[str]]] = {}
    heavy: dict[str, int] = {}
    for path in paths:
        response = client.get(path)
        assert response.status_code == 200, path
        if len(response.content) >= MOST_HTML:
            heavy[path] = len(response.content)
        assets = needed(response.content.decode(), known)
        assert any(url.endswith(".css") for url in assets), path
        assert sum(assets.values()) < MOST_ASSETS, (path, assets)
    assert not heavy
    # Somebody who looks at every page has all of them in the end.
    assert sum(size for size, _ in known.values()) < MOST_ASSETS, known


def test_pages_with_full_lists_stay_small_and_need_nothing_from_elsewhere(world: World) -> None:
    lists = {"memories", "members", "facts", "core-memory", "documents", "replies", "erasures", "audit"}
    for name in lists:
        assert "cursor=" in world.clients["owner"].get(address(name, world.ids)).content.decode(), name
    check(
        world.clients["owner"],
        (
            address(name, world.ids)
            for name, route in ROUTES.items()
            if route.get and name not in FILES and "owner" in route.roles.split()
        ),
    )
    check(Client(), ["/sign-in/"])


def test_so_do_those_of_a_member(world: World) -> None:
    member = Message.objects.get(key=world.ids["key"]).member
    Message.objects.exclude(member=None).update(member=member, author_id=member.user_id)
    Fact.objects.update(member=member)
    someone = Person(id=member.user_id, username=member.username, display_name=member.display_name)
    paths = ["/me/", "/me/memories/", "/me/facts/", "/me/core-memory/", "/me/replies/", "/me/withdraw/"]
    client = signed_in(someone, servers=[world.guild.discord_id])
    assert "cursor=" in client.get("/me/memories/").content.decode()
    check(client, paths)


@pytest.mark.parametrize(
    "url",
    [
        "/static/css/musebot.css",
        "/static/js/app.js",
        "/static/svg/icons.svg",
        "/static/django_htmx/htmx-2.min.js",
    ],
)
def test_static_files_come_compressed_and_may_be_kept(url: str) -> None:
    plain = Client().get(url)
    text = b"".join(plain.streaming_content)  # type: ignore[attr-defined]
    packed = Client().get(url, headers={"accept-encoding": "gzip"})
    assert packed.headers["Content-Encoding"] == "gzip" and "Content-Encoding" not in plain.headers
    assert gzip.decompress(packed.content) == text
    assert int(packed.headers["Content-Length"]) == len(packed.content) < len(text) * 0.6
    for response in (plain, packed):
        assert response.headers["Vary"] == "Accept-Encoding"
        assert (
            "max-age=" in response.headers["Cache-Control"] and "public" in response.headers["Cache-Control"]
        )
    for headers in ({}, {"accept-encoding": "gzip"}):
        again = Client().get(url, headers={"if-none-match": packed.headers["ETag"], **headers})
        assert again.status_code == 304 and not again.getvalue()


def test_whoever_takes_no_gzip_or_asks_for_a_part_gets_the_file_as_it_is() -> None:
    for headers in (
        {"accept-encoding": "gzip;q=0"},
        {"accept-encoding": "br"},
        {"range": "bytes=0-9", "accept-encoding": "gzip"},
    ):
        response = Client().get("/static/css/musebot.css", headers=headers)
        assert "Content-Encoding" not in response.headers
        assert response.getvalue().startswith(b"/* Musebot")
    assert response.status_code == 206 and response.headers["Content-Length"] == "10"


def test_pages_come_compressed(world: World) -> None:
    response = world.clients["owner"].get("/memories/", headers={"accept-encoding": "gzip"})
    assert response.headers["Content-Encoding"] == "gzip" and len(response.content) < 20_000
