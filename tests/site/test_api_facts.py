"""The routes of facts, and the facts of an answer."""

from __future__ import annotations

import json

import pytest
from django.test import Client

from memory import access, backends, facts
from memory.llm.scripted import ScriptedChatModel
from memory.models import Fact
from tests.factories import ChannelFactory, MemberFactory, snowflake
from tests.memory.facts_support import use_facts

pytestmark = pytest.mark.django_db(transaction=True)


def client_with(*scopes):
    return Client(
        headers={"Authorization": f"Bearer {access.make_key(name='test', scopes=scopes or ('admin',))[1]}"}
    )


@pytest.fixture
def client():
    return client_with()


@pytest.fixture
def ada():
    return MemberFactory(display_name="Ada").user_id


def post(client, path, **body):
    response = client.post(f"/api/v1/{path}", json.dumps(body), content_type="application/json")
    return response.status_code, response.json()


def test_add_list_and_forget(client, ada):
    assert post(client, f"members/{ada}/facts", facts=["Prefers Spanish", "Vegan"], ttl="30d") == (
        200,
        {"added": ["Prefers Spanish", "Vegan"]},
    )
    assert post(client, f"members/{ada}/facts", facts=["prefers spanish!", "Plays chess"]) == (
        200,
        {"added": ["Plays chess"]},
    )
    found = client.get(f"/api/v1/members/{ada}/facts").json()["facts"]
    assert [one["text"] for one in found] == ["Prefers Spanish", "Vegan", "Plays chess"]
    assert set(found[0]) == {"id", "text", "created_at", "updated_at", "expires_at", "source"}
    assert isinstance(found[0]["id"], str) and found[0]["source"] == "manual" and found[1]["expires_at"]
    assert client.delete(f"/api/v1/members/{ada}/facts/{found[1]['id']}").json() == {"removed": 1}
    assert client.delete(f"/api/v1/members/{ada}/facts/{found[1]['id']}").status_code == 404
    refused = client.delete(f"/api/v1/members/{ada}/facts")
    assert refused.status_code == 422 and len(facts.memory(ada)) == 2
    assert client.delete(f"/api/v1/members/{ada}/facts?all=true").json() == {"removed": 2}
    assert client.get(f"/api/v1/members/{ada}/facts").json() == {"facts": []}


def test_a_fact_of_somebody_else_is_not_forgotten(client, ada):
    other = MemberFactory().user_id
    facts.remember(other, "Vegan")
    number = Fact.objects.get().id
    assert client.delete(f"/api/v1/members/{ada}/facts/{number}").status_code == 404
    assert facts.memory(other) == ["Vegan"]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"facts": []},
        {"facts": "Vegan"},
        {"facts": [1]},
        {"facts": ["x" * 301]},
        {"facts": ["Card 4111 1111 1111 1111"]},
        {"facts": ["Vegan"], "ttl": "soon"},
        {"facts": ["Vegan"], "ttl": 0},
        {"facts": ["Vegan"], "source": "magic"},
        {"facts": ["Vegan"], "more": 1},
    ],
)
def test_what_cannot_be_stored_is_refused(client, ada, body):
    status, answer = post(client, f"members/{ada}/facts", **body)
    assert (
        status == 422 and set(answer) == {"error", "message", "details"} and "4111" not in answer["message"]
    )
    assert facts.memory(ada) == []


def test_a_ttl_in_milliseconds(client, ada):
    assert post(client, f"members/{ada}/facts", facts=["Vegan"], ttl=60_000)[0] == 200


def test_somebody_who_has_not_opted_in(client):
    stranger = snowflake()
    assert post(client, f"members/{stranger}/facts", facts=["Vegan"])[0] == 409
    assert client.get(f"/api/v1/members/{stranger}/facts").json() == {"facts": []}


@pytest.mark.parametrize(
    "scope, method, path",
    [("read", "get", ""), ("write", "post", ""), ("erase", "delete", "?all=true"), ("erase", "delete", "/1")],
)
def test_each_route_needs_its_scope(ada, scope, method, path):
    others = set(access.SCOPES) - {scope, "admin"}
    address = f"/api/v1/members/{ada}/facts{path}"
    assert getattr(client_with(*others), method)(address).status_code == 403
    assert getattr(client_with(scope), method)(address).status_code not in {401, 403}


def test_an_answer_names_the_facts_that_it_used(client, ada, settings):
    use_facts(settings)
    facts.remember(ada, ["Prefers Spanish", "Lives in Lima"])
    channel = ChannelFactory()
    asked = {"question": "Where do I live?", "user_id": str(ada), "guild_id": str(channel.guild.discord_id)}
    model = ScriptedChatModel(["In Lima."])
    with backends.override(chat_model=model):
        status, alone = post(client, "ask", **asked, is_group=False)
        assert status == 200 and alone["facts"] == ["Prefers Spanish", "Lives in Lima"]
        assert post(client, "ask", **asked)[1]["facts"] == []
        assert post(client, "ask", question="Who am I?", is_group=False)[1]["facts"] == []
    assert "Lives in Lima" in model.requests[0].messages[0].content
    assert "Lives in Lima" not in model.requests[1].messages[0].content
    trace = client.get(f"/api/v1/replies/{alone['trace_id']}").json()
    assert [one["text"] for one in trace["facts"]] == ["Prefers Spanish", "Lives in Lima"]


def test_counts_and_export(client, ada):
    facts.remember(ada, ["Lives in Bogotá", "Vegan"])
    facts.remember(ada, "Moved from Bogotá to Lima")
    assert client.get(f"/api/v1/members/{ada}").json()["counts"]["facts"] == 2
    exported = json.loads(b"".join(client.get(f"/api/v1/members/{ada}/export").streaming_content))["facts"]
    assert {one["text"]: one["state"] for one in exported} == {
        "Lives in Bogotá": "superseded",
        "Vegan": "active",
        "Moved from Bogotá to Lima": "active",
    }
    assert [one["action"] for one in exported[0]["versions"]] == ["created", "superseded"]
