"""What the dashboard and the API write into the audit, and its page."""

from __future__ import annotations

import csv
import io
import json

import pytest
from django.db import connection
from django.test import Client

from memory import access, audit
from memory.models import AuditEntry, Fact, Member, Message
from memory.pseudonyms import subject_hash
from musebot_site.dashboard.views.audit import PAGE_SIZE
from tests.site import roles_world
from tests.site.conftest import PASSWORD
from tests.site.roles_world import HERE, World

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return roles_world.build()


def last() -> AuditEntry:
    entry = AuditEntry.objects.order_by("-number").first()
    assert entry is not None
    return entry


def body_of(response) -> str:
    return b"".join(response.streaming_content).decode()


@pytest.mark.parametrize(
    ("path", "action", "object_name"),
    [
        ("/memories/", "memory.listed", None),
        ("/memories/?q=zanzibar", "memory.searched", None),
        ("/memories/{key}/", "memory.viewed", "key"),
        ("/facts/", "fact.listed", None),
        ("/facts/?q=zanzibar", "fact.searched", None),
        ("/facts/{fact_id}/", "fact.viewed", "fact_id"),
        ("/core-memory/", "core_memory.listed", None),
        ("/core-memory/{block}/", "core_memory.viewed", "block"),
        ("/core-memory/preview/", "prompt.viewed", None),
        ("/replies/", "reply.listed", None),
        ("/replies/{trace_id}/", "reply.viewed", "trace_id"),
    ],
)
def test_a_look_is_recorded_with_its_server_and_without_what_was_seen(world, path, action, object_name):
    world.clients["moderator"].get(path.format(**world.ids))
    entry = last()
    assert (entry.action, entry.result) == (action, "ok")
    assert entry.object_id == (str(world.ids[object_name]) if object_name else "")
    assert entry.guild == world.guild.discord_id
    assert entry.actor.startswith("admin:")
    assert HERE not in json.dumps(audit.canonical(entry))


def test_a_look_at_something_private_names_no_server(world):
    client = world.clients["owner"]
    client.get(f"/memories/?guild={world.guild.discord_id}")
    assert last().guild == world.guild.discord_id
    # The server that is chosen in the frame is not that of what is looked at.
    for path in ("memories/{key}/", "replies/{trace_id}/", "core-memory/{block}/", "members/{user_id}/"):
        client.get("/" + path.format(**world.private_ids))
        assert last().action.endswith(".viewed") and last().guild is None, path


def test_a_member_is_named_by_a_pseudonym(world):
    user_id = world.ids["user_id"]
    world.clients["privacy"].get(f"/members/{user_id}/")
    assert last().object_id == subject_hash(user_id)
    for path in ("/members/", f"/members/{user_id}/erase/", f"/members/?q={user_id}"):
        world.clients["privacy"].get(path)
    everything = json.dumps([audit.canonical(entry) for entry in AuditEntry.objects.all()])
    assert str(user_id) not in everything and Member.objects.get().display_name not in everything


def test_changes_are_recorded_with_how_many(world):
    client, ids = world.clients["moderator"], world.ids
    client.post("/memories/pause/", {"key": ids["key"], "paused": "1"})
    assert (last().action, last().counts) == ("memory.paused", {"memories": 1})
    client.post("/facts/edit/", {"key": ids["fact_id"], "text": "Likes boats"})
    assert (last().action, last().object_id, last().result) == ("fact.edited", str(ids["fact_id"]), "ok")
    client.post("/facts/forget/", {"key": ids["fact_id"]})
    assert last().action == "fact.viewed", "asking first shows it, and removes nothing"
    client.post("/facts/forget/", {"key": ids["fact_id"], "confirmed": "1"})
    assert (last().action, last().counts) == ("fact.forgotten", {"facts": 1})
    client.post("/memories/erase/", {"key": ids["key"], "confirmed": "1"})
    assert (last().action, last().counts) == ("memory.erased", {"memories": 1})
    assert not Message.objects.filter(key=ids["key"]).exists()


def test_what_was_refused_is_recorded_as_that(world):
    world.clients["viewer"].get(f"/memories/{world.ids['key']}/")
    assert (last().action, last().result) == ("memory.viewed", "denied")
    world.clients["moderator elsewhere"].get(f"/memories/{world.ids['key']}/")
    assert last().result == "not_found"
    Fact.objects.filter(pk=world.ids["fact_id"]).update(text="Changed meanwhile")
    world.clients["moderator"].post(
        "/facts/edit/", {"key": world.ids["fact_id"], "text": "Mine", "before": "Theirs"}
    )
    assert last().result == "conflict"


def test_nothing_is_shown_that_cannot_be_recorded(world):
    client = world.clients["moderator"]
    client.raise_request_exception = False
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {AuditEntry._meta.db_table} RENAME TO gone")
    response = client.get(f"/memories/{world.ids['key']}/")
    assert response.status_code == 500 and HERE not in response.content.decode()


def test_signing_in_and_failing_to_are_recorded(owner):
    client = Client()
    client.post("/sign-in/", {"username": "owner", "password": "wrong"})
    assert (last().action, last().object_id) == ("account.sign_in_failed", str(owner.pk))
    client.post("/sign-in/", {"username": "a-password-in-the-wrong-field", "password": "x"})
    assert last().object_id == ""
    client.post("/sign-in/", {"username": "owner", "password": PASSWORD})
    assert (last().action, last().actor) == ("account.signed_in", audit.admin(owner.pk))
    client.post("/sign-out/")
    assert (last().action, last().actor) == ("account.signed_out", audit.admin(owner.pk))


