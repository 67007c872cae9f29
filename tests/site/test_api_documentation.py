"""OpenAPI and its page, served from here."""

from __future__ import annotations

import re

import pytest
from django.contrib.staticfiles import finders
from django.test import Client

ROUTES = {
    ("post", "/api/v1/ask"),
    ("post", "/api/v1/recall"),
    ("post", "/api/v1/retrieve"),
    ("get", "/api/v1/documents"),
    ("post", "/api/v1/documents"),
    ("get", "/api/v1/documents/{document_id}"),
    ("put", "/api/v1/documents/{document_id}"),
    ("delete", "/api/v1/documents/{document_id}"),
    ("get", "/api/v1/memories"),
    ("delete", "/api/v1/memories/{memory_id}"),
    ("get", "/api/v1/members/{user_id}"),
    ("get", "/api/v1/members/{user_id}/export"),
    ("get", "/api/v1/members/{user_id}/facts"),
    ("post", "/api/v1/members/{user_id}/facts"),
    ("delete", "/api/v1/members/{user_id}/facts"),
    ("delete", "/api/v1/members/{user_id}/facts/{fact_id}"),
    ("get", "/api/v1/members/{user_id}/blocks/{label}"),
    ("put", "/api/v1/members/{user_id}/blocks/{label}"),
    ("post", "/api/v1/erasures"),
    ("get", "/api/v1/erasures/{erasure_id}"),
    ("get", "/api/v1/jobs"),
    ("get", "/api/v1/replies/{trace_id}"),
    ("get", "/api/v1/keys"),
    ("post", "/api/v1/keys"),
    ("delete", "/api/v1/keys/{key_id}"),
}


def test_every_route_is_described_with_its_errors_and_key():
    schema = Client().get("/api/v1/openapi.json").json()
    found = {(method, path) for path, methods in schema["paths"].items() for method in methods}
    assert found == ROUTES
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            assert operation["security"], (method, path)
            assert operation["description"], (method, path)
            assert "401" in operation["responses"], (method, path)


def test_ids_are_strings():
    schemas = Client().get("/api/v1/openapi.json").json()["components"]["schemas"]
    assert schemas["MemoryOut"]["properties"]["id"]["type"] == "string"
    assert schemas["RecallIn"]["properties"]["guild_id"]["type"] == "string"


@pytest.mark.django_db
def test_the_page_loads_nothing_from_elsewhere_and_has_no_inline_code():
    response = Client().get("/api/v1/docs")
    page = response.content.decode()
    assert response.status_code == 200
    assert not re.search(r"(src|href)=\"(https?:)?//", page)
    assert not re.search(r"<script(?![^>]*(src=|type=\"application/json\"))", page)
    assert "<style" not in page and " style=" not in page
    for name in re.findall(r"/static/([^\"]+)", page):
        assert finders.find(name), name
