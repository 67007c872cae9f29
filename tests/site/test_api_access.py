"""Keys: who gets in, and what for."""

from __future__ import annotations

import pytest
from django.test import Client

from memory import access
from memory.errors import InvalidInput, NotFound
from memory.models import ApiKey

pytestmark = pytest.mark.django_db


def call(path: str, key: str | None = None, method: str = "get", client: Client | None = None, **data):
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    send = getattr(client or Client(), method)
    if method == "get":
        return send(f"/api/v1/{path}", data, headers=headers)
    return send(f"/api/v1/{path}", data, content_type="application/json", headers=headers)


def make(*scopes: str) -> str:
    return access.make_key(name="test", scopes=scopes)[1]


@pytest.mark.parametrize("key", [None, "", "mb_unknown", "x" * 5000, "mb_ключ".encode().decode("latin-1")])
def test_without_a_valid_key_nothing_is_given(key):
    response = call("jobs", key)
    assert response.status_code == 401
    assert response.json()["error"] == "unauthorized"
    assert response["WWW-Authenticate"] == "Bearer"


def test_a_key_is_stored_as_a_hash_only():
    key = make("read")
    row = ApiKey.objects.get()
    assert key not in str(vars(row))
    assert key.startswith(row.prefix) and len(row.prefix) < len(key) / 3


@pytest.mark.parametrize(
    "scope, method, path",
    [
        ("read", "get", "jobs"),
        ("read", "get", "memories"),
        ("read", "post", "recall"),
        ("ask", "post", "ask"),
        ("erase", "post", "erasures"),
        ("erase", "delete", "memories/1"),
        ("admin", "get", "keys"),
    ],
)
def test_each_route_needs_its_scope(scope, method, path):
    others = set(access.SCOPES) - {scope, "admin"}
    refused = call(path, make(*others), method)
    assert refused.status_code == 403
    assert refused.json()["error"] == "forbidden"
    for allowed in (scope, "admin"):
        assert call(path, make(allowed), method).status_code not in {401, 403}


def test_a_revoked_key_is_refused_at_once():
    key = make("read")
    assert call("jobs", key).status_code == 200
    access.revoke_key(key_id=ApiKey.objects.get().id)
    assert call("jobs", key).status_code == 401


def test_use_is_noted_without_a_write_for_every_request(django_assert_num_queries):
    key = make("read")
    assert access.check_key(key) is not None
    first = ApiKey.objects.get().last_used_at
    assert first is not None
    with django_assert_num_queries(1):
        access.check_key(key)


def test_keys_are_made_listed_and_revoked_over_the_api():
    admin = make("admin")
    made = call("keys", admin, "post", name="script", scopes=["read", "ask"])
    assert made.status_code == 201
    body = made.json()
    assert body["scopes"] == ["ask", "read"]
    assert call("jobs", body["key"]).status_code == 200
    listed = call("keys", admin).json()["results"]
    assert [row["name"] for row in listed] == ["script", "test"]
    assert all("key" not in row for row in listed)
    assert call(f"keys/{body['id']}", admin, "delete").json()["revoked_at"]
    assert call("jobs", body["key"]).status_code == 401
    assert call("keys/999999", admin, "delete").status_code == 404


@pytest.mark.parametrize(
    "data", [{"name": "", "scopes": ["read"]}, {"name": "x", "scopes": ["fly"]}, {"name": "x"}]
)
def test_a_key_needs_a_name_and_known_scopes(data):
    response = call("keys", make("admin"), "post", **data)
    assert response.status_code == 422
    assert response.json()["error"] == "invalid_input"


def test_wrong_arguments_are_refused_by_the_service():
    with pytest.raises(InvalidInput):
        access.make_key(name=" ", scopes=["read"])
    with pytest.raises(InvalidInput):
        access.make_key(name="x", scopes=[])
    with pytest.raises(NotFound):
        access.revoke_key(key_id=1)


def test_to_ask_as_a_member_in_private_is_to_read_their_data():
    body = {"question": "Where do I live?", "user_id": "5", "is_group": False}
    for scopes, status in ((["ask"], 403), (["ask", "read"], 200), (["admin"], 200)):
        key = access.make_key(name="x", scopes=scopes)[1]
        client = Client(headers={"Authorization": f"Bearer {key}"})
        response = client.post("/api/v1/ask", body, content_type="application/json")
        assert response.status_code == status, response.content
    key = access.make_key(name="x", scopes=["ask"])[1]
    client = Client(headers={"Authorization": f"Bearer {key}"})
    for harmless in ({**body, "is_group": True}, {"question": "Hello?", "is_group": False}):
        assert client.post("/api/v1/ask", harmless, content_type="application/json").status_code == 200