def test_the_api_is_recorded_by_its_keys(world):
    row, key = access.make_key(name="program", scopes=["read"])
    client = Client(headers={"Authorization": f"Bearer {key}"})
    user_id = world.ids["user_id"]
    for path, action, object_id in (
        ("memories", "memory.listed", ""),
        ("memories?q=zanzibar", "memory.searched", ""),
        (f"members/{user_id}", "member.viewed", subject_hash(user_id)),
        (f"members/{user_id}/facts", "fact.listed", subject_hash(user_id)),
        (f"replies/{world.ids['trace_id']}", "reply.viewed", str(world.ids["trace_id"])),
    ):
        assert client.get(f"/api/v1/{path}").status_code == 200, path
        assert (last().actor, last().action, last().object_id) == (audit.key(row.id), action, object_id)
    assert client.delete(f"/api/v1/memories/{world.ids['key']}").status_code == 403
    assert (last().action, last().result) == ("memory.erased", "denied")
    count = AuditEntry.objects.count()
    assert Client().get("/api/v1/memories").status_code == 401
    assert AuditEntry.objects.count() == count


def test_every_route_of_the_api_is_recorded_or_known_not_to_be():
    from musebot_site.api import records
    from musebot_site.api.app import api, elsewhere

    routes = {
        (method, path.replace("{", "<").replace("}", ">"))
        for _, router in api._routers
        if router is not elsewhere
        for path, view in router.path_operations.items()
        for operation in view.operations
        for method in operation.methods
    }
    assert routes == set(records.ACTIONS) | records.UNRECORDED


def test_the_page_filters_in_its_address(world):
    world.clients["moderator"].get(f"/memories/{world.ids['key']}/")
    world.clients["viewer"].get("/memories/")
    world.clients["privacy"].get(f"/members/{world.ids['user_id']}/")
    client = world.clients["privacy"]

    def found(query: str) -> list[tuple[str, str]]:
        page = client.get(f"/audit/?{query}")
        return [(line.who, line.entry.action) for line in page.context["lines"]]

    assert found("who=moderator") == [("moderator", "memory.viewed")]
    assert found("action=memory.listed") == [("viewer", "memory.listed")]
    assert found("result=other") == [("viewer", "memory.listed")]
    assert found(f"member={world.ids['user_id']}") == [("privacy", "member.viewed")]
    assert found(f"object={world.ids['key']}") == [("moderator", "memory.viewed")]
    assert found(f"guild={world.guild.discord_id}&action=memory.viewed") == [("moderator", "memory.viewed")]
    assert found("guild=&since=2999-01-01") == []
    assert len(found("until=2999-01-01")) == AuditEntry.objects.count()
    assert "Nothing matches" in client.get("/audit/?object=nothing").content.decode()
    assert client.get("/audit/?cursor=broken").status_code == 422


def test_pages_go_on_where_the_last_one_ended(world):
    for number in range(250):
        audit.record(actor="command", action="memory.viewed", kind="memory", object_id=str(number))
    client, seen, query = world.clients["privacy"], [], "action=memory.viewed"
    path = f"/audit/?{query}"
    while True:
        found = client.get(path).context["found"]
        seen += [int(row.object_id) for row in found.rows]
        if found.next_cursor is None:
            break
        path = f"/audit/?{query}&cursor={found.next_cursor}"
    assert seen == list(reversed(range(250)))
    back = client.get(f"/audit/?{query}&cursor={found.previous_cursor}").context["found"]
    assert [int(row.object_id) for row in back.rows] == seen[200 : 200 + PAGE_SIZE]


def test_verifying_says_whether_it_is_whole_and_is_recorded(world):
    client = world.clients["privacy"]
    world.clients["moderator"].get("/memories/")
    page = client.post("/audit/verify/").content.decode()
    assert "The chain is whole" in page and last().action == "audit.verified"
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE {AuditEntry._meta.db_table} SET actor = 'x' WHERE number = 2")
    page = client.post("/audit/verify/").content.decode()
    assert "broken at entry 2" in page


def test_the_export_is_enough_to_check_the_chain_elsewhere(world):
    import hashlib

    world.clients["moderator"].get(f"/memories/{world.ids['key']}/")
    response = world.clients["privacy"].get("/audit/export/?format=jsonl")
    rows = [json.loads(line) for line in body_of(response).splitlines()]
    assert len(rows) == AuditEntry.objects.count(), "the entry of the export itself stands in it"
    before = ""
    for row in rows:
        own = row.pop("hash")
        plain = json.dumps([before, *row.values()], ensure_ascii=True, sort_keys=True, separators=(",", ":"))
        assert hashlib.sha256(plain.encode()).hexdigest() == own
        before = own
    table = list(
        csv.DictReader(io.StringIO(body_of(world.clients["privacy"].get("/audit/export/?format=csv"))))
    )
    assert table[0]["number"] == "1" and table[len(rows) - 1]["hash"] == before
    only = body_of(world.clients["privacy"].get("/audit/export/?format=jsonl&action=memory.viewed"))
    assert len(only.splitlines()) == 1


def test_the_page_says_that_entries_are_kept(world):
    page = world.clients["privacy"].get("/audit/").content.decode()
    assert "kept for good" in page and "pseudonym" in page
