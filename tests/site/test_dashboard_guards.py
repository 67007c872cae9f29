"""Who gets in: nobody without an account that has a role, at any address."""

from __future__ import annotations

import uuid

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from musebot_site.dashboard import urls
from musebot_site.middleware import POLICY

pytestmark = pytest.mark.django_db

ARGUMENTS = {
    "account_id": 1,
    "channel_id": 1,
    "guild_id": 1,
    "scan_id": 1,
    "document_id": 1,
    "version_number": 1,
    "key": 1,
    "key_id": 1,
    "fact_id": 1,
    "user_id": 1,
    "request_id": uuid.UUID(int=1),
    "trace_id": uuid.UUID(int=1),
}
OPEN = {"sign-in", "welcome", "invitation", "theme"}


def guarded() -> list[str]:
    found = [pattern for pattern in urls.urlpatterns if pattern.name not in OPEN]
    return [
        reverse(f"dashboard:{each.name}", kwargs={name: ARGUMENTS[name] for name in each.pattern.converters})
        for each in found
    ]


def test_only_these_routes_are_open():
    assert {pattern.name for pattern in urls.public} == OPEN


@pytest.mark.parametrize("path", guarded())
@pytest.mark.parametrize("method", ["get", "post"])
def test_strangers_are_sent_to_sign_in(path, method):
    response = getattr(Client(), method)(path)
    assert response.status_code == 302
    assert response["Location"].startswith("/sign-in/")


@pytest.mark.parametrize("path", guarded())
def test_accounts_without_a_role_see_nothing(path):
    client = Client()
    client.force_login(User.objects.create_user("guest", password="x"))
    assert client.get(path).status_code == 403
    assert client.post(path).status_code == 403


def test_a_part_of_a_page_sends_the_browser_to_sign_in():
    response = Client().get("/memories/", headers={"HX-Request": "true"})
    assert response["HX-Redirect"] == "/sign-in/"


@pytest.mark.parametrize("path", ["/", "/memories/", "/members/", "/playground/", "/replies/", "/erasures/"])
def test_pages_carry_a_strict_policy_and_stay_out_of_caches(staff, path):
    response = staff.get(path)
    assert response.status_code == 200
    assert response["Content-Security-Policy"] == POLICY
    assert "unsafe" not in POLICY
    assert "no-store" in response["Cache-Control"]
    body = response.content.decode()
    assert (
        " style=" not in body
        and "<style" not in body
        and " onclick=" not in body
        and "javascript:" not in body
    )
    assert "<script>" not in body


def test_forms_need_their_token(owner):
    client = Client(enforce_csrf_checks=True)
    client.force_login(owner)
    assert client.post("/memories/erase/", {"key": 1}).status_code == 403
    assert client.post("/sign-out/").status_code == 403


def test_what_is_not_there_says_so(staff):
    for path in (
        "/nothing/",
        "/memories/5/",
        "/members/5/",
        f"/replies/{uuid.UUID(int=1)}/",
        f"/erasures/{uuid.UUID(int=1)}/",
    ):
        response = staff.get(path)
        assert response.status_code == 404
        assert b"There is nothing here" in response.content


def test_probes_are_open():
    assert Client().get("/healthz").json() == {"status": "ok"}
    assert Client().get("/readyz").json()["database"] is True
