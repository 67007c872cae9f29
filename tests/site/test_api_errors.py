"""Bad input gets a stable code and a fitting status, in one shape, and never a 5xx."""

from __future__ import annotations

import json

import pytest
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory import access

pytestmark = pytest.mark.django_db


@pytest.fixture
def client():
    key = access.make_key(name="test")[1]
    return Client(headers={"Authorization": f"Bearer {key}"}, raise_request_exception=False)


def post(client, path, body):
    data = body if isinstance(body, str | bytes) else json.dumps(body)
    return client.post(f"/api/v1/{path}", data, content_type="application/json")


def error(response, status):
    assert response.status_code == status, response.content
    body = response.json()
    assert set(body) == {"error", "message", "details"}
    assert body["message"]
    return body["error"]


BAD_IDS = ["0", "-1", "x", "1.5", "9223372036854775808", "9" * 30, "١", "", " 1", None, True, [], {}, 1.5]


@pytest.mark.parametrize("value", [value for value in BAD_IDS if value is not None])
def test_bad_ids_in_a_body(client, value):
    assert error(post(client, "recall", {"query": "x", "guild_id": value}), 422) == "invalid_input"
    assert error(post(client, "ask", {"question": "x", "user_id": value}), 422) == "invalid_input"
    assert error(post(client, "erasures", {"user_id": value}), 422) == "invalid_input"


@pytest.mark.parametrize(
    "path", ["members/{}", "members/{}/export", "memories/{}", "keys/{}", "erasures/{}", "replies/{}"]
)
@pytest.mark.parametrize("value", ["0", "x", "-1", "1.5", "9223372036854775808", "%D9%A1", "%00"])
def test_bad_ids_in_a_path(client, path, value):
    method = client.delete if path.startswith(("memories", "keys")) else client.get
    assert error(method("/api/v1/" + path.format(value)), 422) == "invalid_input"


@pytest.mark.parametrize("path, field", [("ask", "question"), ("recall", "query"), ("retrieve", "query")])
def test_a_question_of_blanks_is_none(client, path, field):
    response = post(client, path, {field: " \n", "guild_id": "5"})
    assert error(response, 422) == "invalid_input"
    assert response.json()["message"] == f"{field}: the text is empty"


@pytest.mark.parametrize("value", ["0", "x", "-1", "9223372036854775808"])
def test_bad_ids_in_a_query(client, value):
    for name in ("guild_id", "channel_id", "user_id", "limit"):
        assert error(client.get("/api/v1/memories", {name: value}), 422) == "invalid_input"


def test_unknown_ids(client):
    assert error(client.get("/api/v1/members/1"), 404) == "not_found"
    assert error(client.get("/api/v1/members/1/export"), 404) == "not_found"
    assert error(client.delete("/api/v1/memories/1"), 404) == "not_found"
    nobody = "00000000-0000-4000-8000-000000000000"
    assert error(client.get(f"/api/v1/replies/{nobody}"), 404) == "not_found"
    assert error(client.get(f"/api/v1/erasures/{nobody}"), 404) == "not_found"
    assert error(post(client, "recall", {"query": "x", "guild_id": "1"}), 404) == "not_found"
    assert error(post(client, "ask", {"question": "x", "channel_id": "1"}), 404) == "not_found"


@pytest.mark.parametrize("cursor", ["x", "bjIwMjY", "%%%", "n", "é", "A" * 500, "\0"])
def test_damaged_cursors(client, cursor):
    assert error(client.get("/api/v1/memories", {"cursor": cursor}), 422) == "invalid_input"
    assert error(client.get("/api/v1/memories", {"cursor": cursor, "q": "x"}), 422) == "invalid_input"
    assert error(client.get("/api/v1/jobs", {"cursor": cursor}), 422) == "invalid_input"


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b'"x"', b"\xff\xfe", b"[" * 100_000, b'{"question": NaN}']
)
def test_bodies_that_are_no_object(client, body):
    response = post(client, "ask", body)
    assert response.status_code in {400, 422}
    error(response, response.status_code)


@pytest.mark.parametrize("text", ["", "\0", "x" * 8001, "\ud800", 5, None, ["x"]])
def test_texts_that_cannot_be_asked(client, text):
    assert error(post(client, "ask", {"question": text}), 422) == "invalid_input"


def test_a_body_that_is_too_large(client):
    assert error(post(client, "ask", {"question": "x" * 3_000_000}), 413) == "too_large"


def test_what_was_sent_is_not_repeated(client):
    response = post(client, "recall", {"query": "my secret" * 2000, "guild_id": "my secret"})
    assert b"secret" not in response.content


def test_a_field_that_is_not_known_is_named(client):
    body = post(client, "ask", {"question": "x", "guild": "1"}).json()
    assert body["details"]["fields"][0]["field"] == "guild"


def test_other_addresses_and_methods(client):
    assert error(client.get("/api/v1/nothing/here"), 404) == "not_found"
    assert error(client.get("/api/v1/"), 404) == "not_found"
    response = client.delete("/api/v1/ask")
    assert error(response, 405) == "method_not_allowed"
    assert response["Allow"] == "POST"


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    body=st.dictionaries(
        st.sampled_from(
            ["question", "query", "guild_id", "channel_id", "user_id", "top_k", "is_group", "name", "scopes"]
        ),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists, max_leaves=3
        ),
    )
)
def test_no_body_makes_a_5xx(client, body):
    for path in ("ask", "recall", "keys"):
        assert post(client, path, body).status_code < 500
