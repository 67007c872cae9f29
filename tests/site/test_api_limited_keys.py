"""Keys that are limited to servers: what they reach, and that every route is closed to them that does not say otherwise."""

from __future__ import annotations

import json
import re
import uuid
from io import StringIO
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client

from memory import access
from memory.errors import InvalidInput
from memory.models import ApiKey, Document, Guild, Message
from musebot_site.api.app import api
from tests.factories import GuildFactory
from tests.site import roles_world
from tests.site.roles_world import World

pytestmark = pytest.mark.django_db

OF_SERVERS = {
    ("post", "ask"),
    ("post", "recall"),
    ("post", "retrieve"),
    ("get", "memories"),
    ("delete", "memories/{memory_id}"),
    ("get", "documents"),
    ("post", "documents"),
    ("get", "documents/{document_id}"),
    ("put", "documents/{document_id}"),
    ("delete", "documents/{document_id}"),
    ("get", "replies/{trace_id}"),
}
"""Routes that a limited key passes; the tests below try each with another server."""
ALL = ("read", "ask", "write", "erase")


@pytest.fixture
def world() -> World:
    return roles_world.build()


@pytest.fixture
def other(world: World) -> dict[str, Any]:
    """Ids of what belongs to the second server."""
    return roles_world._objects(world.other, Message.objects.all()[0].member, "elsewhere")


def client_of(*guilds: Guild, scopes: tuple[str, ...] = ALL) -> Client:
    _, key = access.make_key(
        name="limited", scopes=scopes, guild_ids=[one.discord_id for one in guilds] or None
    )
    return Client(headers={"Authorization": f"Bearer {key}"})


def send(client: Client, method: str, path: str, **data: Any) -> Any:
    if method == "get":
        return client.get(f"/api/v1/{path}", data)
    return getattr(client, method)(f"/api/v1/{path}", data, content_type="application/json")


def test_every_other_route_is_closed_to_a_limited_key(world: World) -> None:
    client, seen = client_of(world.guild), set()
    for path, methods in api.get_openapi_schema()["paths"].items():
        route = path.removeprefix("/api/v1/")
        for method in methods:
            if (method, route) in OF_SERVERS:
                seen.add((method, route))
                continue
            filled = re.sub(r"{(trace|erasure)_id}", str(uuid.UUID(int=1)), route).replace("{label}", "human")
            response = send(client, method, re.sub(r"{\w+}", "1", filled))
            assert response.status_code == 403, (method, route)
            why = response.json()["message"]
            assert "limited to servers" in why or "'admin'" in why, (method, route)
    assert seen == OF_SERVERS


def test_it_works_for_its_server_and_for_no_other(world: World, other: dict[str, Any]) -> None:
    client, here, there = client_of(world.guild), str(world.guild.discord_id), str(world.other.discord_id)
    private = str(world.private.discord_id)
    for method, path, data in (
        ("post", "ask", {"question": "What?"}),
        ("post", "recall", {"query": "zanzibar"}),
        ("post", "retrieve", {"query": "zanzibar"}),
        ("get", "memories", {}),
        ("get", "memories", {"q": "remembered"}),
        ("get", "documents", {}),
    ):
        assert send(client, method, path, **data, guild_id=here).status_code == 200, path
        for closed in (there, private):
            assert send(client, method, path, **data, guild_id=closed).status_code == 403, path
        without = send(client, method, path, **data)
        assert without.status_code == (422 if path == "recall" else 403), path
    texts = json.dumps(send(client, "get", "memories", guild_id=here).json())
    assert "zanzibar" in texts and "elsewhere" not in texts and "xylophone" not in texts


def test_a_channel_elsewhere_opens_nothing(world: World, other: dict[str, Any]) -> None:
    client, channel = client_of(world.guild), str(other["channel_id"])
    assert send(client, "post", "ask", question="What?", channel_id=channel).status_code == 403
    mixed = {"guild_id": str(world.guild.discord_id), "channel_id": channel}
    assert send(client, "post", "recall", query="x", **mixed).status_code == 422
    assert send(client, "get", "memories", **mixed).json()["results"] == []


def test_what_belongs_to_another_server_does_not_exist(world: World, other: dict[str, Any]) -> None:
    client = client_of(world.guild)
    for ids, there in ((world.ids, True), (other, False), (world.private_ids, False)):
        found = send(client, "get", f"replies/{ids['trace_id']}").status_code
        document = send(client, "get", f"documents/{ids['document_id']}").status_code
        changed = send(client, "put", f"documents/{ids['document_id']}", enabled=False).status_code
        erased = send(client, "delete", f"memories/{ids['key']}").status_code
        gone = send(client, "delete", f"documents/{ids['document_id']}").status_code
        assert {found, document, changed, erased, gone} == {200 if there else 404}
    assert Message.objects.filter(key=other["key"]).exists()
    assert Document.objects.filter(pk=other["document_id"], enabled=True).exists()


