"""A member's block by the API: read, written with its version, refused over the limit."""

from __future__ import annotations

import json

import pytest
from django.test import Client

from memory import access, consent
from memory.models import BlockRevision, Member
from tests.factories import MemberFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def client():
    return Client(headers={"Authorization": f"Bearer {access.make_key(name='test')[1]}"})


@pytest.fixture
def ada():
    return MemberFactory(username="ada")


def put(client, member, value, version, label="human", query=""):
    body = json.dumps({"value": value, "version": version})
    path = f"/api/v1/members/{member.user_id}/blocks/{label}{query}"
    response = client.put(path, body, content_type="application/json")
    return response.status_code, response.json()


def get(client, member, label="human", query=""):
    response = client.get(f"/api/v1/members/{member.user_id}/blocks/{label}{query}")
    return response.status_code, response.json()


def test_it_is_empty_at_first_and_holds_what_was_written(client, ada):
    empty = {"label": "human", "value": "", "version": 0, "chars": 0, "limit": 2000}
    assert get(client, ada) == (200, empty)
    written = {"label": "human", "value": "likes tea 🍵", "version": 1, "chars": 11, "limit": 2000}
    assert put(client, ada, "likes tea 🍵", 0) == (200, written)
    assert get(client, ada) == (200, written)
    assert BlockRevision.objects.get().actor_kind == "admin"


def test_an_old_version_is_a_conflict_with_the_current_one(client, ada):
    put(client, ada, "one", 0)
    status, body = put(client, ada, "two", 0)
    assert (status, body["error"]) == (409, "conflict")
    assert body["details"] == {"label": "human", "value": "one", "version": 1, "chars": 3, "limit": 2000}
    assert get(client, ada)[1]["value"] == "one"


def test_over_the_limit_nothing_changes(client, ada):
    status, body = put(client, ada, "字" * 2001, 0)
    assert (status, body["error"]) == (422, "over_limit")
    assert body["details"] == {"chars": 2001, "limit": 2000, "overage": 1}
    assert get(client, ada)[1]["version"] == 0


def test_the_private_one_is_another(client, ada):
    put(client, ada, "shared", 0)
    put(client, ada, "between us", 0, query="?private=true")
    assert get(client, ada)[1]["value"] == "shared"
    assert get(client, ada, query="?private=true")[1]["value"] == "between us"


def test_what_is_not_there(client, ada):
    assert get(client, ada, label="persona")[0] == 404
    assert put(client, ada, "x", 0, label="persona")[0] == 404
    assert get(client, MemberFactory.build(user_id=5))[0] == 404
    assert put(client, MemberFactory.build(user_id=5), "x", 0)[0] == 404


@pytest.mark.parametrize(
    "body", ["", "{}", '{"value": "x"}', '{"value": "x", "version": -1}', '{"value": 5, "version": "a"}']
)
def test_a_body_of_another_form(client, ada, body):
    path = f"/api/v1/members/{ada.user_id}/blocks/human"
    assert client.put(path, body, content_type="application/json").status_code in {400, 422}


def test_nothing_is_written_of_somebody_who_is_being_erased(client, ada):
    consent.withdraw(user_id=ada.user_id, origin="member")
    assert put(client, ada, "x", 0)[0] == 409
    assert Member.objects.filter(user_id=ada.user_id).exists() and not BlockRevision.objects.exists()


def test_writing_needs_an_admins_key(ada):
    reader = Client(headers={"Authorization": f"Bearer {access.make_key(name='r', scopes=['read'])[1]}"})
    assert get(reader, ada)[0] == 200
    assert put(reader, ada, "x", 0)[0] == 403
    assert get(Client(), ada)[0] == 401