def test_a_document_that_answers_elsewhere_too_is_read_and_not_changed(world: World) -> None:
    client, row = client_of(world.guild), Document.objects.get(pk=world.ids["document_id"])
    for everywhere in (False, True):
        row.guilds.add(world.other)
        Document.objects.filter(pk=row.pk).update(everywhere=everywhere)
        assert send(client, "get", f"documents/{row.pk}").status_code == 200
        assert send(client, "put", f"documents/{row.pk}", enabled=False).status_code == 403
        assert send(client, "delete", f"documents/{row.pk}").status_code == 403


def test_documents_are_brought_in_for_its_servers_alone(world: World) -> None:
    client, here, there = client_of(world.guild), world.guild.discord_id, world.other.discord_id

    def upload(**data: Any) -> int:
        file = SimpleUploadedFile("rules.md", b"# Rules")
        return client.post("/api/v1/documents", {"file": file, **data}).status_code

    assert (
        upload() == 403 and upload(guild_id=str(there)) == 403 and upload(guild_id=f"{here},{there}") == 403
    )
    assert upload(guild_id=str(here)) == 202
    mine = Document.objects.latest("pk")
    assert [one.discord_id for one in mine.guilds.all()] == [here]
    for change in ({"everywhere": True}, {"guild_ids": [str(there)]}, {"guild_ids": [str(here), str(there)]}):
        assert send(client, "put", f"documents/{mine.pk}", **change).status_code == 403, change
    assert send(client, "put", f"documents/{mine.pk}", guild_ids=[str(here)]).status_code == 200


def test_it_never_asks_as_a_member_in_private(world: World) -> None:
    body = {
        "question": "Where do I live?",
        "user_id": str(world.ids["user_id"]),
        "guild_id": str(world.guild.discord_id),
    }
    client = client_of(world.guild)
    assert send(client, "post", "ask", **body, is_group=False).status_code == 403
    assert send(client, "post", "ask", **body).status_code == 200


def test_the_figures_of_all_servers_are_not_for_it(world: World) -> None:
    assert client_of(world.guild).get("/metrics", REMOTE_ADDR="203.0.113.5").status_code == 403
    assert client_of().get("/metrics", REMOTE_ADDR="203.0.113.5").status_code == 200


def test_keys_are_limited_over_the_api_on_the_command_line_and_on_the_page(world: World) -> None:
    here = str(world.guild.discord_id)
    admin = client_of(scopes=("admin",))
    made = send(admin, "post", "keys", name="shop", scopes=["read"], guild_ids=[here]).json()
    assert made["guild_ids"] == [here]
    assert send(admin, "get", "keys").json()["results"][0]["guild_ids"] == [here]
    assert send(admin, "post", "keys", name="x", scopes=["admin"], guild_ids=[here]).status_code == 422
    assert send(admin, "post", "keys", name="x", scopes=["read"], guild_ids=["5"]).status_code == 422
    call_command(
        "createapikey", "cron", "--scope", "read", "--guild", here, stdout=StringIO(), stderr=StringIO()
    )
    assert ApiKey.objects.latest("pk").guilds == [here]
    with pytest.raises(CommandError):
        call_command("createapikey", "cron", "--guild", here, stdout=StringIO())
    owner = world.clients["owner"]
    assert "Only on these servers" in owner.get("/settings/keys/").content.decode()
    body = owner.post(
        "/settings/keys/", {"name": "page", "scopes": ["read"], "servers": [here]}
    ).content.decode()
    assert ApiKey.objects.latest("pk").guilds == [here] and f"only on {world.guild.name}" in body
    refused = owner.post("/settings/keys/", {"name": "page", "scopes": ["admin"], "servers": [here]})
    assert refused.status_code == 422 and "cannot be limited" in refused.content.decode()
    private = owner.post(
        "/settings/keys/", {"name": "x", "scopes": ["read"], "servers": [str(world.private.discord_id)]}
    )
    assert private.status_code == 422


def test_only_servers_that_there_are(world: World) -> None:
    for wrong in ([], [5], [world.private.discord_id], [GuildFactory().discord_id, 5]):
        with pytest.raises(InvalidInput):
            access.make_key(name="x", scopes=["read"], guild_ids=wrong)
